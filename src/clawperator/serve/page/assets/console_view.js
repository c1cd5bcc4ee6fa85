/* The console: everything that was done, as command lines or as actions of an execution. */

import { byId, code, copyButton, copyText, make } from "./dom.js";
import { model } from "./model.js";

const list = byId("console");
const MOST = 500;
const all = new Map(); // by the serial of the device: an execution runs on one
let entries = []; // of the device that is shown
let asJson = false;

const numbered = (entry, at) => ({ ...entry.action, id: `a${at + 1}` });
const textOf = (entry, at) => (asJson ? JSON.stringify(numbered(entry, at)) : entry.command);

/** Typing goes on in one line: the last text of the field is all of it. */
function isContinued(last, done) {
  if (!last || last.path !== "/type" || done.path !== "/type" || done.action.params.append) {
    return false;
  }
  return JSON.stringify(last.action.params.matcher) === JSON.stringify(done.action.params.matcher);
}

function add(done) {
  const known = all.get(done.deviceId) || [];
  const kept = isContinued(known[known.length - 1], done) ? known.slice(0, -1) : known.slice(1 - MOST);
  all.set(done.deviceId, [...kept, done]);
  show();
}

function show() {
  entries = all.get(model.serial) || [];
  list.replaceChildren(
    ...entries.map((entry, at) =>
      make(
        "li",
        { className: "console-row" },
        code(textOf(entry, at)),
        copyButton(() => textOf(entry, at), `line ${at + 1}`),
      ),
    ),
  );
  byId("console-empty").hidden = entries.length > 0;
  list.hidden = entries.length === 0;
  list.scrollTop = list.scrollHeight;
}

function showAs(isJson) {
  asJson = isJson;
  byId("console-command").setAttribute("aria-pressed", String(!isJson));
  byId("console-json").setAttribute("aria-pressed", String(isJson));
  show();
}

/** All lines: a script, or one execution that `clawperator exec` runs. */
function everything() {
  if (!asJson) {
    return entries.map((entry) => `${entry.command}\n`).join("");
  }
  const id = `page-${Date.now()}`;
  const execution = {
    commandId: id,
    taskId: id,
    source: "page",
    expectedFormat: "android-ui-automator",
    timeoutMs: Math.min(120000, 10000 + 3000 * entries.length),
    actions: entries.map(numbered),
  };
  return `${JSON.stringify(execution, null, 2)}\n`;
}

byId("console-command").addEventListener("click", () => showAs(false));
byId("console-json").addEventListener("click", () => showAs(true));
byId("console-copy").addEventListener("click", (event) => copyText(everything(), event.currentTarget));
byId("console-clear").addEventListener("click", () => {
  all.delete(model.serial);
  show();
});
model.on("done", add);
model.on("device", show);
show();
