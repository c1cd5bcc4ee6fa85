/* What the user does on the device, one thing after the other. */

import { post } from "./api.js";
import { clearMessages, showError } from "./dom.js";
import { model } from "./model.js";

const waiting = [];
let isRunning = false;
const MOST_TEXT = 400; // characters of one request
const SLOW_MS = 1500;
const TOPIC = "touch";

/** Do something on the device that is shown. Text that waits is joined: fast typing is few requests. */
function enqueue(path, body) {
  if (!model.canAct) {
    return;
  }
  const last = waiting[waiting.length - 1];
  const joins = path === "/type" && last?.path === "/type" && last.serial === model.serial;
  if (joins && last.body.text.length + body.text.length <= MOST_TEXT) {
    last.body.text += body.text;
    return;
  }
  waiting.push({ path, body, serial: model.serial });
  run();
}

async function run() {
  if (isRunning) {
    return;
  }
  isRunning = true;
  while (waiting.length) {
    const { path, body, serial } = waiting.shift();
    const timer = setTimeout(() => model.noteSlow(serial), SLOW_MS);
    try {
      const done = await post(path, { ...body, deviceId: serial });
      clearMessages(TOPIC);
      model.emit("done", { ...done, path });
    } catch (error) {
      waiting.length = 0;
      showError(error, TOPIC);
    }
    clearTimeout(timer);
    model.noteSlow("");
  }
  isRunning = false;
}

/** How many things wait: a wheel that turns faster than the device scrolls must not fill the queue. */
export const pending = () => waiting.length + (isRunning ? 1 : 0);

const whole = (point) => ({ x: Math.round(point.x), y: Math.round(point.y) });

export const tap = (at) => enqueue("/touch", { kind: "tap", ...whole(at) });

export const longPress = (at, ms = 800) => enqueue("/touch", { kind: "long_press", ...whole(at), durationMs: Math.round(ms) });

/** A swipe, or a drag that holds first. */
export function move(kind, from, to, ms) {
  const end = whole(to);
  enqueue("/touch", { kind, ...whole(from), toX: end.x, toY: end.y, durationMs: Math.max(50, Math.min(2000, Math.round(ms))) });
}

export const press = (key) => enqueue("/press", { key });

export const close = (applicationId) => enqueue("/close", { applicationId });

/** Type a text, in pieces that do not cut a character in two. */
export function type(text) {
  const characters = [...text];
  for (let at = 0; at < characters.length; at += MOST_TEXT) {
    enqueue("/type", { text: characters.slice(at, at + MOST_TEXT).join("") });
  }
}
