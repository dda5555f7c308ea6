// What all charts share: size, axes, legend, note beside the pointer, and taking the chart away as a file.

const SIZE = 12;
const MARKS = ["circle", "square", "triangle", "diamond", "cross"];
const seriesClass = (colour) => (colour === null || colour === undefined ? "series-none" : `series-${colour % 8}`);

function mark(colour, x, y, size = 3.5) {
  const shape = colour === null || colour === undefined ? "circle" : MARKS[colour % MARKS.length];
  const at = { class: `mark ${seriesClass(colour)}` };
  const path = (d) => draw("path", { ...at, d });
  const s = size * 1.1;
  if (shape === "circle") return draw("circle", { ...at, cx: x, cy: y, r: size });
  if (shape === "square") return draw("rect", { ...at, x: x - size * 0.9, y: y - size * 0.9, width: size * 1.8, height: size * 1.8 });
  if (shape === "triangle") return path(`M${x},${y - s * 1.1}L${x + s * 1.1},${y + s * 0.8}H${x - s * 1.1}Z`);
  if (shape === "diamond") return path(`M${x},${y - s * 1.25}L${x + s * 1.25},${y}L${x},${y + s * 1.25}L${x - s * 1.25},${y}Z`);
  return path(`M${x - s},${y - s}L${x + s},${y + s}M${x - s},${y + s}L${x + s},${y - s}`);
}

const label = (text, x, y, anchor = "start", name = "label") =>
  draw("text", { x, y, "text-anchor": anchor, class: name, "font-size": SIZE }, text);

// The legend breaks into lines; comes back with its height.
function legendOf(entries, available) {
  const group = draw("g", { class: "legend" });
  const seen = new Map(entries.map((each) => [each.name, each]));
  if (seen.size < 2 && ![...seen.values()].some((each) => each.colour !== null)) return { group, height: 0 };
  let x = 0;
  let y = 10;
  for (const entry of seen.values()) {
    const name = shortened(entry.name, available - 24);
    const wide = width(name) + 34;
    if (x > 0 && x + wide - 14 > available) { x = 0; y += 19; }
    group.append(draw("line", { x1: x, x2: x + 14, y1: y, y2: y, class: `line ${seriesClass(entry.colour)}`, "stroke-width": 1.6 }));
    group.append(mark(entry.colour, x + 7, y, 3.5), label(name, x + 19, y + 4));
    x += wide;
  }
  return { group, height: y + 14 };
}

function verticalAxis(parent, axis, scale, left, right, top) {
  for (const tick of scale.ticks) {
    const y = scale.at(tick);
    parent.append(draw("line", { x1: left, x2: right, y1: y, y2: y, class: tick === 0 ? "zero" : "grid" }));
    parent.append(label(tickText(tick), left - 7, y + 4, "end", "tick"));
  }
  parent.append(label(shortened(withUnit(axis), right - 4), 0, top - 8, "start", "axis"));
}

// A label at the edge of the drawing is moved in, so that no letter is cut off.
function horizontalAxis(parent, scale, top, bottom, edge) {
  let last = -Infinity;
  for (const tick of scale.ticks) {
    const x = scale.at(tick);
    parent.append(draw("line", { x1: x, x2: x, y1: top, y2: bottom, class: "grid" }));
    const text = tickText(tick);
    const half = width(text) / 2;
    const middle = Math.min(x, edge - half - 1);
    if (middle - half > last + 6) { parent.append(label(text, middle, bottom + 17, "middle", "tick")); last = middle + half; }
  }
}

// The widest of the ticks decides how much space they get.
const gutter = (scale) => Math.ceil(Math.max(...scale.ticks.map((tick) => width(tickText(tick))))) + 10;

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "fill-opacity",
  "stroke-opacity", "font-family", "font-size", "font-weight"];

// A drawing on its own has no style sheet: the rules of this page are written into it, on the page's ground.
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const [originals, copies] = [svg, copy].map((each) => [each, ...each.querySelectorAll("*")]);
  originals.forEach((original, number) => {
    const style = getComputedStyle(original);
    for (const name of KEPT) copies[number].setAttribute(name, style.getPropertyValue(name));
    copies[number].removeAttribute("class");
  });
  for (const each of copy.querySelectorAll('[data-use="pointer"]')) each.remove();
  copy.setAttribute("xmlns", SVG);
  const ground = getComputedStyle(document.body).backgroundColor;
  copy.prepend(draw("rect", { width: "100%", height: "100%", fill: ground }));
  return new XMLSerializer().serializeToString(copy);
}
