/* Recordings: record what is done, then describe, export, replay and report it. */

import { ApiError, get, post } from "./api.js";
import { announce, byId, make } from "./dom.js";
import { model } from "./model.js";

const button = byId("record");
const label = byId("record-label");
const nameField = byId("record-name");
const status = byId("record-status");
const list = byId("events");
const files = byId("recorded-file");
const result = byId("recorded-result");
const FOLDER = "recordings";
const POLL_MS = 700;
const LIST_MS = 1500;
const LIST_TIMES = 4;

let following = null; // { session, serial, next, timer }
const NO_RECORDING = "Recording needs the Operator: this device is operated by plain adb.";
let isBusy = false;
let uncopied = ""; // a stopped recording that is not in the folder yet

// Recording

function showStatus(text, error = null) {
  const problem = error?.hint ? `${error.message.replace(/\.?$/, ".")} ${error.hint}` : error?.message;
  status.textContent = error ? problem : text;
  status.className = error ? "bad" : "dim";
}

async function work(text, task) {
  if (isBusy) {
    return;
  }
  isBusy = true;
  update();
  showStatus(text);
  try {
    await task();
  } catch (error) {
    showStatus("", error);
  } finally {
    isBusy = false;
    update();
  }
}

/** The data of the only step, or the error of an execution that failed. */
function stepData(answer) {
  const { envelope } = answer;
  const step = envelope.stepResults[0];
  if (envelope.status !== "success") {
    throw new ApiError(200, { message: step?.data.message || envelope.error, hint: step?.data.hint });
  }
  return step.data;
}

async function start() {
  const body = { deviceId: model.serial };
  if (nameField.value) {
    body.sessionId = nameField.value;
    await listFiles();
    const file = `${FOLDER}/${nameField.value}.ndjson`;
    if (hasFile(nameField.value)) {
      throw new ApiError(200, { message: `${file} exists already.`, hint: "Choose another name." });
    }
  }
  const data = stepData(await post("/recordings/start", body));
  follow(model.serial, data.sessionId);
  showStatus(`Recording ${data.sessionId}. Use the phone, then stop.`);
  announce(`Recording ${data.sessionId} has started`);
}

async function stop() {
  const serial = model.serial;
  const data = stepData(await post("/recordings/stop", { deviceId: serial }));
  await readEvents();
  unfollow();
  nameField.value = "";
  const path = await pull(serial, data.sessionId);
  showStatus(`Recorded ${data.eventCount} events: ${path}`);
  announce(`Recording ${data.sessionId} is stopped`);
}

/** Copy a recording to the folder. One that could not be copied can be copied later. */
async function pull(serial, session) {
  uncopied = session;
  const pulled = await post("/recordings/pull", { deviceId: serial, sessionId: session, folder: FOLDER });
  uncopied = "";
  await listFiles(pulled.localPath);
  result.replaceChildren();
  return relative(pulled.localPath);
}

/** Another client has stopped the recording, and may be copying it to the folder. */
async function noteStopped({ serial, session }) {
  showStatus(`Recording ${session} was stopped by another client.`);
  announce(status.textContent);
  uncopied = session;
  update();
  for (let times = 0; times < LIST_TIMES && uncopied === session; times += 1) {
    await new Promise((resolve) => setTimeout(resolve, LIST_MS));
    await listFiles().catch(() => {});
    if (hasFile(session) && model.serial === serial && uncopied === session) {
      uncopied = "";
      update();
    }
  }
}

byId("pull").addEventListener("click", () => {
  const session = uncopied;
  work("Copying.", async () => {
    showStatus(`Copied to ${await pull(model.serial, session)}`);
  });
});

byId("record-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (isRecording()) {
    work("Stopping.", stop);
  } else {
    work("Starting.", start);
  }
});

const isRecording = () => Boolean(model.state?.recording) || Boolean(following && following.serial === model.serial);

function update() {
  const isOn = isRecording();
  button.classList.toggle("on", isOn);
  label.textContent = isOn ? "Stop" : "Record";
  nameField.disabled = isOn || isBusy;
  byId("pull").hidden = !uncopied || isOn;
  byId("pull").disabled = isBusy;
  const cannotRecord = model.state?.canRecord === false && !isOn;
  button.disabled = isBusy || !model.state || Boolean(model.state.error) || cannotRecord || ((model.isReadOnly || model.state.readOnly) && !isOn);
  button.title = cannotRecord ? NO_RECORDING : "";
  if (cannotRecord && !status.textContent) {
    showStatus(NO_RECORDING);
  } else if (!cannotRecord && status.textContent === NO_RECORDING) {
    showStatus("");
  }
  for (const id of ["describe", "export", "report", "replay"]) {
    byId(id).disabled = isBusy || !files.value;
  }
}

// Events

function follow(serial, session) {
  unfollow();
  uncopied = "";
  list.replaceChildren();
  list.hidden = byId("events-title").hidden = false;
  following = { serial, session, next: 0, isReading: false };
  following.timer = setInterval(readEvents, POLL_MS);
  readEvents();
}

function unfollow() {
  if (following) {
    clearInterval(following.timer);
    following = null;
  }
}

async function readEvents() {
  const current = following;
  if (!current || current.isReading || document.visibilityState !== "visible") {
    return;
  }
  current.isReading = true;
  try {
    const answer = await get("/recordings/events", { deviceId: current.serial, sessionId: current.session, since: current.next });
    if (following === current) {
      current.next = answer.next;
      addEvents(answer.events);
    }
  } catch {
    // It is tried again; a device that is gone is reported with its screen.
  } finally {
    current.isReading = false;
  }
}

const WORDS = {
  click: (event) => ["Tap", event.text || event.contentDesc || event.resourceId || "an element without a label"],
  text_change: (event) => ["Text", event.text],
  scroll: (event) => ["Scroll", `to ${event.scrollX}, ${event.scrollY}`],
  press_key: (event) => ["Key", event.key],
  window_change: (event) => ["Window", [event.title, event.packageName].filter(Boolean).join(" · ")],
};

function addEvents(events) {
  const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
  for (const event of events) {
    const [kind, text] = (WORDS[event.type] || (() => [event.type, ""]))(event);
    const last = list.lastElementChild;
    if (event.type === "text_change" && last?.dataset.type === "text_change") {
      last.lastElementChild.textContent = text;
      continue;
    }
    list.append(
      make(
        "li",
        { className: "event", data: { type: event.type } },
        make("span", { className: `event-kind ${event.type}`, textContent: kind }),
        make("span", { className: "event-text", textContent: text }),
      ),
    );
  }
  if (isAtEnd) {
    list.scrollTop = list.scrollHeight;
  }
}

// Files

function relative(path) {
  const at = path.lastIndexOf(`/${FOLDER}/`);
  return at < 0 ? path : path.slice(at + 1);
}

const hasFile = (session) => [...files.options].some((one) => one.value.endsWith(`/${FOLDER}/${session}.ndjson`));

async function listFiles(chosen = files.value) {
  const { recordings } = await get("/recordings", { folder: FOLDER });
  recordings.sort((a, b) => (b.startedAt || 0) - (a.startedAt || 0));
  files.replaceChildren(
    ...recordings.map((one) => make("option", { value: one.path, textContent: `${one.sessionId || relative(one.path)}` })),
  );
  if (recordings.some((one) => one.path === chosen)) {
    files.value = chosen;
  }
  byId("recorded").hidden = recordings.length === 0;
  update();
}

files.addEventListener("change", () => {
  result.replaceChildren();
  update();
});

const input = () => relative(files.value);

byId("describe").addEventListener("click", () =>
  work("Describing.", async () => {
    const narrative = await post("/recordings/describe", { input: input() });
    result.replaceChildren(
      make("h4", { textContent: `${narrative.stepCount} steps${narrative.appPackage ? ` in ${narrative.appPackage}` : ""}` }),
      make("ol", { className: "steps" }, ...narrative.steps.map((step) => make("li", { textContent: step.sentence }))),
      ...(narrative.warnings || []).map((text) => make("p", { className: "warn", textContent: text })),
    );
    showStatus("Described.");
  }),
);

byId("export").addEventListener("click", () =>
  work("Exporting.", async () => {
    const exported = await post("/recordings/export", { input: input(), snapshots: "include" });
    result.replaceChildren(make("p", {}, `${exported.eventCount} events in `, make("code", { textContent: relative(exported.outputFile) })));
    showStatus("Exported.");
  }),
);

function reportLink(path, text) {
  return make("a", {
    href: `/recordings/report?${new URLSearchParams({ path: relative(path) })}`,
    target: "_blank",
    rel: "noopener",
    className: "report-link",
    textContent: text,
  });
}

byId("report").addEventListener("click", () =>
  work("Writing the report.", async () => {
    const made = await post("/recordings/report", { input: input() });
    result.replaceChildren(
      make("p", {}, reportLink(made.outputFile, "Open the report")),
      make("p", { className: "dim", textContent: `${made.rowCount} rows, ${made.screenCount} screens: ${relative(made.outputFile)}` }),
    );
    showStatus("The report is ready.");
  }),
);

byId("replay").addEventListener("click", () => {
  const device = byId("replay-device").value;
  work(`Replaying on ${device}.`, async () => {
    const { result: replayed, outputFile } = await post("/recordings/replay", { input: input(), deviceId: device });
    const run = relative(outputFile);
    const made = await post("/recordings/report", { input: run });
    const links = [make("p", {}, reportLink(made.outputFile, "Open the report of the replay"))];
    try {
      const out = `${run.replace(/\.json$/, "")}.compared.report.html`;
      const compared = await post("/recordings/report", { input: input(), compare: run, out });
      links.push(make("p", {}, reportLink(compared.outputFile, "Compare it with the recording")));
    } catch (error) {
      links.push(make("p", { className: "dim", textContent: `It was not compared with the recording: ${error.message}` }));
    }
    result.replaceChildren(
      make("p", {
        className: replayed.ok ? "good" : "bad",
        textContent: replayed.ok
          ? `Replayed on ${device}: ${replayed.provedCount} of ${replayed.stepCount} steps, each of them proved.`
          : `Stopped on ${device} after ${replayed.provedCount} of ${replayed.stepCount} steps: ${replayed.error?.message || "a step was not proved"}`,
      }),
      replayed.closedApps.length ? make("p", { className: "dim", textContent: `Closed first: ${replayed.closedApps.join(", ")}.` }) : "",
      replayed.ok ? "" : make("p", { className: "dim", textContent: replayed.error?.hint || "" }),
      ...links,
    );
    showStatus(replayed.ok ? "Replayed." : "The replay stopped.");
  });
});

// State

model.on("devices", (devices) => {
  const select = byId("replay-device");
  const chosen = select.value || model.serial;
  const ready = devices.filter((one) => one.state === "device");
  select.replaceChildren(...ready.map((one) => make("option", { value: one.serial, textContent: one.serial })));
  if (ready.some((one) => one.serial === chosen)) {
    select.value = chosen;
  }
});
model.on("device", () => {
  unfollow();
  uncopied = "";
  list.replaceChildren();
  list.hidden = byId("events-title").hidden = true;
  showStatus("");
  update();
});
model.on("state", (state) => {
  if (state.recording && following?.session !== state.recording) {
    follow(state.deviceId, state.recording);
    showStatus(`Recording ${state.recording}.`);
  } else if (!state.recording && !state.error && following && !isBusy && following.isSeen) {
    const stopped = following;
    stopped.isSeen = false;
    readEvents().then(() => {
      if (following === stopped) {
        unfollow();
        noteStopped(stopped);
      }
    });
  }
  if (following && state.recording === following.session) {
    following.isSeen = true;
    readEvents();
  }
  update();
});

export const startRecordings = () => listFiles().catch((error) => showStatus("", error));
