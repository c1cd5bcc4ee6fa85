/* The page: sign in, list the devices, show one of them. */

import { get, post, signIn, signInByAddress } from "./api.js";
import { byId, make, makeTabs, showError } from "./dom.js";
import { model } from "./model.js";
import "./phone_view.js";
import "./elements_view.js";
import "./console_view.js";
import { startRecordings } from "./recording_view.js";
import "./faults_view.js";

const POLL_MS = 2000;
const SIGNED_OUT_POLL_MS = 5000;
const start = byId("start");
const workspace = byId("workspace");
const connection = byId("connection");
const tabs = byId("device-tabs");
const READY = "device";
let hasStarted = false;
let isSignedOut = false;
let timer = 0;

function showStart(title, text, { hint = "", canStart = false, canSignIn = false } = {}) {
  byId("start-title").textContent = title;
  byId("start-text").textContent = text;
  byId("start-hint").textContent = hint;
  byId("start-phone").hidden = !canStart;
  byId("sign-in").hidden = !canSignIn;
  start.hidden = false;
  workspace.hidden = true;
}

function showWorkspace() {
  start.hidden = true;
  workspace.hidden = false;
}

// Devices

const chosenDevice = () => sessionStorage.getItem("device") || "";

function showDevices(devices) {
  const before = JSON.stringify(model.devices);
  model.devices = devices;
  if (JSON.stringify(devices) !== before) {
    drawTabs(devices);
    model.emit("devices", devices);
  }
  if (!devices.length) {
    model.show("");
    showStart("No devices", "No device is connected to this computer, and no simulated phone runs.", {
      hint: "Connect a device with USB debugging on, or start a simulated phone.",
      canStart: true,
    });
    return;
  }
  const isKnown = devices.some((one) => one.serial === model.serial);
  if (!isKnown) {
    const ready = devices.find((one) => one.serial === chosenDevice()) || devices.find((one) => one.state === READY) || devices[0];
    choose(ready.serial);
  }
  showWorkspace();
}

function drawTabs(devices) {
  const focused = tabs.contains(document.activeElement) ? document.activeElement.dataset.serial : "";
  tabs.replaceChildren(
    ...devices.map((one) =>
      make(
        "button",
        {
          type: "button",
          className: "device-tab",
          tabIndex: one.serial === model.serial ? 0 : -1,
          data: { serial: one.serial },
          attributes: { role: "tab", "aria-controls": "workspace", "aria-selected": String(one.serial === model.serial) },
        },
        make("span", { className: `lamp ${one.state === READY ? "ready" : "not-ready"}`, attributes: { "aria-hidden": "true" } }),
        make("span", { className: "device-name", textContent: one.serial }),
        one.model ? make("span", { className: "device-model", textContent: one.model }) : null,
        one.state === READY ? null : make("span", { className: "device-state", textContent: one.state }),
      ),
    ),
  );
  if (focused) {
    [...tabs.children].find((tab) => tab.dataset.serial === focused)?.focus();
  }
}

function choose(serial) {
  sessionStorage.setItem("device", serial);
  for (const tab of tabs.children) {
    const isChosen = tab.dataset.serial === serial;
    tab.setAttribute("aria-selected", String(isChosen));
    tab.tabIndex = isChosen ? 0 : -1;
    if (isChosen) {
      tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }
  document.title = `${serial} · Clawperator`;
  model.show(serial);
}

tabs.dataset.panels = "css";
makeTabs(tabs, (tab) => choose(tab.dataset.serial));

/** Without a session the page waits for one: another window of this browser may sign in. */
function signOut(text, hint) {
  isSignedOut = true;
  connection.textContent = "";
  model.devices = [];
  model.show("");
  drawTabs([]);
  document.title = "Clawperator";
  showStart("Not signed in", text, { hint, canSignIn: true });
}

async function poll() {
  if (document.visibilityState === "visible") {
    try {
      const { devices } = await get("/devices");
      isSignedOut = false;
      connection.textContent = "";
      showDevices(devices);
      if (!hasStarted) {
        hasStarted = true;
        startRecordings();
      }
    } catch (error) {
      if (error.status === 401) {
        if (!isSignedOut) {
          signOut("This browser has no session with the server, or it has ended.", error.hint);
        }
      } else if (error.code === "ADB_NOT_FOUND") {
        connection.textContent = "";
        showDevices([]);
      } else {
        connection.textContent = error.message;
      }
    }
  }
  clearTimeout(timer);
  timer = setTimeout(poll, isSignedOut ? SIGNED_OUT_POLL_MS : POLL_MS);
}

byId("start-phone").addEventListener("click", async (event) => {
  const button = event.currentTarget;
  button.disabled = true;
  try {
    const { phones } = await get("/phones");
    const stopped = phones.find((phone) => phone.state !== "running");
    await post(`/phones/${encodeURIComponent(stopped ? stopped.serial : "claw-1")}/start`);
  } catch (error) {
    showError(error);
  }
  button.disabled = false;
});

// Views of a narrow window

const views = byId("views");
views.dataset.panels = "css";
makeTabs(views, (tab) => {
  workspace.dataset.view = tab.dataset.view;
}).choose(byId("view-phone"));
makeTabs(byId("work-tabs")).choose(byId("tab-record"));

async function begin(opening) {
  try {
    await opening;
    isSignedOut = false;
  } catch (error) {
    signOut(error.message, error.hint);
  }
  poll();
}
byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = byId("token");
  const token = field.value.trim();
  field.value = "";
  begin(signIn(token));
});
// The address of a page that is open can be changed to the one with a code.
window.addEventListener("hashchange", () => begin(signInByAddress()));
begin(signInByAddress());
