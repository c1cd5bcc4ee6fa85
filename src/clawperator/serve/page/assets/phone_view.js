/* The screen: shown as a picture or drawn from the tree, touched with a pointer, typed on with the keyboard. */

/* global createScreens */
import * as actions from "./actions.js";
import { post } from "./api.js";
import { announce, byId, make, showError, showMessage } from "./dom.js";
import { model } from "./model.js";

const stage = byId("stage");
const screen = byId("screen");
const canvas = byId("glass");
const boxes = byId("boxes");
const note = byId("phone-note");
const message = byId("screen-message");
const mode = byId("keyboard-mode");
const modeText = mode.textContent;

const SLOP = 8;
const EDGE = 13; // around the screen, for its frame
const LABEL = 16; // the height of the label of a box
const LONG_PRESS_MS = 500;
const PICTURE_MS = 1500;
const MOST_PASTED = 2000;
const KEYS = {
  Enter: "enter",
  Backspace: "delete",
  Delete: "forward_delete",
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  Home: "move_home",
  End: "move_end",
  PageUp: "page_up",
  PageDown: "page_down",
};

let showsPicture = true;
let picks = false;
let picture = null;
let loading = "";
let pictureOf = "";

// Size

const scale = () => (model.state?.width ? screen.clientWidth / model.state.width : 1);

function fit() {
  const state = model.state;
  const width = state?.width || 1080;
  const height = state?.height || 2400;
  const share = Math.min((stage.clientWidth - 2 * EDGE) / width, (stage.clientHeight - 2 * EDGE) / height);
  screen.style.width = `${Math.max(120, Math.floor(width * share))}px`;
  screen.style.height = `${Math.max(120, Math.floor(height * share))}px`;
  draw();
  drawBoxes();
}
new ResizeObserver(fit).observe(stage);

// Drawing

const COLOURS = ["glass", "ink", "faint", "rule", "tonal", "tint", "fill", "scrim", "mark", "bezel"];

function palette() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ...Object.fromEntries(COLOURS.map((name) => [name, value(name)])), markBack: value("mark-back") };
}

function draw() {
  const state = model.state;
  const ratio = window.devicePixelRatio || 1;
  const width = Math.round(screen.clientWidth * ratio);
  const height = Math.round(screen.clientHeight * ratio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, width, height);
  if (!state?.width) {
    return;
  }
  if (showsPicture) {
    if (picture) {
      pen.imageSmoothingQuality = "high";
      pen.drawImage(picture, 0, 0, width, height);
    }
    return;
  }
  if (state.drawing && state.awake !== false) {
    state.drawing.screens[0][0] = state.width;
    state.drawing.screens[0][1] = state.height;
    createScreens(state.drawing).draw(pen, 0, width / state.width, { colours: palette() });
  }
}

function loadPicture(id) {
  if (loading || !model.serial) {
    return;
  }
  const serial = model.serial;
  loading = id;
  const image = new Image();
  const finish = () => {
    loading = "";
    const wanted = model.state?.pictureId || "";
    if (model.serial !== serial || (wanted && wanted !== id)) {
      refreshPicture();
    }
  };
  image.onload = () => {
    if (model.serial === serial) {
      picture = image;
      pictureOf = id;
      screen.dataset.picture = id;
      draw();
    }
    finish();
  };
  image.onerror = () => setTimeout(finish, PICTURE_MS);
  image.src = `/screen/picture?${new URLSearchParams({ deviceId: serial, pictureId: id })}`;
}

function refreshPicture() {
  const id = model.state?.pictureId;
  if (showsPicture && id && id !== pictureOf) {
    loadPicture(id);
  }
}

// A device that is not simulated does not report that its picture has changed.
setInterval(() => {
  const state = model.state;
  if (showsPicture && state && !state.simulated && state.pictureId && document.visibilityState === "visible") {
    loadPicture(`${state.pictureId}.${Date.now() % 1000000}`);
  }
}, PICTURE_MS);

// Boxes: what is pointed at and what is selected

function box(at, className) {
  const node = model.nodes[at];
  if (!node) {
    return null;
  }
  const [left, top, right, bottom] = node.bounds;
  const share = scale();
  // The label is above the box, inside it at the top of the screen, and at its right side in the right half.
  const places = `${top * share < LABEL ? " inside" : ""}${left * 2 > model.state.width ? " right" : ""}`;
  const element = make("div", { className: `box ${className}${places}` }, make("span", { textContent: model.labelOf(at) }));
  Object.assign(element.style, {
    left: `${left * share}px`,
    top: `${top * share}px`,
    width: `${Math.max(2, (right - left) * share)}px`,
    height: `${Math.max(2, (bottom - top) * share)}px`,
  });
  return element;
}

// Where the selected element is touched: its number, its screen and the point.
let touchMark = null;

/** Mark where an element is touched. */
export function markTouch(at, point) {
  touchMark = point ? { at, screen: model.state?.screenId, point } : null;
  drawBoxes();
}

function touchDot() {
  if (!touchMark || touchMark.at !== model.selected || touchMark.screen !== model.state?.screenId) {
    return null;
  }
  const dot = make("div", { className: "touch-dot" });
  const [x, y] = touchMark.point.map((value) => value * scale());
  Object.assign(dot.style, { left: `${x}px`, top: `${y}px` });
  return dot;
}

function drawBoxes() {
  const hovered = model.hovered === model.selected ? null : box(model.hovered, "hovered");
  boxes.replaceChildren(...[box(model.selected, "selected"), touchDot(), hovered].filter(Boolean));
}

function ripple(at) {
  const share = scale();
  const element = make("div", { className: "ripple" });
  Object.assign(element.style, { left: `${at.x * share}px`, top: `${at.y * share}px` });
  boxes.append(element);
  element.addEventListener("animationend", () => element.remove());
  setTimeout(() => element.remove(), 700);
}

// Pointer

let down = null;

/** The point of the device under a pointer. */
function pointOf(event) {
  const { left, top, width, height } = screen.getBoundingClientRect();
  const state = model.state;
  const x = ((event.clientX - left) / width) * state.width;
  const y = ((event.clientY - top) / height) * state.height;
  return { x: Math.max(0, Math.min(state.width - 1, x)), y: Math.max(0, Math.min(state.height - 1, y)) };
}

screen.addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || !model.state?.width) {
    return;
  }
  const at = pointOf(event);
  if (picks) {
    model.select(model.nodeAt(at.x, at.y), "screen");
    setPicking(false);
    event.preventDefault();
    return;
  }
  screen.focus({ preventScroll: true });
  if (!model.canAct) {
    return;
  }
  if (model.state.awake === false) {
    actions.press("wakeup");
    return;
  }
  screen.setPointerCapture(event.pointerId);
  down = { at, x: event.clientX, y: event.clientY, since: performance.now(), moved: 0 };
});

screen.addEventListener("pointermove", (event) => {
  if (!model.state?.width) {
    return;
  }
  const at = pointOf(event);
  if (!down) {
    model.hover(model.nodeAt(at.x, at.y));
    return;
  }
  if (!down.moved && Math.hypot(event.clientX - down.x, event.clientY - down.y) > SLOP) {
    down.moved = performance.now();
  }
});

screen.addEventListener("pointerup", (event) => {
  if (!down) {
    return;
  }
  const { at, since, moved } = down;
  down = null;
  const held = performance.now() - since;
  const to = pointOf(event);
  if (moved) {
    const isDrag = moved - since >= LONG_PRESS_MS;
    actions.move(isDrag ? "drag" : "swipe", at, to, performance.now() - moved);
  } else if (held >= LONG_PRESS_MS) {
    actions.longPress(at, held);
  } else {
    actions.tap(at);
  }
  ripple(to);
});

screen.addEventListener("pointercancel", () => {
  down = null;
});
screen.addEventListener("pointerleave", () => {
  if (!down) {
    model.hover(-1);
  }
});
screen.addEventListener("contextmenu", (event) => event.preventDefault());

// Wheel: the content follows as under a finger.

let turned = null;

screen.addEventListener(
  "wheel",
  (event) => {
    if (!model.state?.width) {
      return;
    }
    event.preventDefault();
    if (!model.canAct) {
      return;
    }
    const lines = event.deltaMode === 1 ? 40 : event.deltaMode === 2 ? 400 : 1;
    turned ||= { at: pointOf(event), x: 0, y: 0 };
    turned.x += (event.shiftKey ? event.deltaY : event.deltaX) * lines;
    turned.y += (event.shiftKey ? 0 : event.deltaY) * lines;
    setTimeout(scrollNow, 40);
  },
  { passive: false },
);

function scrollNow() {
  if (!model.canAct) {
    turned = null;
  }
  if (!turned || actions.pending()) {
    if (turned) {
      setTimeout(scrollNow, 60);
    }
    return;
  }
  const { at, x, y } = turned;
  turned = null;
  const share = scale();
  const isSideways = Math.abs(x) > Math.abs(y);
  const size = isSideways ? model.state.width : model.state.height;
  const most = size * 0.5;
  const by = Math.max(-most, Math.min(most, (isSideways ? x : y) / share));
  if (Math.abs(by) < 30) {
    return;
  }
  // Both ends are inside the screen, away from its edges, where gestures of the system begin.
  const low = size * 0.12 + Math.max(0, by);
  const high = size * 0.88 + Math.min(0, by);
  const start = Math.max(low, Math.min(high, isSideways ? at.x : at.y));
  const from = isSideways ? { x: start, y: at.y } : { x: at.x, y: start };
  const to = isSideways ? { x: start - by, y: at.y } : { x: at.x, y: start - by };
  actions.move("swipe", from, to, 300);
}

// Keyboard

screen.addEventListener("focus", () => {
  mode.classList.add("on");
  mode.textContent = model.canAct ? "Keyboard goes to the phone. Esc leaves." : modeText;
});
screen.addEventListener("blur", () => {
  mode.classList.remove("on");
  mode.textContent = modeText;
});
screen.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    event.preventDefault();
    byId("show-picture").closest(".region").querySelector('[data-key="back"]').focus();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.key === "Tab") {
    return;
  }
  if (KEYS[event.key]) {
    event.preventDefault();
    actions.press(KEYS[event.key]);
  } else if ([...event.key].length === 1) {
    event.preventDefault();
    actions.type(event.key);
  }
});
screen.addEventListener("paste", (event) => {
  const characters = [...(event.clipboardData?.getData("text/plain") || "")];
  event.preventDefault();
  actions.type(characters.slice(0, MOST_PASTED).join(""));
  if (characters.length > MOST_PASTED) {
    showMessage(`Typed the first ${MOST_PASTED} of ${characters.length} characters.`, { isError: false });
  }
});

for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => actions.press(button.dataset.key));
}

// Apps and data

const closeApp = byId("close-app");
const resetPhone = byId("reset-phone");
const resetDialog = byId("reset-dialog");
const HOME_SCREEN = /launcher|trebuchet|\.home$/;
const RESET_TEXT = byId("reset-text").textContent;
let isResetting = false;

const appInFront = () => (HOME_SCREEN.test(model.state?.package || "") ? "" : model.state?.package || "");

closeApp.addEventListener("click", () => actions.close(appInFront()));
model.on("done", ({ path, action }) => {
  if (path === "/close") {
    announce(`Closed ${action.params.applicationId}`);
  }
});

resetPhone.addEventListener("click", () => {
  const { canReset } = model.state;
  byId("reset-title").textContent = canReset ? `Reset ${model.serial}?` : "This server may not reset phones";
  byId("reset-text").textContent = canReset ? RESET_TEXT : `Start it with --permission-mode full, or run: clawperator phone reset ${model.serial}`;
  byId("reset-confirm").hidden = !canReset;
  byId("reset-cancel").textContent = canReset ? "Cancel" : "Close";
  resetDialog.returnValue = "";
  resetDialog.dataset.serial = model.serial;
  resetDialog.showModal();
});
resetDialog.addEventListener("close", async () => {
  const { serial } = resetDialog.dataset;
  if (resetDialog.returnValue !== "reset" || isResetting) {
    return;
  }
  isResetting = true;
  resetPhone.disabled = true;
  try {
    await post(`/phones/${encodeURIComponent(serial)}/reset`);
    announce(`${serial} is reset`);
  } catch (error) {
    showError(error, "reset");
  } finally {
    isResetting = false;
    resetPhone.disabled = false;
  }
});

byId("type-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = byId("type-text");
  if (input.value) {
    actions.type(input.value);
    input.value = "";
  }
});

// Switches

function showAs(isPicture) {
  showsPicture = isPicture;
  byId("show-picture").setAttribute("aria-pressed", String(isPicture));
  byId("show-drawing").setAttribute("aria-pressed", String(!isPicture));
  screen.dataset.shown = isPicture ? "picture" : "tree";
  draw();
  refreshPicture();
}
byId("show-picture").addEventListener("click", () => showAs(true));
byId("show-drawing").addEventListener("click", () => showAs(false));

function setPicking(isOn) {
  picks = isOn;
  byId("pick").setAttribute("aria-pressed", String(isOn));
  screen.classList.toggle("picks", isOn);
}
byId("pick").addEventListener("click", () => setPicking(!picks));

// State

function showState(state) {
  screen.setAttribute("aria-label", `Screen of ${state.deviceId}`);
  byId("rec").hidden = !state.recording;
  screen.classList.toggle("read-only", !model.canAct);
  let text = "";
  if (state.error) {
    text = state.error.message;
  } else if (state.readOnly) {
    text = "Read-only: the server was started without permission to touch.";
  } else if (model.isReadOnly && state.busy) {
    const { pid, action, commandId } = state.busy;
    text = pid ? `Read-only: process ${pid} runs ${action || commandId}.` : "Read-only: the device is in use.";
  } else if (model.slow === state.deviceId) {
    text = `Waiting for ${state.deviceId}.`;
  }
  if (note.textContent !== text) {
    note.textContent = text;
  }
  note.title = state.busy?.message || "";
  note.className = `phone-note${state.error ? " bad" : " warn"}`;
  for (const control of document.querySelectorAll("#phone [data-key], #type-form input, #type-form button")) {
    control.disabled = !model.canAct;
  }
  closeApp.disabled = !model.canAct || !appInFront();
  resetPhone.hidden = !state.simulated;
  resetPhone.disabled = Boolean(state.error) || isResetting;
  const hasScreen = Boolean(state.screenId);
  message.hidden = hasScreen && state.awake !== false;
  message.textContent = hasScreen ? "The device sleeps. Touch the screen or press a key to wake it." : state.error ? "No screen." : "Waiting for the screen.";
  screen.dataset.state = state.stateId;
}

model.on("state", (state) => {
  showState(state);
  fit();
  refreshPicture();
});
model.on("screen", () => drawBoxes());
model.on("hover", drawBoxes);
model.on("select", drawBoxes);
model.on("device", () => {
  down = null; // a gesture ends with the device that it began on
  turned = null;
  picture = null;
  pictureOf = "";
  delete screen.dataset.picture;
  setPicking(false);
  note.textContent = "";
  byId("rec").hidden = true;
  draw();
  drawBoxes();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

/** Touch an element at its point: for users of the keyboard. */
export function touchAt([x, y], isLong = false) {
  if (!model.canAct) {
    showMessage("The device cannot be touched now.", { hint: note.textContent, isError: false, topic: "touch" });
    return;
  }
  const point = { x, y };
  ripple(point);
  if (isLong) {
    actions.longPress(point);
  } else {
    actions.tap(point);
  }
}
