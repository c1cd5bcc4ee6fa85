/* Faults of a simulated phone, as switches. */

import { get, post } from "./api.js";
import { byId, make, showError } from "./dom.js";
import { model } from "./model.js";

const list = byId("faults");
const text = byId("faults-text");
const tab = byId("tab-faults");
const INTRODUCTION = text.textContent;
const UNITS = { chance: "chance", milliseconds: "ms", quarter_turns: "quarter turns" };
let shownFor = "";

async function show() {
  const { serial, state } = model;
  if (!state?.simulated || !serial) {
    list.replaceChildren();
    text.textContent = state ? "Only a simulated phone has faults." : INTRODUCTION;
    shownFor = "";
    return;
  }
  try {
    const { faults } = await get(`/phones/${encodeURIComponent(serial)}/faults`);
    if (serial === model.serial) {
      text.textContent = INTRODUCTION;
      list.replaceChildren(...Object.entries(faults).map(([name, fault]) => row(serial, name, fault)));
      shownFor = serial;
    }
  } catch (error) {
    text.textContent = error.message;
  }
}

function row(serial, name, fault) {
  const id = `fault-${name}`;
  const isOn = fault.value > 0;
  const toggle = make("input", { type: "checkbox", id, checked: isOn, className: "switch", attributes: { role: "switch", "aria-describedby": `${id}-text` } });
  const title = make("label", { htmlFor: id, textContent: name.replaceAll("_", " ") });
  const description = make("p", { id: `${id}-text`, className: "dim", textContent: fault.description });
  const item = make("li", { className: "fault" }, toggle, make("div", {}, title, description));
  const set = async (setting) => {
    toggle.disabled = true;
    try {
      await post(`/phones/${encodeURIComponent(serial)}/faults`, { name, setting: String(setting) });
    } catch (error) {
      showError(error, "fault");
    }
    const hadFocus = document.activeElement?.id;
    await show();
    if (hadFocus && byId(hadFocus)) {
      byId(hadFocus).focus();
    }
  };
  toggle.addEventListener("change", () => set(toggle.checked ? "on" : "off"));
  if (fault.kind !== "flag") {
    const step = fault.kind === "chance" ? "0.1" : "1";
    const value = make("input", {
      type: "number",
      id: `${id}-value`,
      value: String(isOn ? fault.value : fault.on),
      min: "0",
      step,
      disabled: !isOn,
      attributes: { "aria-label": `${name.replaceAll("_", " ")}: ${UNITS[fault.kind] || "value"}` },
    });
    value.addEventListener("change", () => set(value.value || "off"));
    item.append(make("span", { className: "fault-value" }, value, make("span", { className: "dim", textContent: UNITS[fault.kind] || "" })));
  }
  return item;
}

tab.addEventListener("click", show);
model.on("device", () => {
  shownFor = "";
});
model.on("state", (state) => {
  if (state.simulated ? shownFor !== state.deviceId : shownFor || !list.children.length) {
    shownFor = state.deviceId;
    show();
  }
});
