"use strict";
// Draws what the report holds. Text of the program is only ever set as text, never as markup.
(() => {
  const { course, networks, findings, earlier } = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const finite = (value) => typeof value === "number";
  const redraws = [];

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function spoken(value, digits = 3) {
    if (value === null || value === undefined) return "not measured";
    if (!finite(value)) return value === "nan" ? "NaN" : value;
    if (value === 0) return "0";
    const size = Math.abs(value);
    return size >= 0.001 && size < 10000 ? String(+value.toPrecision(digits)) : value.toExponential(digits - 2).replace(/\.?0*e\+?/, "e");
  }

  function bytes(value, digits = 3) {
    const units = ["bytes", "KiB", "MiB", "GiB"];
    let at = 0;
    while (Math.abs(value) >= 1024 && at < 3) { value /= 1024; at += 1; }
    return `${+value.toPrecision(at ? digits + 1 : digits + 3)} ${units[at]}`;
  }

  // ---------------------------------------------------------------------------------------------------- light and dark

  const toggle = document.getElementById("theme");
  function themed() {
    toggle.textContent = isDark() ? "Light" : "Dark";
    toggle.setAttribute("aria-label", isDark() ? "use light colours" : "use dark colours");
    redraws.forEach((redraw) => redraw());
  }
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; themed(); });
  dark.addEventListener("change", themed);

  // ------------------------------------------------------------------------------------------------------------- code

  document.querySelectorAll(".code").forEach((code) => {
    const mark = code.querySelector("mark.primary") ?? code.querySelector("mark");
    const over = mark ? mark.getBoundingClientRect().right - code.getBoundingClientRect().right + 16 : 0;
    const room = mark ? mark.getBoundingClientRect().left - code.getBoundingClientRect().left - 72 : 0;
    if (over > 0) code.scrollLeft = Math.max(0, Math.min(over, room));
  });

  // ----------------------------------------------------------------------------------------------------------- curves

  // A curve has the colour of its network; others, and further ones of a network, have one that no network has.
  function colours(told) {
    const taken = new Set();
    const own = told.map(({ network, before }) => {
      if (before) return undefined;
      const at = networks.indexOf(network);
      if (at < 0 || taken.has(at)) return null;
      taken.add(at);
      return at;
    });
    const free = [...Array(8).keys()].filter((at) => !taken.has(at)).sort((one, other) => (one < networks.length) - (other < networks.length));
    const mine = own.map((at) => (at === undefined ? color("soft") : color(`line-${at ?? free.shift() ?? 0}`)));
    return told.map(({ name, before }, row) => (before ? mine[told.findIndex((each) => !each.before && each.name === name)] ?? mine[row] : mine[row]));
  }
  const sync = uPlot.sync("steps");

  // Marks of an axis with equal steps are written in one way, as the largest of them asks for.
  function alike(values) {
    const largest = Math.max(...values.map(Math.abs)), at = Math.floor(Math.log10(largest) / 3);
    if (largest >= 0.001 && largest < 10000) return (value, digits) => String(+value.toPrecision(digits));
    return largest >= 10000 && largest < 1e15 ? (value, digits) => `${+(value / 1000 ** at).toPrecision(digits)}${value ? ["k", "M", "G", "T"][at - 1] : ""}` : spoken;
  }

  // What marks are called: with as many digits as tell them apart, and no more.
  function called(axis, places, { floor, say }) {
    for (let digits = 3; ; digits += 1) {
      const names = places.map((place) => (place === axis.floor ? floor : axis.isPower(place) && Math.abs(place) > 3 ? `1e${place}` : say(axis.value(place), digits)));
      if (digits > 7 || new Set(names).size === names.length) return names;
    }
  }

  function plot(figure) {
    const quantity = figure.dataset.quantity;
    const box = figure.querySelector(".canvas");
    const now = course.series.filter((each) => each.quantity === quantity);
    const told = [...now, ...earlier.filter((each) => each.quantity === quantity).map((each) => ({ ...each, before: true }))];
    const say = quantity === "memory" ? bytes : spoken;
    const numbers = told.flatMap((each) => each.values.filter(finite));
    const bad = told.flatMap((each, row) => each.values.flatMap((value, at) => (finite(value) ? [] : [[each.steps[at], row]])));
    const low = Math.min(...numbers), high = Math.max(...numbers);
    const canBeLog = high > 0 && quantity !== "memory";
    let log = canBeLog && low >= 0 && high > 100 * Math.min(...numbers.filter((each) => each > 0)) && quantity !== "learning rate";
    const note = element("p", "note", `${low < 0 ? "Zero and less have" : "Zero has"} no place on a logarithmic axis: ${low < 0 ? "they stand" : "it stands"} on its floor.`);
    box.after(note);
    let shown, axisOf;

    if (canBeLog) {
      const button = element("button", "", "");
      button.type = "button";
      const name = () => { button.textContent = log ? "log" : "linear"; button.setAttribute("aria-label", `scale of the axis: ${log ? "logarithmic" : "linear"}`); };
      button.addEventListener("click", () => { log = !log; name(); draw(); });
      name();
      figure.querySelector("figcaption").append(button);
    }

    function marks(u) {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.lineWidth = devicePixelRatio;
      findings.forEach((finding) => {
        if (!finding.step) return;
        const x = u.valToPos(finding.step, "x", true);
        if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) return;
        ctx.strokeStyle = color(finding.severity);
        ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
        ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
      });
      if (log && axisOf.floor !== null) {
        const y = u.valToPos(axisOf.floor, "y", true);
        ctx.strokeStyle = color("soft");
        ctx.setLineDash([devicePixelRatio, 3 * devicePixelRatio]);
        if (y <= bbox.top + bbox.height) { ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke(); }
      }
      ctx.setLineDash([]);
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.strokeStyle = color("error");
      const arm = 4 * devicePixelRatio, y = bbox.top + 2 * arm;
      bad.forEach(([step]) => {
        const x = u.valToPos(step, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) return;
        ctx.beginPath(); ctx.moveTo(x - arm, y - arm); ctx.lineTo(x + arm, y + arm); ctx.moveTo(x - arm, y + arm); ctx.lineTo(x + arm, y - arm); ctx.stroke();
      });
      ctx.restore();
    }

    function draw() {
      shown?.destroy();
      const axis = { stroke: color("soft"), grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line"), width: 1 }, font: "12px system-ui, sans-serif" };
      const strokes = colours(told);
      const few = told.every((each) => each.steps.length <= 60);
      axisOf = log ? Axis.logarithmic(numbers) : Axis.linear(numbers, quantity === "memory" ? 1024 : 10);
      note.hidden = !log || axisOf.floor === null;
      const wording = (places) => ({ floor: low < 0 ? "≤ 0" : "0", say: log || quantity === "memory" ? say : alike(places.map(axisOf.value)) });
      const values = uPlot.join(told.map((each) => [each.steps, each.values.map((value) => (finite(value) ? value : null))]));
      const data = values.map((row, at) => (at ? row.map((value) => (finite(value) ? axisOf.place(value) : null)) : row));
      const lasts = Math.max(course.steps, ...findings.map((finding) => finding.step), ...told.flatMap((each) => each.steps), 2);
      shown = new uPlot({
        width: box.clientWidth, height: 210, cursor: { sync: { key: sync.key, scales: ["x", null] }, focus: { prox: 24 } },
        focus: { alpha: 0.35 }, legend: { live: true },
        scales: { x: { time: false, range: (u, from, to) => (from === to ? [from - 1, to + 1] : [from, to]), min: 1, max: lasts }, y: { range: (u, from, to) => (finite(from) ? axisOf.range(from, to) : [0, 1]) } },
        axes: [
          { ...axis, size: 30, values: (u, splits) => splits.map((at) => (Number.isInteger(at) ? at.toLocaleString("en") : "")) },
          { ...axis, size: (u, names) => 20 + 7 * Math.max(6, ...(names ?? []).map((name) => name.length)), splits: (u, at, from, to) => axisOf.marks(from, to), values: (u, places) => (numbers.length ? called(axisOf, places, wording(places)) : places.map(() => "")) },
        ],
        series: [
          { label: "step", value: (u, at) => at ?? "last" },
          ...told.map((each, row) => ({
            label: each.before ? `before: ${each.name}` : each.name, stroke: strokes[row], width: 1.75, spanGaps: true, ...(each.before ? { dash: [6, 5], alpha: 0.7 } : {}),
            points: { show: few && !each.before, size: 4 }, value: (u, place, series, at) => (finite(place) ? say(values[series][at]) : finite(at) ? "–" : finite(each.values.at(-1)) ? say(each.values.at(-1)) : spoken(each.values.at(-1))),
          })),
        ],
        hooks: { draw: [marks] },
      }, data, box);
      shown.root.querySelectorAll(".u-label").forEach((label, row) => { if (told[row - 1]?.place) label.append(element("span", "at", told[row - 1].place)); });
    }
    draw();
    redraws.push(draw);
    new ResizeObserver(() => { if (shown.width !== box.clientWidth && box.clientWidth) shown.setSize({ width: box.clientWidth, height: 210 }); }).observe(box);
  }
  document.querySelectorAll(".plot").forEach(plot);

  // ---------------------------------------------------------------------------------------------------- gradient flow

  // Cividis, which looks the same to those who do not tell red from green; zero and what is not finite lie outside it.
  const SCALE = [[0, 32, 77], [29, 56, 108], [61, 78, 107], [87, 98, 108], [112, 118, 113], [140, 138, 119], [168, 160, 117], [200, 183, 104], [232, 208, 83], [255, 234, 70]];
  const SPOILED = "#e0301e", ZERO = ["#000000", "#ffffff"];
  const PAPER = () => (isDark() ? "#1a2029" : "#ffffff");

  function shade(part) {
    const at = Math.max(0, Math.min(1, part)) * (SCALE.length - 1), low = Math.floor(at), high = Math.min(low + 1, SCALE.length - 1);
    return `rgb(${SCALE[low].map((channel, k) => Math.round(channel + (SCALE[high][k] - channel) * (at - low)))})`;
  }

  function cell(ctx, x, y, width, height, value, scale) {
    if (value === null) return;
    if (!finite(value)) {
      ctx.fillStyle = SPOILED; ctx.fillRect(x, y, width, height);
      ctx.strokeStyle = "#ffffff"; ctx.lineWidth = 1.5;
      const arm = Math.min(width, height) / 4, cx = x + width / 2, cy = y + height / 2;
      if (arm >= 1.5) { ctx.beginPath(); ctx.moveTo(cx - arm, cy - arm); ctx.lineTo(cx + arm, cy + arm); ctx.moveTo(cx - arm, cy + arm); ctx.lineTo(cx + arm, cy - arm); ctx.stroke(); }
    } else if (value === 0) {
      ctx.fillStyle = ZERO[0]; ctx.fillRect(x, y, width, height);
      ctx.save(); ctx.beginPath(); ctx.rect(x, y, width, height); ctx.clip();
      ctx.strokeStyle = ZERO[1]; ctx.lineWidth = 1; ctx.beginPath();
      for (let at = Math.floor((x - height) / 6) * 6; at < x + width; at += 6) { ctx.moveTo(at, y + height); ctx.lineTo(at + height, y); }
      ctx.stroke(); ctx.restore();
    } else {
      ctx.fillStyle = shade(scale(value)); ctx.fillRect(x, y, width, height);
    }
  }

  function crisp(canvas, width, height) {
    canvas.width = Math.round(width * devicePixelRatio); canvas.height = Math.round(height * devicePixelRatio);
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext("2d");
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.fillStyle = PAPER(); ctx.fillRect(0, 0, width, height);
    return ctx;
  }

  function flow(grid) {
    const { steps, rows } = course.flow;
    const positive = rows.flatMap((row) => row.norms.filter((value) => finite(value) && value > 0)).map(Math.log10);
    let low = Math.floor(Math.min(...positive, 0)), high = Math.ceil(Math.max(...positive, low + 1));
    if (positive.length) { high = Math.ceil(Math.max(...positive) + 0.3); low = Math.min(Math.max(Math.floor(Math.min(...positive) - 0.3), high - 40), high - 2); }
    const below = positive.some((value) => value < low) ? "≤ " : "";
    const scale = (value) => (Math.log10(value) - low) / (high - low);
    const height = rows.length <= 40 ? 19 : rows.length <= 80 ? 14 : 10;
    const names = element("div", "names"), words = element("div", "words"), canvas = element("canvas");
    const tip = document.getElementById("flow-tip");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");

    const said = rows.map((row) => {
      const measured = row.norms.filter((value) => value !== null);
      if (!measured.length) return ["no gradient", true];
      if (measured.some((value) => !finite(value))) return ["not finite", true];
      if (measured.length > 2 && measured.slice(-3).every((value) => value === 0)) return ["zero", true];
      return [`${spoken(measured[0])} → ${spoken(measured.at(-1))}`, false];
    });
    const most = innerWidth < 640 ? 13 : 40;
    rows.forEach((row, at) => {
      const parts = row.name.split(".");
      while (parts.length > 1 && parts.join(".").length > most) parts.shift();
      const name = element("span", "", parts.join(".") === row.name ? row.name : `…${parts.join(".")}`);
      name.title = row.parameters > 1 ? `${row.name}: ${row.parameters} parameters` : row.name;
      const own = networks.indexOf(row.network);
      if (own >= 0) name.classList.add(`network-${own}`);
      const word = element("span", said[at][1] ? "odd" : "range", said[at][0]);
      for (const each of [name, word]) { each.style.height = each.style.lineHeight = `${height}px`; each.style.fontSize = `${Math.min(12, height - 1.5)}px`; }
      names.append(name); words.append(word);
    });
    const odd = rows.map((row, at) => [row.name, ...said[at]]).filter((each) => each[2]).map((each) => `${each[0]}: ${each[1]}`);
    canvas.setAttribute("aria-label", `Gradient norms of ${rows.length} rows over ${steps.length} steps, from 1e${low} to 1e${high}. ${odd.length ? `Out of the ordinary: ${odd.slice(0, 10).join("; ")}` : "None is zero, missing or not finite."}`);

    const middle = element("div", ""), ticks = element("div", "steps");
    middle.append(canvas);
    ticks.append(...[steps[0], steps[Math.floor(steps.length / 2)], steps.at(-1)].filter((step, at, all) => all.indexOf(step) === at).map((step, at) => element("span", "", at ? String(step) : `step ${step}`)));
    grid.append(names, middle, words, ticks);

    let at = null;
    const size = () => [middle.clientWidth / steps.length, height];
    function draw() {
      const ctx = crisp(canvas, middle.clientWidth, rows.length * height), [width] = size(), gap = width > 5 ? 1 : 0;
      rows.forEach((row, y) => row.norms.forEach((value, x) => cell(ctx, x * width, y * height, width - gap, height - 1, value, scale)));
      if (at) { ctx.strokeStyle = isDark() ? "#ffffff" : "#d40078"; ctx.lineWidth = 2; ctx.strokeRect(at[0] * width, at[1] * height, Math.max(width - gap, 2), height - 1); }
      key();
    }
    function show(x, y) {
      at = [Math.max(0, Math.min(steps.length - 1, x)), Math.max(0, Math.min(rows.length - 1, y))];
      tip.textContent = `${rows[at[1]].name}, step ${steps[at[0]]}: ${spoken(rows[at[1]].norms[at[0]])}`;
      draw();
    }
    canvas.addEventListener("pointermove", (event) => { const box = canvas.getBoundingClientRect(), [width] = size(); show(Math.floor((event.clientX - box.left) / width), Math.floor((event.clientY - box.top) / height)); });
    canvas.addEventListener("pointerleave", () => { at = null; tip.textContent = ""; draw(); });
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      show(...(at ? [at[0] + move[0], at[1] + move[1]] : [0, 0]));
    });

    function key() {
      const box = document.getElementById("flow-key");
      const swatch = (value, text) => {
        const entry = element("span", "entry"), sample = element("canvas");
        sample.style.width = "18px";
        cell(crisp(sample, 18, 12), 0, 0, 18, 12, value, scale);
        entry.append(sample, element("span", "", text));
        return entry;
      };
      const ramp = element("canvas"), entry = element("span", "entry");
      ramp.style.width = "140px";
      const ctx = crisp(ramp, 140, 12);
      for (let x = 0; x < 140; x += 1) { ctx.fillStyle = shade(x / 139); ctx.fillRect(x, 0, 1, 12); }
      entry.append(element("span", "", `${below}1e${low}`), ramp, element("span", "", `1e${high}`));
      box.replaceChildren(entry, swatch(0, "zero"), swatch("nan", "NaN or Inf"), element("span", "entry", "blank: none measured"));
    }
    draw();
    redraws.push(draw);
    new ResizeObserver(draw).observe(middle);
  }
  const grid = document.getElementById("flow-grid");
  if (grid) flow(grid);

  // ---------------------------------------------------------------------------------------------------------- modules

  const lines = [...document.querySelectorAll(".tree tbody tr")];
  const depths = lines.map((line) => Number(line.dataset.depth));
  const folds = lines.map(() => false);
  function fold() {
    let hidden = Infinity;
    lines.forEach((line, at) => {
      line.hidden = depths[at] > hidden;
      if (!line.hidden) hidden = folds[at] ? depths[at] : Infinity;
    });
  }
  lines.forEach((line, at) => {
    if (!(depths[at + 1] > depths[at])) return;
    const button = element("button");
    button.type = "button";
    const say = () => { button.textContent = folds[at] ? "▸" : "▾"; button.setAttribute("aria-expanded", String(!folds[at])); };
    button.setAttribute("aria-label", `parts of ${line.querySelector(".path").title}`);
    button.addEventListener("click", () => { folds[at] = !folds[at]; say(); fold(); });
    folds[at] = lines.length > 60 && depths[at] >= 2;
    say();
    line.querySelector(".indent").append(button);
    line.dataset.folds = "";
    line.unfold = () => { folds[at] = false; say(); };
  });
  fold();

  // --------------------------------------------------------------------------------------------------------- timeline

  function drawn(tag, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function timeline(box) {
    const { lanes, light } = course.timeline;
    const last = Math.max(course.steps, 2, ...findings.map((finding) => finding.step), ...lanes.flatMap((lane) => lane.spans.map((span) => span[1])));
    function draw() {
      const width = box.clientWidth, left = width < 500 ? 74 : 96, room = width - left - 14, row = 24;
      const steps = findings.filter((finding) => finding.step).map((finding) => finding.step);
      const places = [];
      const x = (step) => left + (room * (step - 1)) / last;
      const stacked = findings.map((finding, at) => {
        if (!finding.step) return null;
        const center = x(finding.step) + room / last / 2;
        let level = 0;
        while (places.some((place) => place.level === level && Math.abs(place.center - center) < 22)) level += 1;
        places.push({ level, center });
        return { at, center, level };
      }).filter(Boolean);
      const levels = steps.length ? Math.max(...places.map((place) => place.level)) + 1 : 0;
      const top = levels * 24 + 6, height = top + lanes.length * row + 24;
      const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height });
      lanes.forEach((lane, at) => {
        const y = top + at * row;
        svg.append(drawn("text", { x: left - 10, y: y + 15, "text-anchor": "end" }, lane.name));
        svg.append(drawn("line", { class: "rule", x1: left, x2: left + room, y1: y + row - 1, y2: y + row - 1 }));
        if (["backward", "step", "forward"].includes(lane.name)) light.forEach(([from, to]) => svg.append(drawn("rect", { class: "as-before", x: x(from), y: y + 6, width: Math.max(1, x(to + 1) - x(from)), height: 12 })));
        lane.spans.forEach(([from, to]) => {
          const span = drawn("rect", { class: `span ${lane.name === "evaluation" ? "evaluation" : ""}`, x: x(from), y: y + 4, width: Math.max(2, x(to + 1) - x(from) - 0.5), height: 16, rx: 2 });
          span.append(drawn("title", {}, from === to ? `${lane.name}: step ${from}` : `${lane.name}: steps ${from} to ${to}`));
          svg.append(span);
        });
      });
      [1, Math.round(last / 2), last].filter((step, at, all) => all.indexOf(step) === at).forEach((step, at, all) => {
        const anchor = at === 0 ? "start" : at === all.length - 1 ? "end" : "middle";
        svg.append(drawn("text", { x: at === all.length - 1 ? left + room : x(step), y: height - 6, "text-anchor": anchor }, at ? step.toLocaleString("en") : `step ${step}`));
      });
      stacked.forEach(({ at, center, level }) => {
        const finding = findings[at], y = 13 + level * 24;
        const link = drawn("a", { href: `#finding-${at + 1}`, class: finding.severity, "aria-label": `${finding.code} ${finding.name}, first in step ${finding.step}` });
        link.append(drawn("line", { x1: center, x2: center, y1: y, y2: height - 24 }), drawn("circle", { cx: center, cy: y, r: 10 }), drawn("text", { x: center, y: y + 4, "text-anchor": "middle" }, String(at + 1)), drawn("title", {}, `${finding.code} ${finding.name}, first in step ${finding.step}`));
        svg.append(link);
      });
      box.replaceChildren(svg);
    }
    draw();
    new ResizeObserver(draw).observe(box);
  }
  const box = document.getElementById("lanes");
  if (box) timeline(box);

  // ------------------------------------------------------------------------------------------------------------ paper

  const plots = document.querySelectorAll(".plot .canvas");
  let before = null;
  addEventListener("beforeprint", () => {
    before = [root.dataset.theme, [...document.querySelectorAll("details:not([open])")]];
    before[1].forEach((each) => { each.open = true; });
    lines.forEach((line) => line.unfold?.());
    fold();
    root.dataset.theme = "light";
    plots.forEach((each) => { each.style.maxWidth = "640px"; });
    themed();
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    before[1].forEach((each) => { each.open = false; });
    if (before[0]) root.dataset.theme = before[0]; else delete root.dataset.theme;
    before = null;
    plots.forEach((each) => { each.style.maxWidth = ""; });
    themed();
  });
  themed();
  root.dataset.drawn = "";
})();
