/* The tree with its search, the outline, and the element that is selected. */

import { get } from "./api.js";
import { byId, code, copyButton, copyText, make, makeTabs } from "./dom.js";
import { model } from "./model.js";
import { markTouch, touchAt } from "./phone_view.js";

const tree = byId("tree");
const outline = byId("outline");
const search = byId("search");
const count = byId("search-count");
const rows = new Map(); // the row of each node in the tree
const lines = new Map(); // the line of each node in the outline
const closed = new Set(); // nodes whose children are hidden
const counts = { tree: [0, 0], outline: [0, 0] }; // of rows: those that match the search, and all

/** The number of rows in the list that is shown. */
function showCount() {
  const [found, of] = counts[byId("panel-outline").hidden ? "tree" : "outline"];
  count.textContent = search.value.trim() ? `${found} of ${of}` : of ? `${of}` : "";
}

// The tree

const shortId = (node) => node.resourceId.replace(/^.*:id\//, "");

function matches(node, words) {
  const text = [node.text, node.description, node.resourceId, node.className, node.role].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

function buildTree() {
  rows.clear();
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const depths = [];
  const children = new Map();
  model.nodes.forEach((node, at) => {
    depths.push(node.parent < 0 ? 0 : depths[node.parent] + 1);
    children.set(node.parent, (children.get(node.parent) || 0) + 1);
  });
  const found = words.length ? new Set(model.nodes.map((node, at) => (matches(node, words) ? at : -1)).filter((at) => at >= 0)) : null;
  const kept = new Set();
  for (const at of found || []) {
    for (let up = at; up >= 0 && !kept.has(up); up = model.nodes[up].parent) {
      kept.add(up);
    }
  }
  const hidden = new Set();
  const made = [];
  model.nodes.forEach((node, at) => {
    const isUnder = node.parent >= 0 && (hidden.has(node.parent) || closed.has(node.parent));
    if (isUnder && !found) {
      hidden.add(at);
      return;
    }
    if (found && !kept.has(at)) {
      return;
    }
    made.push(treeRow(node, at, depths[at], children.get(at) || 0, found && !found.has(at)));
  });
  tree.replaceChildren(...made);
  counts.tree = [found ? found.size : model.nodes.length, model.nodes.length];
  keepOneTabStop(tree, rows);
}

function treeRow(node, at, depth, childCount, isDim) {
  const isOpen = childCount > 0 && !closed.has(at);
  const label = node.text || node.description;
  const row = make(
    "li",
    {
      className: `tree-row${node.visible ? "" : " invisible"}${isDim ? " dim-row" : ""}${at === model.selected ? " selected" : ""}`,
      tabIndex: -1,
      data: { node: String(at) },
      attributes: { role: "treeitem", "aria-level": String(depth + 1), "aria-selected": String(at === model.selected) },
    },
    make("span", { className: "twist", textContent: childCount ? (isOpen ? "▾" : "▸") : "", attributes: { "aria-hidden": "true" } }),
    make("span", { className: "tree-class", textContent: node.className || "node" }),
    label ? make("span", { className: node.text ? "tree-text" : "tree-text described", textContent: label }) : null,
    node.resourceId ? make("span", { className: "tree-id", textContent: `#${shortId(node)}` }) : null,
  );
  if (childCount) {
    row.setAttribute("aria-expanded", String(isOpen));
  }
  row.style.paddingLeft = `${8 + Math.min(depth, 24) * 12}px`;
  rows.set(at, row);
  return row;
}

/** One row is in the order of the Tab key: the selected one, else the first. */
function keepOneTabStop(list, map) {
  const chosen = map.get(model.selected) || list.firstElementChild;
  for (const row of list.querySelectorAll('[tabindex="0"]')) {
    row.tabIndex = -1;
  }
  if (chosen) {
    chosen.tabIndex = 0;
  }
}

const nodeOf = (event) => {
  const row = event.target.closest("[data-node]");
  return row ? Number(row.dataset.node) : -1;
};

function toggle(at) {
  if (closed.has(at)) {
    closed.delete(at);
  } else {
    closed.add(at);
  }
  buildTree();
  showCount();
  focusRow(rows.get(at));
}

function focusRow(row) {
  if (!row) {
    return;
  }
  for (const other of row.parentElement.querySelectorAll('[tabindex="0"]')) {
    other.tabIndex = -1;
  }
  row.tabIndex = 0;
  row.focus();
}

function listKeys(event, list) {
  const row = event.target.closest("[data-node]");
  if (!row) {
    return false;
  }
  const at = Number(row.dataset.node);
  const to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling, Home: list.firstElementChild, End: list.lastElementChild }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    focusRow(to);
    return true;
  }
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    model.select(at, list.id);
    return true;
  }
  return false;
}

tree.addEventListener("keydown", (event) => {
  if (listKeys(event, tree)) {
    return;
  }
  const at = nodeOf(event);
  const row = rows.get(at);
  const isOpen = row?.getAttribute("aria-expanded");
  if (event.key === "ArrowRight" && isOpen) {
    event.preventDefault();
    if (isOpen === "false") {
      toggle(at);
    } else {
      focusRow(row.nextElementSibling);
    }
  } else if (event.key === "ArrowLeft" && row) {
    event.preventDefault();
    if (isOpen === "true") {
      toggle(at);
    } else {
      focusRow(rows.get(model.nodes[at].parent));
    }
  }
});
tree.addEventListener("click", (event) => {
  const at = nodeOf(event);
  if (at < 0) {
    return;
  }
  if (event.target.closest(".twist") && rows.get(at).hasAttribute("aria-expanded")) {
    toggle(at);
    return;
  }
  model.select(at, "tree");
  focusRow(rows.get(at));
});

// The outline

function buildOutline() {
  lines.clear();
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = model.outline.filter((one) => words.every((word) => one.line.toLowerCase().includes(word)));
  outline.replaceChildren(
    ...shown.map((one) => {
      const text = one.ref && one.line.startsWith(`${one.ref} `) ? one.line.slice(one.ref.length + 1) : one.line;
      const row = make(
        "li",
        {
          className: `outline-row${one.node === model.selected ? " selected" : ""}`,
          tabIndex: -1,
          data: { node: String(one.node) },
          attributes: { role: "option", "aria-selected": String(one.node === model.selected) },
        },
        make("span", { className: "ref", textContent: one.ref }),
        make("span", { className: "outline-text", textContent: text }),
      );
      row.style.paddingLeft = `${8 + Math.min(one.depth, 20) * 12}px`;
      lines.set(one.node, row);
      return row;
    }),
  );
  byId("notices").replaceChildren(...(model.state?.notices || []).map((notice) => make("li", { textContent: notice })));
  counts.outline = [shown.length, model.outline.length];
  keepOneTabStop(outline, lines);
}

outline.addEventListener("keydown", (event) => listKeys(event, outline));
outline.addEventListener("click", (event) => {
  const at = nodeOf(event);
  if (at >= 0) {
    model.select(at, "outline");
    focusRow(lines.get(at));
  }
});

// Highlights both ways

for (const list of [tree, outline]) {
  list.addEventListener("pointerover", (event) => model.hover(nodeOf(event)));
  list.addEventListener("pointerleave", () => model.hover(-1));
  list.addEventListener("focusin", (event) => model.hover(nodeOf(event)));
  list.addEventListener("focusout", () => model.hover(-1));
}

/** The row of a node, or of the nearest node around it that has one. */
function rowFor(map, at) {
  let found = at;
  while (found >= 0 && !map.has(found)) {
    found = model.nodes[found]?.parent ?? -1;
  }
  return map.get(found);
}

function markRows(className, at, doesScroll) {
  for (const [list, map] of [
    [tree, rows],
    [outline, lines],
  ]) {
    for (const row of list.querySelectorAll(`.${className}`)) {
      row.classList.remove(className);
      if (className === "selected") {
        row.setAttribute("aria-selected", "false");
      }
    }
    const row = at >= 0 ? rowFor(map, at) : null;
    if (row) {
      row.classList.add(className);
      if (className === "selected") {
        row.setAttribute("aria-selected", "true");
        keepOneTabStop(list, map);
      }
      if (doesScroll && !list.contains(document.activeElement) && !list.matches(":hover") && list.offsetParent) {
        row.scrollIntoView({ block: "nearest" });
      }
    }
  }
}

model.on("hover", (at) => markRows("hovered", at, true));
model.on("select", ({ node, source }) => {
  markRows("selected", node, source !== "tree" && source !== "outline");
  showDetails(node);
});
model.on("screen", () => {
  closed.clear();
  buildTree();
  buildOutline();
  showCount();
});
search.addEventListener("input", () => {
  buildTree();
  buildOutline();
  showCount();
});
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" && (tree.offsetParent ? tree : outline).firstElementChild) {
    event.preventDefault();
    focusRow((tree.offsetParent ? tree : outline).firstElementChild);
  }
});

// Details

const title = byId("details-title");
const body = byId("details-body");
const emptyBody = [...body.childNodes];
let asked = 0;

async function showDetails(at) {
  asked += 1;
  const number = asked;
  const node = model.nodes[at];
  byId("details").classList.toggle("empty", !node);
  if (!node) {
    title.textContent = "No element selected";
    body.replaceChildren(...emptyBody);
    return;
  }
  title.textContent = model.labelOf(at);
  let element;
  try {
    element = await get("/screen/element", { deviceId: model.serial, screenId: model.state.screenId, node: at });
  } catch (error) {
    if (number === asked) {
      body.replaceChildren(make("p", { className: "dim", textContent: error.message }));
    }
    return;
  }
  if (number === asked) {
    markTouch(at, element.touch);
    body.replaceChildren(buttons(element), selectors(element), attributes(element));
  }
}

function buttons(element) {
  const touch = make("button", { type: "button", textContent: "Tap", on: { click: () => touchAt(element.touch) } });
  const long = make("button", { type: "button", textContent: "Long press", on: { click: () => touchAt(element.touch, true) } });
  touch.disabled = long.disabled = !element.touch;
  const facts = [element.role, element.ref && `ref ${element.ref}`].filter(Boolean).join(" · ");
  const row = make("div", { className: "row wrap" }, touch, long, make("span", { className: "dim", textContent: facts }));
  return element.touch ? row : make("div", {}, row, make("p", { className: "dim", textContent: `Covered: ${element.covered}` }));
}

function selectors(element) {
  const list = make("ol", { className: "selectors" });
  element.selectors.forEach(({ selector, flags }, at) => {
    const json = JSON.stringify(selector);
    list.append(
      make(
        "li",
        {},
        code(flags),
        copyButton(flags, `selector ${at + 1} as flags`),
        make("button", {
          type: "button",
          className: "quiet small",
          textContent: "JSON",
          title: json,
          attributes: { "aria-label": `Copy selector ${at + 1} as JSON` },
          on: { click: (event) => copyText(json, event.target) },
        }),
      ),
    );
  });
  const heading = make("h4", { textContent: "Selectors, the most stable first" });
  const none = make("p", { className: "dim", textContent: "No selector names this element alone. Use its coordinates." });
  return make("div", {}, heading, element.selectors.length ? list : none);
}

function attributes(element) {
  const table = make("table", { className: "attributes" });
  table.append(make("caption", { className: "sr-only", textContent: "Attributes" }));
  const rowsOf = make("tbody");
  for (const [name, value] of Object.entries(element.attributes)) {
    if (value !== "" && !(value === "false" && name !== "enabled")) {
      rowsOf.append(make("tr", {}, make("th", { textContent: name, attributes: { scope: "row" } }), make("td", { textContent: value })));
    }
  }
  table.append(rowsOf);
  return make("div", {}, make("h4", { textContent: "Attributes" }), table);
}

makeTabs(byId("inspect-tabs"), showCount).choose(byId("tab-tree"));
