// Elements are made here and nowhere else: text becomes a text node, whatever it looks like.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// Text of the data: its direction must not leak into the text next to it.
const foreign = (text) => make("bdi", {}, text);

const measurer = document.createElement("canvas").getContext("2d");
function width(text, size = 12) {
  measurer.font = `${size}px system-ui, "Segoe UI", "DejaVu Sans", sans-serif`;
  return measurer.measureText(text).width;
}

function shortened(text, most, size = 12) {
  if (width(text, size) <= most) return text;
  let letters = Array.from(text);
  while (letters.length > 1 && width(letters.join("") + "…", size) > most) letters = letters.slice(0, -1);
  return letters.join("") + "…";
}

// One note for the whole page, shown beside what the pointer or the focus is on.
const tip = document.getElementById("tip");
function showTip(lines, x, y) {
  tip.replaceChildren(...lines.map((line) => make("div", {}, foreign(line))));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > window.innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
}
const hideTip = () => { tip.hidden = true; };

function withTip(node, lines) {
  node.addEventListener("pointerenter", (event) => showTip(lines(), event.clientX, event.clientY));
  node.addEventListener("pointerleave", hideTip);
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    showTip(lines(), box.left, box.bottom - 12);
  });
  node.addEventListener("blur", hideTip);
  return node;
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
