// The charts. Each takes its block and a width, and gives an SVG; each also gives its rows.

function canvas(wide, high) {
  return draw("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img" });
}

function drawLines(block, wide) {
  const entries = block.panels.flatMap((panel) => panel.series);
  const legend = legendOf(entries, wide);
  const each = wide < 500 ? 128 : 150;
  const gap = 40;
  const top = legend.height + 22;
  const high = top + block.panels.length * (each + gap) - gap + 40;
  const svg = canvas(wide, high);
  svg.append(legend.group);
  const scales = block.panels.map((panel, n) => {
    const values = panel.series.flatMap((series) => series.points.map((point) => point[1]));
    const from = top + n * (each + gap) + each;
    const grounded = panel.y.log || panel.y.format === "number" ? values : [0, ...values];
    return scaleOf(panel.y, grounded, from, from - each, wide < 500 ? 3 : 4);
  });
  const left = Math.max(...block.panels.map((panel, n) => gutter(scales[n])));
  const xs = entries.flatMap((series) => series.points.map((point) => point[0]));
  const right = wide - 14;
  const x = scaleOf(block.x, xs, left + 6, right, Math.max(2, Math.floor((right - left) / 90)));
  block.panels.forEach((panel, n) => {
    const y = scales[n];
    const [above, below] = [y.at(y.high), y.at(y.low)];
    const group = draw("g", { class: "panel" });
    verticalAxis(group, panel.y, y, left, right, above - 2);
    const isLast = n === block.panels.length - 1;
    horizontalAxis(group, isLast ? x : { ...x, ticks: [] }, above, below, wide);
    panel.series.forEach((series, order) => group.append(seriesOf(series, order, x, y, block.marks)));
    pointerOver(group, block, panel, x, y, left, right);
    svg.append(group);
  });
  svg.append(label(withUnit(block.x), right, high - 4, "end", "axis"));
  return svg;
}

// The first is drawn thickest, so that lines that lie upon each other are all seen.
function seriesOf(series, order, x, y, marks) {
  const group = draw("g", {});
  const known = series.points.filter((point) => point[1] !== null);
  if (marks !== "point") {
    let pen = "M";
    const path = series.points.map(([at, value]) => {
      if (value === null) { pen = "M"; return ""; }
      const step = `${pen}${x.at(at).toFixed(1)},${y.at(value).toFixed(1)}`;
      pen = "L";
      return step;
    }).join("");
    if (path) group.append(draw("path", { d: path, class: `line ${seriesClass(series.colour)}`, "stroke-width": Math.max(1.3, 3.3 - order * 0.9) }));
  }
  const gap = Math.abs(x.at(x.high) - x.at(x.low)) / Math.max(1, series.points.length);
  if (marks === "point" || (marks === "both" && gap > 9) || known.length === 1) {
    for (const [at, value] of known) group.append(mark(series.colour, x.at(at), y.at(value), marks === "point" ? 3.5 : Math.max(2, 4.2 - order * 0.8)));
  }
  return group;
}

// A line at the nearest place, and what every series has there.
function pointerOver(group, block, panel, x, y, left, right) {
  const [above, below] = [y.at(y.high), y.at(y.low)];
  const hair = draw("line", { y1: above, y2: below, class: "hair", "data-use": "pointer", visibility: "hidden" });
  const cover = draw("rect", { x: left, y: above, width: right - left, height: below - above, class: "cover", "data-use": "pointer" });
  const points = panel.series.flatMap((series) => series.points.map((point, n) => ({ series, n, at: x.at(point[0]), point })));
  if (!points.length) return;
  cover.addEventListener("pointermove", (event) => {
    const box = cover.getBoundingClientRect();
    const here = left + ((event.clientX - box.left) / box.width) * (right - left);
    const high = above + ((event.clientY - box.top) / box.height) * (below - above);
    const far = (each) => Math.abs(each.at - here)
      + (block.marks === "point" ? Math.abs((each.point[1] === null ? 1e9 : y.at(each.point[1])) - high) : 0);
    const nearest = points.reduce((best, each) => (far(each) < far(best) ? each : best));
    fill(hair, { x1: nearest.at, x2: nearest.at, visibility: "visible" }, []);
    const same = points.filter((each) => each.point[0] === nearest.point[0] && (block.marks !== "point" || each === nearest));
    const lines = same.map(({ series, n, point }) => {
      const name = series.names.length ? `${series.names[n]}, ${series.name}` : series.name;
      return `${name}: ${point[1] === null ? "none" : `${formatted(point[1], panel.y.format)} ${panel.y.unit}`}`;
    });
    showTip([`${block.x.label} ${formatted(nearest.point[0], block.x.format)} ${block.x.unit}`, ...lines], event.clientX, event.clientY);
  });
  cover.addEventListener("pointerleave", () => { hair.setAttribute("visibility", "hidden"); hideTip(); });
  group.append(hair, cover);
}

function drawDots(block, wide) {
  const strips = block.panels.flatMap((panel) => panel.strips);
  const legend = legendOf(strips, wide);
  const names = Math.min(wide * 0.34, Math.max(...block.rows.map((row) => width(row)), 20)) + 10;
  const many = block.rows.length > 40;
  const bar = block.bars ? 9 : 0;
  const row = block.bars ? Math.max(20, Math.max(1, block.panels[0].strips.length) * bar + 8) : many ? 14 : 20;
  const stacked = block.panels.length === 1 || (wide - names) / block.panels.length < 220;
  const across = stacked ? 1 : block.panels.length;
  const each = (wide - names - 14) / across;
  const tall = block.rows.length * row;
  const top = legend.height + 20;
  const deep = tall + 64;
  const inner = stacked ? 16 : 40;
  const high = top + deep * (stacked ? block.panels.length : 1) - 24;
  const svg = canvas(wide, high);
  svg.append(legend.group);
  const values = [...(block.x.log ? [] : [0]), ...strips.flatMap((strip) => strip.values)];
  block.panels.forEach((panel, n) => {
    const left = names + (stacked ? 0 : n * each);
    const above = top + (stacked ? n * deep : 0);
    const x = scaleOf(block.x, values, left, left + each - inner, Math.max(2, Math.floor(each / 80)));
    const group = draw("g", {});
    if (panel.label) group.append(label(shortened(panel.label, each - inner), left, above - 8, "start", "axis"));
    horizontalAxis(group, x, above, above + tall, left + each);
    block.rows.forEach((name, place) => {
      const y = above + place * row + row / 2;
      if (stacked || n === 0) group.append(label(shortened(name, names - 10), names - 8, y + 4, "end", "tick"));
      group.append(draw("line", { x1: left, x2: left + each - inner, y1: y, y2: y, class: "rule" }));
      panel.strips.forEach((strip, order) => group.append(dotOf(block, strip, name, place, x, y, bar, order, panel)));
    });
    group.append(label(withUnit(block.x), left + each - inner, above + tall + 33, "end", "axis"));
    svg.append(group);
  });
  return svg;
}

function dotOf(block, strip, name, place, x, y, bar, order, panel) {
  const value = strip.values[place];
  if (value === null || value === undefined) return null;
  const at = x.at(value);
  const height = bar - 1;
  const start = y - (panel.strips.length * bar) / 2 + order * bar;
  const made = block.bars
    ? draw("rect", { x: x.at(0), y: start, width: Math.max(1, at - x.at(0)), height, class: `bar ${seriesClass(strip.colour)}` })
    : mark(strip.colour, at, y, 4);
  return withTip(made, () => [`${name}, ${strip.name}`, `${formatted(value, block.x.format)} ${block.x.unit}`]);
}

function drawBoxplot(block, wide) {
  const legend = legendOf(block.panels.flatMap((panel) => panel.series), wide);
  const hasNames = block.groups.some((name) => name);
  const across = !hasNames && wide >= 560 ? block.panels.length : 1;
  const each = 150;
  const gap = 40;
  const top = legend.height + 22;
  const rows = Math.ceil(block.panels.length / across);
  const svg = canvas(wide, top + rows * (each + gap) - gap + (hasNames ? 28 : 12));
  svg.append(legend.group);
  const share = wide / across;
  block.panels.forEach((panel, n) => {
    const boxes = panel.series.flatMap((series) => series.boxes).filter(Boolean);
    const from = top + Math.floor(n / across) * (each + gap) + each;
    const y = scaleOf(panel.y, [...(panel.y.log ? [] : [0]), ...boxes.flatMap((box) => [box.low, box.high])], from, from - each, 4);
    const start = (n % across) * share;
    const group = draw("g", { transform: `translate(${start},0)` });
    const left = gutter(y);
    const right = share - 14;
    verticalAxis(group, panel.y, y, left, right, from - each - 2);
    const slot = (right - left) / block.groups.length;
    const thick = Math.min(26, (slot * 0.8) / panel.series.length);
    panel.series.forEach((series, order) => series.boxes.forEach((box, place) => {
      const middle = left + slot * (place + 0.5) + (order - (panel.series.length - 1) / 2) * thick * 1.15;
      if (box) group.append(boxOf(box, series, panel.y, block.groups[place], y, middle, thick));
    }));
    if (hasNames && n === block.panels.length - 1) block.groups.forEach((name, place) => {
      if (slot > width(name) + 4 || place % Math.ceil((width(name) + 6) / slot) === 0) group.append(label(name, left + slot * (place + 0.5), from + 17, "middle", "tick"));
    });
    svg.append(group);
  });
  return svg;
}

function boxOf(box, series, axis, name, y, middle, thick) {
  const half = thick * 0.42;
  const line = (x1, x2, y1, y2) => draw("line", { x1, x2, y1, y2, class: `line ${seriesClass(series.colour)}`, "stroke-width": 1.4 });
  const [low, lower, median, upper, high] = [box.low, box.lower, box.median, box.upper, box.high].map(y.at);
  const group = draw("g", {},
    line(middle, middle, low, lower), line(middle, middle, upper, high),
    line(middle - half / 2, middle + half / 2, low, low), line(middle - half / 2, middle + half / 2, high, high),
    draw("rect", { x: middle - half, width: half * 2, y: upper, height: Math.max(1, lower - upper), class: `box ${seriesClass(series.colour)}` }),
    draw("line", { x1: middle - half, x2: middle + half, y1: median, y2: median, class: `median ${seriesClass(series.colour)}` }));
  const said = (value) => `${formatted(value, axis.format)} ${axis.unit}`;
  return withTip(group, () => [[series.name, name].filter(Boolean).join(", "), `median ${said(box.median)}`,
    `quartiles ${said(box.lower)} to ${said(box.upper)}`, `range ${said(box.low)} to ${said(box.high)}, ${box.count} values`]);
}

function drawSpans(block, wide) {
  const legend = legendOf([{ name: "as expected", colour: null }, ...block.spans], wide);
  const names = Math.max(...block.spans.map((span) => width(span.label))) + 12;
  const row = 20;
  const top = legend.height + 10;
  const tall = block.spans.length * row;
  const svg = canvas(wide, top + tall + 40);
  svg.append(legend.group);
  const right = wide - 14;
  const x = scaleOf(block.x, block.spans.flatMap((span) => [...span.expected, ...span.used]), names, right, Math.max(2, Math.floor((right - names) / 90)));
  horizontalAxis(svg, x, top, top + tall, wide);
  block.spans.forEach((span, place) => {
    const y = top + place * row + 3;
    const bar = ([from, to], at, name) => draw("rect", { x: x.at(from), width: Math.max(1, x.at(to) - x.at(from)), y: at, height: 6, class: `bar ${name}` });
    const said = ([from, to]) => `[${formatted(from, "number")}, ${formatted(to, "number")}) s`;
    svg.append(label(span.label, names - 8, y + 11, "end", "tick"));
    svg.append(withTip(draw("g", {}, bar(span.expected, y, "series-none"), bar(span.used, y + 7, seriesClass(span.colour))),
      () => [`${span.name}`, `expected ${said(span.expected)}`, `used ${said(span.used)}`]));
  });
  svg.append(label(withUnit(block.x), right, top + tall + 34, "end", "axis"));
  return svg;
}

const CHARTS = {
  lines: {
    draw: drawLines,
    rows: (block) => [["measure", "unit", "series", "name", withUnit(block.x), "value"], ...block.panels.flatMap((panel) =>
      panel.series.flatMap((series) => series.points.map(([x, y], n) => [panel.y.label, panel.y.unit, series.name, series.names[n] || "", x, y])))],
  },
  dots: {
    draw: drawDots,
    rows: (block) => [["panel", "name", "series", withUnit(block.x)], ...block.panels.flatMap((panel) => block.rows.flatMap((name, n) =>
      panel.strips.filter((strip) => strip.values[n] !== null).map((strip) => [panel.label, name, strip.name, strip.values[n]])))],
  },
  boxplot: {
    draw: drawBoxplot,
    rows: (block) => [["measure", "unit", "group", "series", "min", "lower quartile", "median", "upper quartile", "max", "values"],
      ...block.panels.flatMap((panel) => panel.series.flatMap((series) => series.boxes.flatMap((box, n) => (box
        ? [[panel.y.label, panel.y.unit, block.groups[n], series.name, box.low, box.lower, box.median, box.upper, box.high, box.count]] : []))))],
  },
  spans: {
    draw: drawSpans,
    rows: (block) => [["window", "engine", "expected open", "expected close", "used open", "used close"],
      ...block.spans.map((span) => [span.label, span.name, ...span.expected, ...span.used])],
  },
};
