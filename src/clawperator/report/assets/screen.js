"use strict";

/*
 * Screens: reading their nodes, drawing them on a canvas, and comparing two of them.
 *
 * A node is eight numbers: kind, left, top, width, height, text, id and states, as report/screens.py writes them.
 */
const createScreens = (data) => {
  const FIELDS = 8;
  const STATE = {
    clickable: 1,
    checked: 2,
    focused: 4,
    selected: 8,
    disabled: 16,
    password: 32,
    scrollable: 64,
    described: 128,
  };
  const SIZES = [16, 14, 12, 10.5];
  // Ids of texts that explain another one.
  const SECOND = /summary|subtitle|secondary|caption|descr/i;
  const TOGGLES = new Set(["switch", "checkbox", "radio"]);
  // What is drawn for well known descriptions of icons, as lines in a square of 24.
  const GLYPHS = [
    [/^(navigate up|back|go back)$/i, "M19 12H5M11 6l-6 6 6 6"],
    [/search/i, "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5L20 20"],
    [/more options|^more$|overflow/i, "M12 5v.5M12 12v.5M12 19v.5"],
    [/menu|drawer/i, "M4 7h16M4 12h16M4 17h16"],
    [/close|dismiss|clear|cancel/i, "M6 6l12 12M18 6L6 18"],
    [/^(add|new|create)|compose/i, "M12 5v14M5 12h14"],
    [/account|profile|user|avatar/i, "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 20c1-4 4-6 8-6s7 2 8 6"],
    [/delete|remove|trash/i, "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13"],
    [/edit/i, "M5 19l1-4L16 5l3 3L9 18z"],
    [/share|send/i, "M4 12l16-7-5 15-3-6z"],
    [/^(play|pause)/i, "M8 5l11 7-11 7z"],
    [/settings|options/i, "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 3v3M12 18v3M3 12h3M18 12h3"],
    [/done|ok|check|save/i, "M5 13l4 4L19 7"],
  ];
  const caches = new Map();

  const text = (position) => data.texts[position] || "";

  const nodeAt = (position) => {
    const at = position * FIELDS;
    const [kind, left, top, width, height, label, id, states] = data.nodes.slice(at, at + FIELDS);
    return { kind: data.kinds[kind], left, top, width, height, label: text(label), id: text(id), states };
  };

  /** The nodes of a screen, in the order they are drawn. The last few screens are kept. */
  const nodesOf = (screen) => {
    let nodes = caches.get(screen);
    if (!nodes) {
      nodes = data.screens[screen][2].map(nodeAt);
      if (caches.size > 30) {
        caches.delete(caches.keys().next().value);
      }
      caches.set(screen, nodes);
    }
    return nodes;
  };

  const has = (node, state) => (node.states & STATE[state]) !== 0;

  const shorten = (label, most) => {
    const line = label.replace(/\s+/g, " ").trim();
    return line.length > most ? `${line.slice(0, most - 1)}…` : line;
  };

  /** One line about a node, for people. */
  const describe = (node) => {
    const words = [node.kind === "item" ? "button" : node.kind];
    if (node.label) {
      words.push(`“${shorten(node.label, 120)}”`);
    }
    if (node.id) {
      words.push(`id ${node.id}`);
    }
    if (TOGGLES.has(node.kind)) {
      words.push(has(node, "checked") ? "on" : "off");
    }
    for (const state of ["focused", "selected", "disabled"]) {
      if (has(node, state)) {
        words.push(state);
      }
    }
    return words.join(" · ");
  };

  /** The smallest node at a point of the display. */
  const hit = (screen, x, y) => {
    let best = null;
    for (const node of nodesOf(screen)) {
      const inside = x >= node.left && y >= node.top && x < node.left + node.width && y < node.top + node.height;
      if (inside && node.kind !== "window" && (!best || node.width * node.height <= best.width * best.height)) {
        best = node;
      }
    }
    return best;
  };

  // Drawing

  const round = (pen, x, y, width, height, radius) => {
    pen.beginPath();
    pen.roundRect(x, y, width, height, Math.max(0, Math.min(radius, width / 2, height / 2)));
  };

  const font = (size, weight) =>
    `${weight || 400} ${size}px system-ui, Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;

  /** A text as lines of at most a width, no more of them than fit; the last one is cut if needed. */
  const wrap = (pen, label, width, most) => {
    const lines = [];
    for (const paragraph of label.split("\n")) {
      let line = "";
      for (const word of paragraph.split(" ")) {
        const longer = line ? `${line} ${word}` : word;
        if (!line || pen.measureText(longer).width <= width) {
          line = longer;
        } else {
          lines.push(line);
          line = word;
        }
        if (lines.length >= most) {
          break;
        }
      }
      lines.push(line);
      if (lines.length >= most) {
        break;
      }
    }
    const kept = lines.slice(0, most);
    return {
      lines: kept,
      isCut: lines.length > most || kept.some((line) => pen.measureText(line).width > width * 1.02),
    };
  };

  const clip = (pen, line, width) => {
    if (pen.measureText(line).width <= width) {
      return line;
    }
    let from = 0;
    let to = line.length;
    while (from < to) {
      const middle = (from + to + 1) >> 1;
      if (pen.measureText(`${line.slice(0, middle)}…`).width <= width) {
        from = middle;
      } else {
        to = middle - 1;
      }
    }
    return from ? `${line.slice(0, from)}…` : "";
  };

  /** Write a text into a box, in the largest of a few sizes at which all of it fits. */
  const write = (pen, label, box, options) => {
    const { unit, align = "left", weight = 400, sizes = SIZES, middle = true } = options;
    const shown = label.length > 240 ? `${label.slice(0, 240)}…` : label;
    const width = Math.max(box.width, 1);
    let size = 0;
    let lines = [];
    for (const candidate of sizes) {
      size = Math.min(candidate * unit, Math.max(box.height * 0.86, 4));
      pen.font = font(size, weight);
      const most = Math.max(1, Math.floor((box.height * 1.04) / (size * 1.24)));
      const found = wrap(pen, shown, width, most);
      lines = found.lines;
      if (!found.isCut) {
        break;
      }
    }
    const step = size * 1.24;
    const total = step * lines.length;
    const x = align === "center" ? box.left + width / 2 : box.left;
    let y = box.top + (middle ? Math.max(0, (box.height - total) / 2) : 0) + step / 2;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    for (const line of lines) {
      pen.fillText(clip(pen, line, width), x, y);
      y += step;
    }
  };

  const drawGlyph = (pen, path, box, size, colour) => {
    pen.save();
    pen.translate(box.left + (box.width - size) / 2, box.top + (box.height - size) / 2);
    pen.scale(size / 24, size / 24);
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.lineCap = pen.lineJoin = "round";
    pen.stroke(new Path2D(path));
    pen.restore();
  };

  const painters = {
    window(pen, node, look) {
      const isWhole = node.width >= look.width && node.height >= look.height * 0.9;
      pen.fillStyle = look.colours.glass;
      if (isWhole) {
        pen.fillRect(node.left, node.top, node.width, node.height);
        return;
      }
      pen.fillStyle = look.colours.scrim;
      pen.fillRect(0, 0, look.width, look.height);
      pen.fillStyle = look.colours.glass;
      round(pen, node.left, node.top, node.width, node.height, 14 * look.unit);
      pen.fill();
    },
    group(pen, node, look) {
      pen.fillStyle = look.colours.rule;
      pen.fillRect(node.left, node.top + node.height - 1, node.width, Math.max(1, look.unit * 0.7));
    },
    list() {},
    text(pen, node, look) {
      const isSecond = SECOND.test(node.id);
      pen.fillStyle = isSecond ? look.colours.faint : look.colours.ink;
      write(pen, node.label, fromEdge(node, look), { unit: look.unit, sizes: isSecond ? [14, 12, 10.5] : SIZES });
    },
    title(pen, node, look) {
      pen.fillStyle = look.colours.ink;
      write(pen, node.label, fromEdge(node, look), { unit: look.unit, weight: 600, sizes: [20, 17, 14, 12] });
    },
    button(pen, node, look) {
      pen.fillStyle = look.colours.tonal;
      const deep = Math.min(node.height * 0.12, 4 * look.unit);
      round(pen, node.left, node.top + deep, node.width, node.height - 2 * deep, 20 * look.unit);
      pen.fill();
      pen.fillStyle = look.colours.tint;
      write(pen, node.label, inset(node, 8 * look.unit, deep), {
        unit: look.unit,
        align: "center",
        weight: 600,
        sizes: [14, 12, 10.5, 9],
      });
    },
    item(pen, node, look) {
      const { unit } = look;
      const ratio = node.width / node.height;
      if (node.height > 60 * unit && ratio > 0.5 && ratio < 1.8) {
        drawApp(pen, node, look);
        return;
      }
      const isRow = node.width > look.width * 0.6;
      if (isRow) {
        painters.group(pen, node, look);
      }
      pen.fillStyle = isRow ? look.colours.ink : look.colours.tint;
      const box = isRow ? inset(node, 10 * unit, 2 * unit) : inset(node, 4 * unit, 0);
      write(pen, node.label, box, { unit, align: isRow ? "left" : "center", weight: isRow ? 400 : 600 });
    },
    field(pen, node, look) {
      const { unit, colours } = look;
      const isFocused = has(node, "focused");
      round(pen, node.left + unit, node.top + unit, node.width - 2 * unit, node.height - 2 * unit, 6 * unit);
      pen.fillStyle = colours.fill;
      pen.fill();
      pen.lineWidth = (isFocused ? 2.2 : 1) * unit;
      pen.strokeStyle = isFocused ? colours.tint : colours.faint;
      pen.stroke();
      pen.fillStyle = colours.ink;
      write(pen, node.label, inset(node, 12 * unit, 3 * unit), { unit });
    },
    switch(pen, node, look) {
      const { unit, colours } = look;
      const isOn = has(node, "checked");
      const width = Math.min(44 * unit, node.width);
      const height = Math.min(24 * unit, node.height, width * 0.6);
      const x = node.left + node.width - width;
      const y = node.top + (node.height - height) / 2;
      round(pen, x, y, width, height, height / 2);
      pen.fillStyle = isOn ? colours.tint : colours.fill;
      pen.fill();
      pen.strokeStyle = isOn ? colours.tint : colours.faint;
      pen.lineWidth = 1.5 * unit;
      pen.stroke();
      pen.beginPath();
      const radius = height * (isOn ? 0.36 : 0.26);
      pen.arc(isOn ? x + width - height / 2 : x + height / 2, y + height / 2, radius, 0, Math.PI * 2);
      pen.fillStyle = isOn ? colours.glass : colours.faint;
      pen.fill();
      if (node.label) {
        pen.fillStyle = colours.ink;
        write(pen, node.label, { ...node, width: node.width - width - 8 * unit }, { unit });
      }
    },
    checkbox(pen, node, look) {
      drawChoice(pen, node, look, 3);
    },
    radio(pen, node, look) {
      drawChoice(pen, node, look, 20);
    },
    image(pen, node, look) {
      const { unit, colours } = look;
      round(pen, node.left, node.top, node.width, node.height, 6 * unit);
      pen.fillStyle = colours.fill;
      pen.fill();
      const size = Math.min(28 * unit, node.width * 0.6, node.height * 0.6);
      drawGlyph(pen, "M4 18l5-7 4 5 2-2.5 5 4.5M15.5 8.5v.2", node, size, colours.faint);
    },
    icon(pen, node, look) {
      const { unit, colours } = look;
      const glyph = GLYPHS.find(([name]) => name.test(node.label));
      const size = Math.min(24 * unit, node.width * 0.7, node.height * 0.7);
      if (glyph) {
        drawGlyph(pen, glyph[1], node, size, colours.ink);
        return;
      }
      pen.beginPath();
      pen.arc(node.left + node.width / 2, node.top + node.height / 2, Math.max(size * 0.56, 1), 0, Math.PI * 2);
      pen.fillStyle = colours.fill;
      pen.fill();
      pen.fillStyle = colours.faint;
      write(pen, initial(node.label) || "•", node, { unit, align: "center", sizes: [13], weight: 600 });
    },
    tab(pen, node, look) {
      const { unit, colours } = look;
      const isChosen = has(node, "selected");
      pen.fillStyle = isChosen ? colours.tint : colours.faint;
      if (isChosen) {
        round(pen, node.left + node.width * 0.3, node.top + 5 * unit, node.width * 0.4, 3 * unit, 2 * unit);
        pen.fill();
      }
      write(pen, node.label, inset(node, 2 * unit, 0), {
        unit,
        align: "center",
        weight: isChosen ? 600 : 400,
        sizes: [13, 12, 10.5, 9],
      });
    },
    slider(pen, node, look) {
      const { unit, colours } = look;
      const y = node.top + node.height / 2;
      const share = Math.min(1, Math.max(0, (parseFloat(node.label) || 50) / 100));
      pen.fillStyle = colours.fill;
      round(pen, node.left, y - 2 * unit, node.width, 4 * unit, 2 * unit);
      pen.fill();
      pen.fillStyle = colours.tint;
      round(pen, node.left, y - 2 * unit, node.width * share, 4 * unit, 2 * unit);
      pen.fill();
      pen.beginPath();
      pen.arc(node.left + node.width * share, y, 8 * unit, 0, Math.PI * 2);
      pen.fill();
    },
    progress(pen, node, look) {
      const { unit, colours } = look;
      pen.strokeStyle = colours.tint;
      pen.lineWidth = 3 * unit;
      pen.beginPath();
      if (node.width > node.height * 3) {
        pen.moveTo(node.left, node.top + node.height / 2);
        pen.lineTo(node.left + node.width * 0.6, node.top + node.height / 2);
      } else {
        const radius = Math.max(1, Math.min(node.width, node.height, 48 * unit) / 2 - 3 * unit);
        pen.arc(node.left + node.width / 2, node.top + node.height / 2, radius, -Math.PI / 2, Math.PI);
      }
      pen.stroke();
    },
    web(pen, node, look) {
      pen.fillStyle = look.colours.fill;
      pen.fillRect(node.left, node.top, node.width, node.height);
      pen.fillStyle = look.colours.faint;
      write(pen, node.label || "web page", node, { unit: look.unit, align: "center" });
    },
  };

  /** The box of a text, a little away from the edge of the display. */
  const fromEdge = (node, look) => {
    const missing = Math.min(12 * look.unit - node.left, node.width / 3);
    return missing > 0 ? { ...node, left: node.left + missing, width: node.width - missing } : node;
  };

  const inset = (node, x, y) => ({
    left: node.left + x,
    top: node.top + y,
    width: Math.max(1, node.width - 2 * x),
    height: Math.max(1, node.height - 2 * y),
  });

  const initial = (label) => (Array.from(label.trim())[0] || "").toUpperCase();

  /** A large square button with a label: the icon of an app, with its name below. */
  const drawApp = (pen, node, look) => {
    const { unit, colours } = look;
    const name = 30 * unit;
    const size = Math.min(node.width * 0.62, node.height - name - 6 * unit, 60 * unit);
    const top = node.top + Math.max(0, (node.height - size - name) / 2);
    const box = { left: node.left + (node.width - size) / 2, top, width: size, height: size };
    round(pen, box.left, box.top, size, size, size * 0.3);
    pen.fillStyle = colours.tonal;
    pen.fill();
    pen.fillStyle = colours.tint;
    write(pen, initial(node.label), box, { unit, align: "center", weight: 600, sizes: [22] });
    pen.fillStyle = colours.ink;
    const below = { left: node.left, top: top + size, width: node.width, height: name };
    write(pen, node.label, inset(below, 3 * unit, 0), { unit, align: "center", sizes: [12, 10.5, 9] });
  };

  const drawChoice = (pen, node, look, radius) => {
    const { unit, colours } = look;
    const isOn = has(node, "checked");
    const size = Math.min(18 * unit, node.width, node.height);
    const y = node.top + (node.height - size) / 2;
    const x = node.left + (node.label ? 2 * unit : (node.width - size) / 2);
    round(pen, x, y, size, size, radius * unit);
    pen.lineWidth = 1.8 * unit;
    pen.strokeStyle = isOn ? colours.tint : colours.faint;
    pen.stroke();
    if (isOn) {
      pen.fillStyle = colours.tint;
      round(pen, x + size * 0.25, y + size * 0.25, size * 0.5, size * 0.5, radius * unit * 0.6);
      pen.fill();
    }
    if (node.label) {
      pen.fillStyle = colours.ink;
      write(
        pen,
        node.label,
        { ...node, left: x + size + 10 * unit, width: node.width - size - 14 * unit },
        { unit },
      );
    }
  };

  /** Draw a screen at a scale. `picture` is an image to show instead; `mark` is what was touched. */
  const draw = (pen, screen, scale, options) => {
    const [width, height] = data.screens[screen];
    const { colours, mark, hover, picture, differences = [] } = options;
    const look = { width, height, colours, unit: Math.min(width, height) / 400 };
    pen.save();
    pen.scale(scale, scale);
    round(pen, 0, 0, width, height, 24 * look.unit);
    pen.clip();
    pen.fillStyle = colours.glass;
    pen.fillRect(0, 0, width, height);
    if (picture) {
      pen.drawImage(picture, 0, 0, width, height);
    } else {
      for (const node of nodesOf(screen)) {
        pen.globalAlpha = has(node, "disabled") && node.kind !== "window" ? 0.5 : 1;
        painters[node.kind](pen, node, look);
      }
      pen.globalAlpha = 1;
    }
    pen.restore();
    pen.save();
    pen.scale(scale, scale);
    if (hover) {
      pen.strokeStyle = colours.tint;
      pen.setLineDash([6 * look.unit, 4 * look.unit]);
      pen.lineWidth = 1.5 * look.unit;
      pen.strokeRect(hover.left, hover.top, hover.width, hover.height);
      pen.setLineDash([]);
    }
    for (const node of differences) {
      outline(pen, node, look);
    }
    if (mark) {
      drawMark(pen, mark, look);
    }
    pen.restore();
  };

  /** A node that differs between two screens. */
  const outline = (pen, node, look) => {
    const { unit, colours, width, height } = look;
    const edge = 3 * unit;
    const [x, y] = [Math.max(edge, node.left - edge), Math.max(edge, node.top - edge)];
    const right = Math.min(width - edge, node.left + node.width + edge);
    const bottom = Math.min(height - edge, node.top + node.height + edge);
    round(pen, x, y, Math.max(edge, right - x), Math.max(edge, bottom - y), 6 * unit);
    pen.fillStyle = colours.markBack;
    pen.fill();
    pen.strokeStyle = colours.bad;
    pen.lineWidth = 3 * unit;
    pen.stroke();
  };

  const drawMark = (pen, [left, top, right, bottom], look) => {
    const { unit, colours, width, height } = look;
    const x = Math.max(0, Math.min(left, width));
    const y = Math.max(0, Math.min(top, height));
    const across = Math.max(4 * unit, Math.min(right, width) - x);
    const down = Math.max(4 * unit, Math.min(bottom, height) - y);
    round(pen, x + unit, y + unit, across - 2 * unit, down - 2 * unit, 8 * unit);
    pen.fillStyle = colours.markBack;
    pen.fill();
    pen.strokeStyle = colours.mark;
    pen.lineWidth = 3 * unit;
    pen.stroke();
    pen.beginPath();
    pen.arc(x + across / 2, y + down / 2, 11 * unit, 0, Math.PI * 2);
    pen.globalAlpha = 0.35;
    pen.fillStyle = colours.mark;
    pen.fill();
    pen.globalAlpha = 1;
    pen.lineWidth = 1.5 * unit;
    pen.stroke();
  };

  // Comparing

  /** The label of a switch or a check box: its own, or the nearest text in its row. */
  const nameOf = (node, nodes) => {
    if (node.label) {
      return node.label;
    }
    const middle = node.top + node.height / 2;
    const beside = nodes.filter(
      (other) =>
        other.kind === "text" &&
        other.top <= middle + node.height &&
        other.top + other.height >= middle - node.height,
    );
    beside.sort((a, b) => Math.abs(a.top + a.height / 2 - middle) - Math.abs(b.top + b.height / 2 - middle));
    return beside.length ? beside[0].label : node.id || node.kind;
  };

  /**
   * What is on one screen and not on the other: texts added, removed and altered, switches turned.
   * `isOther` means that so few texts stayed that it is another screen.
   */
  const compare = (before, after) => {
    const old = nodesOf(before);
    const now = nodesOf(after);
    const left = old.filter((node) => node.label);
    const count = new Map();
    for (const node of left) {
      count.set(node.label, (count.get(node.label) || 0) + 1);
    }
    const taken = new Map();
    const added = [];
    let same = 0;
    for (const node of now) {
      if (!node.label) {
        continue;
      }
      if ((count.get(node.label) || 0) > 0) {
        count.set(node.label, count.get(node.label) - 1);
        taken.set(node.label, (taken.get(node.label) || 0) + 1);
        same += 1;
      } else {
        added.push(node);
      }
    }
    const removed = [];
    for (const node of left) {
      const kept = taken.get(node.label) || 0;
      if (kept > 0) {
        taken.set(node.label, kept - 1);
      } else {
        removed.push(node);
      }
    }
    const isOther = same < 0.34 * Math.max(left.length, same + added.length);
    const altered = isOther ? [] : pair(removed, added, uniqueIds(old), uniqueIds(now));
    for (const node of now) {
      if (TOGGLES.has(node.kind)) {
        const earlier = old.find((one) => one.kind === node.kind && isSamePlace(one, node));
        if (earlier && has(earlier, "checked") !== has(node, "checked")) {
          const state = (one) => (has(one, "checked") ? "on" : "off");
          const name = nameOf(node, now);
          altered.push({ from: `${name}: ${state(earlier)}`, to: state(node), name, old: earlier, now: node });
        }
      }
    }
    return { added, removed, altered, isOther: isOther && left.length > 2 };
  };

  const isSamePlace = (a, b) => a.id === b.id && a.left === b.left && a.top === b.top;

  /** The ids that one node of a screen has. Rows of a list share theirs. */
  const uniqueIds = (nodes) => {
    const times = new Map();
    for (const { id } of nodes) {
      times.set(id, (times.get(id) || 0) + 1);
    }
    return (id) => id !== "" && times.get(id) === 1;
  };

  /** Take texts that changed in place, or in a node with an id of its own, out of both lists. */
  const pair = (removed, added, isUniqueOld, isUniqueNow) => {
    const altered = [];
    for (let i = removed.length - 1; i >= 0; i -= 1) {
      const old = removed[i];
      const isOwn = isUniqueOld(old.id) && isUniqueNow(old.id);
      const at = added.findIndex(
        (node) => node.kind === old.kind && (isSamePlace(old, node) || (isOwn && node.id === old.id)),
      );
      if (at >= 0) {
        altered.unshift({ from: old.label, to: added[at].label, name: "", old, now: added[at] });
        removed.splice(i, 1);
        added.splice(at, 1);
      }
    }
    return altered;
  };

  return { nodesOf, describe, hit, draw, compare, shorten, text };
};
