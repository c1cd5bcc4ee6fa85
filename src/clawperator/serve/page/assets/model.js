/* What the page knows: the device that is shown, its state, and the element that is pointed at or selected. */

import { get } from "./api.js";

const BUSY_MS = 300;

/**
 * Events: `device` (another one is shown), `state` (something changed), `screen` (the elements changed), `hover` and
 * `select` (an element, or -1), `done` (something was done on the device).
 */
export const model = new (class extends EventTarget {
  serial = "";
  state = null;
  nodes = [];
  outline = [];
  hovered = -1;
  selected = -1;
  devices = [];
  isReadOnly = false;
  busyTimer = 0;
  slow = ""; // the device that has not answered a touch for some time

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  on(name, listener) {
    this.addEventListener(name, (event) => listener(event.detail));
  }

  /** Whether the device can be touched now. */
  get canAct() {
    return Boolean(this.state && this.state.screenId && !this.isReadOnly && !this.state.readOnly && !this.state.error);
  }

  /** Most commands use a device for a moment only: those are not reported, and a touch waits for them. */
  noteBusy(isBusy) {
    if (!isBusy) {
      clearTimeout(this.busyTimer);
      this.busyTimer = 0;
      this.isReadOnly = false;
    } else if (!this.busyTimer) {
      this.busyTimer = setTimeout(() => {
        this.isReadOnly = true;
        this.emit("state", this.state);
      }, BUSY_MS);
    }
  }

  noteSlow(serial) {
    if (serial !== this.slow) {
      this.slow = serial;
      if (this.state) {
        this.emit("state", this.state);
      }
    }
  }

  hover(node) {
    if (node !== this.hovered) {
      this.hovered = node;
      this.emit("hover", node);
    }
  }

  select(node, source = "") {
    if (node !== this.selected) {
      this.selected = node;
      this.emit("select", { node, source });
    }
  }

  /** The element under a point of the device: the one drawn last, and there the innermost. */
  nodeAt(x, y) {
    let found = -1;
    this.nodes.forEach((node, at) => {
      const [left, top, right, bottom] = node.bounds;
      if (node.visible && left <= x && x < right && top <= y && y < bottom) {
        found = at;
      }
    });
    return found;
  }

  /** A short name of an element. */
  labelOf(at) {
    const node = this.nodes[at];
    return node ? node.text || node.description || node.resourceId.replace(/^.*:id\//, "") || node.className : "";
  }

  setState(state) {
    const before = this.state;
    this.state = state;
    this.noteBusy(Boolean(state.busy));
    if (state.nodes) {
      const isOther = !before || before.screenId !== state.screenId || before.deviceId !== state.deviceId;
      if (isOther) {
        this.replaceNodes(state);
      }
    }
    this.emit("state", state);
  }

  replaceNodes(state) {
    const old = this.nodes[this.selected];
    this.nodes = state.nodes;
    this.outline = state.outline;
    this.hovered = -1;
    const key = (node) => JSON.stringify([node.resourceId, node.className, node.text, node.description]);
    const kept = old ? this.nodes.findIndex((node) => key(node) === key(old)) : -1;
    this.selected = kept;
    this.emit("screen", state);
    if (old) {
      this.emit("select", { node: kept, source: "screen" });
    }
  }

  show(serial) {
    if (serial === this.serial) {
      return;
    }
    this.serial = serial;
    this.state = null;
    this.nodes = [];
    this.outline = [];
    this.hovered = -1;
    this.selected = -1;
    this.noteBusy(false);
    this.emit("device", serial);
    this.emit("screen", null);
    this.emit("select", { node: -1, source: "device" });
    follower.restart();
  }
})();

const WAIT_MS = 10000;
const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Follows the state of the device that is shown, with one request that waits at a time. */
const follower = new (class {
  controller = null;

  restart() {
    this.controller?.abort();
    this.controller = null;
    if (model.serial && document.visibilityState === "visible") {
      this.controller = new AbortController();
      this.run(model.serial, this.controller.signal);
    }
  }

  async run(serial, signal) {
    let since = "";
    while (!signal.aborted) {
      try {
        const state = await get("/screen", { deviceId: serial, since, waitMs: since ? WAIT_MS : 0 }, { signal });
        if (signal.aborted) {
          return;
        }
        if (state.stateId !== since) {
          since = state.stateId;
          model.setState(state);
        }
      } catch (error) {
        if (error.name === "AbortError" || signal.aborted) {
          return;
        }
        since = "";
        model.setState({
          ...(model.state || { deviceId: serial, simulated: false, screenId: "", pictureId: "", width: 0, height: 0, recording: null }),
          stateId: "",
          busy: null,
          error: { code: error.code, message: error.message, hint: error.hint },
        });
        await pause(1500, signal);
      }
    }
  }
})();

document.addEventListener("visibilitychange", () => follower.restart());
