/* Elements without markup: every text becomes a text node. */

export const byId = (id) => document.getElementById(id);

/** An element. Properties in camel case; `attributes`, `data` and `on` are maps. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const { attributes = {}, data = {}, on = {}, ...own } = properties;
  Object.assign(element, own);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  Object.assign(element.dataset, data);
  for (const [name, listener] of Object.entries(on)) {
    element.addEventListener(name, listener);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Code whose lines break between words only: a browser would also break after the dash of a flag. */
export function code(text) {
  const words = text.split(" ").flatMap((word, at) => [at ? " " : "", make("span", { textContent: word })]);
  return make("code", {}, ...words);
}

const announcer = byId("announcer");

/** Announce to screen readers what happened. */
export function announce(text) {
  announcer.textContent = "";
  requestAnimationFrame(() => {
    announcer.textContent = text;
  });
}

const messages = byId("messages");

/** Show a message that can be dismissed. Errors stay until then, or until `clearMessages` with their topic. */
export function showMessage(text, { hint = "", isError = true, topic = "" } = {}) {
  clearMessages(topic);
  const close = make("button", { type: "button", className: "quiet", textContent: "Dismiss" });
  const body = make("div", {}, make("p", { textContent: text }), hint ? make("p", { className: "dim", textContent: hint }) : null);
  const shown = make("div", { className: isError ? "message bad" : "message", data: { topic } }, body, close);
  close.addEventListener("click", () => shown.remove());
  for (const old of [...messages.children].slice(0, -2)) {
    old.remove();
  }
  messages.append(shown);
  if (!isError) {
    setTimeout(() => shown.remove(), 6000);
  }
}

/** Remove the messages of a topic: what they were about has been done since. */
export function clearMessages(topic) {
  for (const old of topic ? [...messages.children] : []) {
    if (old.dataset.topic === topic) {
      old.remove();
    }
  }
}

export function showError(error, topic = "") {
  showMessage(error.message || String(error), { hint: error.hint || "", topic });
}

/** Copy a text, and confirm it on the button that was pressed. */
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { value: text, className: "sr-only" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce("Copied");
  if (button && !button.dataset.label) {
    button.dataset.label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = button.dataset.label;
      delete button.dataset.label;
    }, 1200);
  }
}

/** A button that copies a text. */
export function copyButton(text, name) {
  const button = make("button", { type: "button", className: "quiet small", textContent: "Copy", attributes: { "aria-label": `Copy ${name}` } });
  button.addEventListener("click", () => copyText(typeof text === "function" ? text() : text, button));
  return button;
}

/** Tabs as the pattern of ARIA has them: arrow keys move, one tab is in the order of the Tab key. */
export function makeTabs(list, onChosen = () => {}) {
  const tabs = () => [...list.querySelectorAll('[role="tab"]')];
  const choose = (chosen, { focus = false } = {}) => {
    for (const tab of tabs()) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      const panel = byId(tab.getAttribute("aria-controls") || "");
      if (panel && list.dataset.panels !== "css") {
        panel.hidden = !isChosen;
      }
    }
    if (focus) {
      chosen.focus();
    }
    onChosen(chosen);
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) {
      choose(tab);
    }
  });
  list.addEventListener("keydown", (event) => {
    const all = tabs();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at >= 0 && to !== undefined) {
      event.preventDefault();
      choose(all[(to + all.length) % all.length], { focus: true });
    }
  });
  return { choose };
}
