"use strict";

/* The page: a list of rows of which only the visible ones exist, the screen of the chosen row, and its details. */
(() => {
  // The fields of a row, in their order.
  const [, TITLE, NOTE, TIME, PACKAGE, TONE, STATUS, , , , FACTS] = Array(12).keys();
  const ROW_HEIGHT = 50;
  const SPARE_ROWS = 6;
  const MOST_CHANGES = 40;
  const MOST_OF_OTHER = 12;
  const MOST_NODES = 200;
  const MOST_PRINTED = 400;
  const SIGNS = { altered: "~", added: "+", removed: "−" };
  const WINDOWS = new Set(["open_app", "screen", "dialog", "window_change", "result"]);
  // Lines in a square of 24.
  const ICONS = {
    click: "M9 11V5.5a1.7 1.7 0 0 1 3.4 0V11l4.6 1.2c1.5.4 2 1.3 2 2.8 0 2-1 4-2 6h-7c-2-2-4-4-5-7l1.5-1L9 15z",
    text: "M4 7h16v10H4zM7 10v4M10 14h7",
    scroll: "M12 4v16M8 8l4-4 4 4M8 16l4 4 4-4",
    back: "M19 12H5M11 6l-6 6 6 6",
    home: "M4 11l8-7 8 7M6 10v10h12V10",
    recents: "M7 7h10v10H7zM4 4h10",
    window: "M4 5h16v14H4zM4 9h16",
    app: "M5 5h5v5H5zM14 5h5v5h-5zM5 14h5v5H5zM14 14h5v5h-5z",
    wait: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 8v4l3 2",
    look: "M3 12c3-5 6-7 9-7s6 2 9 7c-3 5-6 7-9 7s-6-2-9-7M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6",
    point: "M5 13l4 4L19 7",
    cross: "M6 6l12 12M18 6L6 18",
    file: "M6 3h8l4 4v14H6zM14 3v4h4",
    run: "M8 5l11 7-11 7z",
  };
  const ICON_OF = {
    click: "click",
    choose_suggestion: "click",
    scroll_and_click: "click",
    enter_text: "text",
    text_change: "text",
    submit_text: "text",
    scroll: "scroll",
    scroll_until: "scroll",
    swipe: "scroll",
    drag: "scroll",
    back: "back",
    press: "back",
    press_key: "back",
    home: "home",
    recents: "recents",
    screen: "window",
    dialog: "window",
    window_change: "window",
    open_app: "app",
    open_uri: "app",
    close_app: "app",
    start_activity: "app",
    wait_for_node: "wait",
    wait_for_navigation: "wait",
    wait: "wait",
    sleep: "wait",
    snapshot_ui: "look",
    take_screenshot: "look",
    read_text: "look",
    read_key_value_pair: "look",
    checkpoint: "point",
    verification: "point",
    failure: "cross",
    file: "file",
    output: "file",
    result: "file",
  };

  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const screens = createScreens(data);
  const { text } = screens;
  const list = find("list");
  const views = [
    { name: "before", figure: find("first"), canvas: find("screen"), found: null },
    { name: "after", figure: find("second"), canvas: find("observed"), found: null },
  ];
  const search = find("search");
  const spacer = document.createElement("div");

  const state = {
    list: 0, // the position of the list that is shown
    shown: [], // the positions of its rows that match the search
    at: -1, // the chosen one among those
    view: "before", // or "after", or "both" side by side
    useDrawing: false,
    hover: null,
    hovered: null, // the view with the pointer
  };
  const rows = new Map(); // the elements of visible rows, by their position among those shown
  const unused = [];
  const images = new Map();
  const packages = new Map(); // of each list, the package before each row
  let waiting = false; // the chosen row is shown in the next frame, however many keys come before it

  const element = (tag, name, content) => {
    const made = document.createElement(tag);
    if (name) {
      made.className = name;
    }
    if (content !== undefined) {
      made.textContent = content;
    }
    return made;
  };

  const svg = () => {
    const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    icon.setAttribute("viewBox", "0 0 24 24");
    icon.setAttribute("aria-hidden", "true");
    icon.setAttribute("class", "icon");
    icon.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
    return icon;
  };

  const iconOf = (kind, tone) => {
    if (ICON_OF[kind] === "point" && tone === "bad") {
      return ICONS.cross;
    }
    return ICONS[ICON_OF[kind]] || (kind.startsWith("wait") ? ICONS.wait : ICONS.run);
  };

  const clock = (milliseconds) => {
    const sign = milliseconds < 0 ? "−" : "";
    const whole = Math.abs(milliseconds) / 1000;
    const minutes = Math.floor(whole / 60);
    const seconds = (whole - minutes * 60).toFixed(1).padStart(4, "0");
    return `${sign}${minutes}:${seconds}`;
  };

  /** A row by its position in a list. */
  const rowAt = (listAt, position) => {
    const [kind, title, note, time, pack, tone, status, before, after, mark, facts, link, compares] =
      data.lists[listAt].rows[position];
    return {
      kind: text(kind),
      title: text(title),
      note: text(note),
      time,
      package: text(pack),
      tone: data.tones[tone],
      status: text(status),
      before,
      after,
      mark,
      facts,
      link: link === undefined ? -1 : link,
      compares: Boolean(compares),
    };
  };

  /** The package of the rows before a row. */
  const packageBefore = (listAt, position) => {
    let known = packages.get(listAt);
    if (!known) {
      let last = 0;
      known = data.lists[listAt].rows.map((row) => {
        const before = last;
        last = row[PACKAGE] || last;
        return before;
      });
      packages.set(listAt, known);
    }
    return text(known[position]);
  };

  // The list

  /** An empty row. Rows that are scrolled away are filled again: scrolling creates nothing. */
  const createRow = () => {
    const line = element("div", "row");
    line.setAttribute("role", "option");
    const icon = svg();
    const words = element("div", "words");
    const end = element("div", "end");
    const parts = { icon, path: icon.firstChild };
    for (const [name, parent] of [
      ["title", words],
      ["meta", words],
      ["time", end],
      ["chip", end],
    ]) {
      parts[name] = element("span", name);
      parts[name].dir = "auto";
      parent.append(parts[name]);
    }
    parts.to = element("span", "to", " ");
    parts.note = element("span", "note", " ");
    parts.meta.append(parts.to, parts.note);
    line.append(icon, words, end);
    return { line, parts };
  };

  const write = (part, content) => {
    part.hidden = !content;
    part.textContent = content;
  };

  const fill = ({ line, parts }, position) => {
    const index = state.shown[position];
    const row = rowAt(state.list, index);
    const isNew = row.package && row.package !== packageBefore(state.list, index);
    parts.path.setAttribute("d", iconOf(row.kind, row.tone));
    parts.icon.setAttribute("data-tone", row.tone);
    write(parts.title, screens.shorten(row.title, 160));
    parts.meta.hidden = !isNew && !row.note;
    write(parts.to, isNew ? `${index ? "→ " : ""}${row.package}${row.note ? " · " : ""}` : "");
    write(parts.note, row.note);
    write(parts.time, row.time === null ? "" : clock(row.time));
    write(parts.chip, row.status);
    parts.chip.dataset.tone = row.tone;
    line.id = `row-${position}`;
    line.setAttribute("aria-posinset", position + 1);
    line.setAttribute("aria-setsize", state.shown.length);
    line.setAttribute("aria-selected", position === state.at);
    line.style.transform = `translateY(${position * ROW_HEIGHT}px)`;
    line.dataset.position = position;
  };

  const renderList = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
    const last = Math.min(
      state.shown.length,
      Math.ceil((list.scrollTop + list.clientHeight) / ROW_HEIGHT) + SPARE_ROWS,
    );
    renderRange(first, last);
  };

  const renderRange = (first, last) => {
    for (const [position, row] of rows) {
      if (position < first || position >= last) {
        rows.delete(position);
        unused.push(row);
      }
    }
    // From the last one, each before the next: the document has the rows in their order, too.
    let next = null;
    for (let position = last - 1; position >= first; position -= 1) {
      let row = rows.get(position);
      if (!row) {
        row = unused.pop() || createRow();
        fill(row, position);
        rows.set(position, row);
        list.insertBefore(row.line, next);
      }
      next = row.line;
    }
    for (const row of unused.splice(0)) {
      row.line.remove();
    }
    if (rows.has(state.at)) {
      list.setAttribute("aria-activedescendant", `row-${state.at}`);
    } else {
      list.removeAttribute("aria-activedescendant");
    }
  };

  const resetList = () => {
    unused.push(...rows.values());
    rows.clear();
    spacer.style.height = `${state.shown.length * ROW_HEIGHT}px`;
    const all = data.lists.length ? data.lists[state.list].rows.length : 0;
    const count = state.shown.length;
    find("count").textContent =
      count === all
        ? `${all.toLocaleString("en")}`
        : `${count.toLocaleString("en")} of ${all.toLocaleString("en")}`;
  };

  const searchText = (listAt, position) => {
    const row = data.lists[listAt].rows[position];
    const facts = row[FACTS];
    let all = [TITLE, NOTE, PACKAGE, STATUS].map((field) => text(row[field])).join("\n");
    for (let i = 1; i < facts.length; i += 2) {
      all += `\n${text(facts[i])}`;
    }
    return all.toLowerCase();
  };

  /** Show the rows that match the search, and keep the chosen one if it is among them. */
  const applySearch = () => {
    const wanted = search.value.trim().toLowerCase();
    const chosen = state.shown[state.at];
    const count = data.lists[state.list].rows.length;
    state.shown = [];
    for (let position = 0; position < count; position += 1) {
      if (!wanted || searchText(state.list, position).includes(wanted)) {
        state.shown.push(position);
      }
    }
    const kept = state.shown.indexOf(chosen);
    state.at = -1;
    resetList();
    choose(kept >= 0 ? kept : 0);
  };

  const scrollTo = (position) => {
    const top = position * ROW_HEIGHT;
    if (top < list.scrollTop) {
      list.scrollTop = top;
    } else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) {
      list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
    }
  };

  const choose = (position) => {
    const to = Math.max(0, Math.min(position, state.shown.length - 1));
    rows.get(state.at)?.line.setAttribute("aria-selected", "false");
    state.at = state.shown.length ? to : -1;
    if (state.at >= 0) {
      scrollTo(to);
    }
    renderList();
    rows.get(state.at)?.line.setAttribute("aria-selected", "true");
    if (!waiting) {
      waiting = true;
      window.requestAnimationFrame(() => {
        waiting = false;
        showRow();
        drawStrip();
      });
    }
  };

  const openList = (listAt, position) => {
    state.list = listAt;
    state.at = -1;
    search.value = "";
    find("tabs").childNodes.forEach((tab, i) => {
      tab.setAttribute("aria-selected", i === listAt);
      tab.tabIndex = i === listAt ? 0 : -1;
    });
    list.setAttribute("aria-label", data.lists[listAt].name);
    state.shown = Array.from(data.lists[listAt].rows.keys());
    list.scrollTop = 0;
    resetList();
    if (position > 3) {
      list.scrollTop = (position - 3) * ROW_HEIGHT;
    }
    choose(position);
  };

  // The chosen row

  const showRow = () => {
    const isEmpty = state.at < 0;
    const row = isEmpty ? null : rowAt(state.list, state.shown[state.at]);
    state.hover = null;
    find("heading").textContent = row ? row.title : "Nothing matches";
    find("heading").dir = "auto";
    find("position").textContent = row
      ? `${data.lists[state.list].name} · ${(state.shown[state.at] + 1).toLocaleString("en")} of ${data.lists[state.list].rows.length.toLocaleString("en")}`
      : "";
    const status = find("status");
    status.hidden = !row || !row.status;
    status.textContent = row ? row.status : "";
    status.dataset.tone = row ? row.tone : "";
    const next = data.lists[state.list + 1];
    const link = find("link");
    link.hidden = !row || row.link < 0 || !next;
    link.textContent = next ? `Show in ${next.name}` : "";
    showFacts(row);
    if (row) {
      const prefersAfter = WINDOWS.has(row.kind) && row.after >= 0 && !row.mark;
      state.view = row.compares ? "both" : prefersAfter || row.before < 0 ? "after" : "before";
      remember();
    }
    showScreen();
    showChanges(row);
  };

  const showFacts = (row) => {
    const values = find("values");
    values.replaceChildren();
    if (!row) {
      return;
    }
    const add = (name, value) => {
      const isWide = value.length > 300 || name === "stdout" || name === "stderr" || value.startsWith("{\n");
      const described = element("dt", isWide ? "wide" : "", name);
      const shown = element("dd", isWide ? "wide" : name === "Text entered" ? "typed" : "", value);
      shown.dir = "auto";
      values.append(described, shown);
    };
    if (row.time !== null) {
      add("Time", clock(row.time));
    }
    const earlier = packageBefore(state.list, state.shown[state.at]);
    if (row.package && earlier && earlier !== row.package) {
      add("Package change", `${earlier} → ${row.package}`);
    }
    for (let i = 0; i < row.facts.length; i += 2) {
      add(text(row.facts[i]), text(row.facts[i + 1]));
    }
  };

  const showChanges = (row) => {
    const box = find("changed");
    const lines = find("changes");
    lines.replaceChildren();
    box.hidden = !row || row.before < 0 || row.after < 0;
    if (box.hidden) {
      return;
    }
    const changes = screens.compare(row.before, row.after);
    const count = changes.added.length + changes.removed.length + changes.altered.length;
    const { isOther } = changes;
    find("changed-title").textContent = row.compares ? "What differs" : "What changed";
    const none = row.compares ? "The texts of both screens are the same." : "No text changed on the screen.";
    find("extent").textContent = count ? (isOther ? "Another screen:" : "") : none;
    const short = screens.shorten;
    const words = row.compares
      ? {
          altered: ({ from, to }) => ["", `expected '${short(from, 160)}', found '${short(to, 160)}'`],
          added: (node) => ["", `found, not expected: '${short(node.label, 200)}'`],
          removed: (node) => ["", `expected, not found: '${short(node.label, 200)}'`],
        }
      : {
          altered: ({ from, to }) => ["changed: ", `${short(from, 160)} → ${short(to, 160)}`],
          added: (node) => ["added: ", short(node.label, 200)],
          removed: (node) => ["removed: ", short(node.label, 200)],
        };
    const order = row.compares ? ["altered", "removed", "added"] : ["altered", "added", "removed"];
    const all = order.flatMap((name) => changes[name].map((one) => [name, SIGNS[name], ...words[name](one)]));
    const most = isOther ? MOST_OF_OTHER : MOST_CHANGES;
    for (const [name, sign, spoken, what] of all.slice(0, most)) {
      const line = element("li", name);
      const mark = element("span", "sign", sign);
      mark.setAttribute("aria-hidden", "true");
      const words = element("span", "what");
      words.append(element("span", "unseen", spoken), what);
      words.dir = "auto";
      line.append(mark, words);
      lines.append(line);
    }
    if (all.length > most) {
      lines.append(element("li", "more", `and ${all.length - most} more`));
    }
  };

  // The screen

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = [
      "glass",
      "ink",
      "faint",
      "rule",
      "tonal",
      "tint",
      "fill",
      "scrim",
      "mark",
      "bezel",
      "line",
      "accent",
      "dim",
      "good",
      "bad",
      "warn",
    ];
    return { ...Object.fromEntries(names.map((name) => [name, value(name)])), markBack: value("mark-back") };
  };
  let palette = colours();

  const CAPTIONS = { before: "Before", after: "After" };
  const COMPARED = { before: "Recorded", after: "Observed" };

  const showScreen = () => {
    const row = state.at < 0 ? null : rowAt(state.list, state.shown[state.at]);
    const screenOf = { before: row ? row.before : -1, after: row ? row.after : -1 };
    const captions = row?.compares ? COMPARED : CAPTIONS;
    for (const name of ["before", "after"]) {
      const button = find(name);
      button.textContent = captions[name];
      button.disabled = screenOf[name] < 0;
      button.setAttribute("aria-pressed", (state.view === name || state.view === "both") && screenOf[name] >= 0);
    }
    const shown = state.view === "both" ? ["before", "after"] : [state.view];
    const changes = row?.compares ? screens.compare(row.before, row.after) : null;
    let picture = -1;
    views.forEach((view, at) => {
      const name = shown[at];
      const screen = name ? screenOf[name] : -1;
      view.name = name || "";
      view.figure.hidden = screen < 0;
      const caption = view.figure.querySelector("figcaption");
      caption.hidden = !row?.compares;
      caption.textContent = name ? captions[name] : "";
      view.found = null;
      if (screen >= 0) {
        const own = data.screens[screen][3];
        picture = own === undefined ? picture : Math.max(picture, own);
        view.found = {
          screen,
          mark: name === "before" || row.before < 0 ? row.mark : null,
          picture: own === undefined ? -1 : own,
          differences: changes ? differencesOn(name, changes) : [],
        };
      }
    });
    const hasScreen = views.some((view) => view.found);
    find("empty").hidden = hasScreen;
    find("caption").textContent = "";
    const source = find("source");
    source.hidden = picture < 0;
    source.setAttribute("aria-pressed", state.useDrawing);
    find("frame").classList.toggle("both", state.view === "both");
    showElements();
    fitScreens();
  };

  /** The nodes of one of two screens that the other does not have, or has with another text. */
  const differencesOn = (name, { altered, added, removed }) =>
    (name === "before" ? [...altered.map((one) => one.old), ...removed] : [...altered.map((one) => one.now), ...added])
      .slice(0, MOST_CHANGES);

  const fitScreens = () => {
    const shown = views.filter((view) => view.found);
    const frame = find("frame").getBoundingClientRect();
    const caption = state.view === "both" ? 24 : 0;
    for (const view of shown) {
      const [width, height] = data.screens[view.found.screen];
      const room = (frame.width - 16 * (shown.length - 1)) / shown.length;
      const scale = Math.max(0.02, Math.min((room - 4) / width, (frame.height - caption - 4) / height, 1));
      const ratio = Math.min(window.devicePixelRatio || 1, 3);
      const { canvas } = view;
      view.found.scale = scale;
      const [across, down] = [Math.round(width * scale * ratio), Math.round(height * scale * ratio)];
      if (canvas.width !== across || canvas.height !== down) {
        canvas.style.width = `${Math.round(width * scale)}px`;
        canvas.style.height = `${Math.round(height * scale)}px`;
        canvas.width = across;
        canvas.height = down;
      }
      paint(view);
      const labels = screens.nodesOf(view.found.screen).filter((node) => node.label);
      const first = labels.slice(0, 25).map((node) => screens.shorten(node.label, 60));
      const more = labels.length > first.length ? ` and ${labels.length - first.length} more` : "";
      const what = state.view === "both" || find("before").textContent === COMPARED.before
        ? `${COMPARED[view.name]} screen`
        : `Screen ${view.name} this step`;
      canvas.setAttribute("aria-label", `${what}: ${first.join(", ") || "no labels"}${more}`);
    }
  };

  const imageOf = (picture) => {
    let image = images.get(picture);
    if (!image) {
      image = new Image();
      image.addEventListener("load", paintAll);
      image.src = `data:image/png;base64,${data.pictures[picture]}`;
      images.set(picture, image);
    }
    return image.complete && image.naturalWidth ? image : null;
  };

  const paintAll = () => views.forEach(paint);

  const paint = (view) => {
    const { canvas, found } = view;
    if (!found) {
      return;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const scale = canvas.width / data.screens[found.screen][0];
    const picture = found.picture >= 0 && !state.useDrawing ? imageOf(found.picture) : null;
    const hover = state.hovered === view ? state.hover : null;
    const { mark, differences } = found;
    screens.draw(pen, found.screen, scale, { colours: palette, mark, hover, picture, differences });
    const [width, height] = [canvas.width, canvas.height];
    pen.strokeStyle = palette.bezel;
    pen.lineWidth = Math.max(1.5, width / 260);
    pen.beginPath();
    pen.roundRect(
      pen.lineWidth / 2,
      pen.lineWidth / 2,
      width - pen.lineWidth,
      height - pen.lineWidth,
      (Math.min(width, height) * 24) / 400,
    );
    pen.stroke();
  };

  /** The elements as a list, for keyboards and screen readers. It is filled when it is opened. */
  const showElements = () => {
    const box = find("elements");
    const nodes = find("nodes");
    const { found } = views[1].found ? views[1] : views[0]; // of two, the observed one
    box.hidden = !found;
    nodes.replaceChildren();
    if (!found || !box.open) {
      return;
    }
    const all = screens.nodesOf(found.screen).filter((node) => node.kind !== "window" && (node.label || node.id));
    for (const node of all.slice(0, MOST_NODES)) {
      nodes.append(element("li", "", screens.describe(node)));
    }
    if (all.length > MOST_NODES) {
      nodes.append(element("li", "", `and ${all.length - MOST_NODES} more`));
    }
  };

  // The strip: all rows over time

  const strip = find("strip");
  const stripScale = () => {
    const all = data.lists.length ? data.lists[state.list].rows : [];
    const times = all.map((row) => row[TIME]);
    const known = times.filter((time) => time !== null);
    const isTimed = known.length > 1 && known.length === times.length;
    const first = isTimed ? known.reduce((a, b) => Math.min(a, b)) : 0;
    const last = isTimed ? known.reduce((a, b) => Math.max(a, b)) : Math.max(1, all.length - 1);
    const span = Math.max(last - first, 1e-9);
    return { all, first, last, isTimed, place: (i) => ((isTimed ? times[i] : i) - first) / span };
  };
  let scaleOf = { list: -1, value: null };

  const currentScale = () => {
    if (scaleOf.list !== state.list || !scaleOf.value) {
      scaleOf = { list: state.list, value: stripScale() };
    }
    return scaleOf.value;
  };

  let ticks = { key: "", canvas: null };

  /** All rows as ticks, drawn once for a list and a size. */
  const drawTicks = (scale, width, height, ratio) => {
    const drawn = document.createElement("canvas");
    drawn.width = Math.round(width * ratio);
    drawn.height = Math.round(height * ratio);
    const pen = drawn.getContext("2d");
    pen.scale(ratio, ratio);
    const inner = width - 24;
    pen.fillStyle = palette.line;
    pen.fillRect(12, height / 2 - 1, inner, 2);
    const toneAt = new Map(); // one tick for each pixel is enough
    for (let i = 0; i < scale.all.length; i += 1) {
      const x = Math.round(12 + scale.place(i) * inner);
      const tone = data.tones[scale.all[i][TONE]];
      if (!toneAt.get(x) || tone === "bad") {
        toneAt.set(x, tone);
      }
    }
    const colourOf = { good: palette.good, bad: palette.bad, warn: palette.warn };
    for (const [x, tone] of toneAt) {
      pen.fillStyle = colourOf[tone] || palette.tint;
      pen.fillRect(x - 1, height / 2 - 6, 2, 12);
    }
    return drawn;
  };

  const drawStrip = () => {
    const scale = currentScale();
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    const width = strip.clientWidth;
    const height = strip.clientHeight;
    if (!width || !height) {
      return;
    }
    if (strip.width !== Math.round(width * ratio)) {
      strip.width = Math.round(width * ratio);
      strip.height = Math.round(height * ratio);
    }
    const key = `${state.list} ${strip.width} ${strip.height} ${palette.tint}`;
    if (ticks.key !== key) {
      ticks = { key, canvas: drawTicks(scale, width, height, ratio) };
    }
    const pen = strip.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, strip.width, strip.height);
    pen.drawImage(ticks.canvas, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const inner = width - 24;
    if (state.at >= 0) {
      const x = 12 + scale.place(state.shown[state.at]) * inner;
      pen.fillStyle = palette.mark;
      pen.beginPath();
      pen.roundRect(x - 3, 5, 6, height - 10, 3);
      pen.fill();
    }
  };

  strip.addEventListener("click", (event) => {
    const scale = currentScale();
    const wanted = (event.offsetX - 12) / Math.max(strip.clientWidth - 24, 1);
    let best = 0;
    for (let i = 0; i < state.shown.length; i += 1) {
      if (Math.abs(scale.place(state.shown[i]) - wanted) < Math.abs(scale.place(state.shown[best]) - wanted)) {
        best = i;
      }
    }
    choose(best);
  });

  // Keys, touches and the address

  const move = (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / ROW_HEIGHT) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) {
      choose(state.at + steps[event.key]);
    } else if (event.key === "Home") {
      choose(0);
    } else if (event.key === "End") {
      choose(state.shown.length - 1);
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  };

  /** Show one of the screens; of two that are side by side, also both again. */
  const view = (name) => {
    if (!find(name).disabled) {
      const isCompared = find("before").textContent === COMPARED.before;
      state.view = isCompared && state.view === name ? "both" : name;
      showScreen();
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !data.lists.length) {
      return;
    }
    if (event.target === search) {
      if (event.key === "Escape" && search.value) {
        search.value = "";
        applySearch();
        event.preventDefault();
      } else if (event.key === "ArrowDown" || event.key === "Enter") {
        list.focus();
        event.preventDefault();
      }
      return;
    }
    const isList = event.target === list;
    if ((isList || event.key === "j" || event.key === "k") && move(event)) {
      return;
    }
    if (event.key === "/") {
      search.focus();
      event.preventDefault();
    } else if (event.key === "b" || event.key === "a") {
      view(event.key === "b" ? "before" : "after");
    }
  });

  list.addEventListener("scroll", renderList, { passive: true });
  list.addEventListener("click", (event) => {
    const line = event.target.closest(".row");
    if (line) {
      choose(Number(line.dataset.position));
    }
  });
  search.addEventListener("input", applySearch);
  find("before").addEventListener("click", () => view("before"));
  find("after").addEventListener("click", () => view("after"));
  find("source").addEventListener("click", () => {
    state.useDrawing = !state.useDrawing;
    showScreen();
  });
  find("elements").addEventListener("toggle", showElements);
  find("link").addEventListener("click", () => {
    const row = rowAt(state.list, state.shown[state.at]);
    openList(state.list + 1, row.link);
    list.focus();
  });
  for (const one of views) {
    one.canvas.addEventListener("mousemove", (event) => {
      const { found } = one;
      if (!found) {
        return;
      }
      const hover = screens.hit(found.screen, event.offsetX / found.scale, event.offsetY / found.scale);
      if (hover !== state.hover || state.hovered !== one) {
        state.hover = hover;
        state.hovered = one;
        find("caption").textContent = hover ? screens.describe(hover) : "";
        paintAll();
      }
    });
    one.canvas.addEventListener("mouseleave", () => {
      state.hover = null;
      find("caption").textContent = "";
      paintAll();
    });
  }
  find("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      openList((state.list + step + data.lists.length) % data.lists.length, 0);
      find("tabs").childNodes[state.list].focus();
    }
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    palette = colours();
    paintAll();
    drawStrip();
  });
  window.addEventListener("beforeprint", () => {
    renderRange(0, Math.min(state.shown.length, MOST_PRINTED));
    list.style.height = "auto";
  });
  window.addEventListener("afterprint", () => {
    list.style.height = "";
    renderList();
  });
  new ResizeObserver(() => {
    renderList();
    fitScreens();
    drawStrip();
  }).observe(find("frame"));
  new ResizeObserver(renderList).observe(list);

  /** Keep the chosen row in the address, so that a link leads to it. */
  const remember = () => {
    const address = `#${state.list}/${state.shown[state.at]}`;
    if (window.location.hash !== address) {
      try {
        window.history.replaceState(null, "", address);
      } catch {
        // Some browsers allow this for files only a few times.
      }
    }
  };

  const fromAddress = () => {
    const [, listAt, position] = /^#(\d{1,3})\/(\d{1,7})$/.exec(window.location.hash) || [];
    const rowsOf = data.lists[Number(listAt)];
    return rowsOf && Number(position) < rowsOf.rows.length ? [Number(listAt), Number(position)] : null;
  };
  window.addEventListener("hashchange", () => {
    const wanted = fromAddress();
    if (wanted) {
      openList(...wanted);
    }
  });

  // The head

  const showHead = () => {
    find("kind").textContent = data.kind;
    find("title").textContent = data.title;
    find("title").dir = "auto";
    find("product").textContent = `Written by ${data.product}. This file loads nothing from anywhere.`;
    for (const [name, value] of data.facts) {
      const pair = element("div");
      pair.append(element("dt", "", name), element("dd", "", value));
      find("facts").append(pair);
    }
    const { verdict } = data;
    if (verdict) {
      find("verdict").hidden = false;
      find("outcome").textContent = verdict.word;
      find("outcome").dataset.tone = verdict.tone;
      find("summary").textContent = verdict.text;
      find("reasons").hidden = !verdict.lines.length;
      find("reasons").append(...verdict.lines.map((line) => element("p", "", line)));
    }
    find("warnings").hidden = !data.warnings.length;
    find("warnings").append(...data.warnings.map((line) => element("li", "", `⚠ ${line}`)));
    data.lists.forEach((one, i) => {
      const tab = element("button", "", `${one.name} `);
      tab.append(element("span", "number", one.rows.length.toLocaleString("en")));
      tab.type = "button";
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", "list");
      tab.addEventListener("click", () => openList(i, 0));
      find("tabs").append(tab);
    });
  };

  spacer.className = "spacer";
  spacer.setAttribute("aria-hidden", "true");
  list.append(spacer);
  showHead();
  document.querySelector("main").classList.toggle("plain", data.screens.length === 0);
  if (data.lists.length) {
    const wanted = fromAddress() || (data.lists[data.selected[0]] ? data.selected : [0, 0]);
    openList(...wanted);
  } else {
    find("count").textContent = "0";
    find("heading").textContent = "Nothing to show";
    showScreen();
  }
  window.requestAnimationFrame(() => {
    document.documentElement.dataset.ready = "true";
  });
})();
