// Texts of the page whose contrast with their ground is below 4.5 : 1 (WCAG 2, level AA), by element and class.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parts = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (node) => {
    for (let each = node; each; each = each.parentElement) {
      const found = parts(getComputedStyle(each).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255];
  };
  const low = {};
  const all = "p, li, a, td, th, td span, figcaption, button, summary, dt, dd, svg text, h1, h2, h3, h4, .tile, .unit";
  for (const node of document.querySelectorAll(all)) {
    const style = getComputedStyle(node);
    const both = [parts(node instanceof SVGElement ? style.fill : style.color), ground(node)].map(luminance);
    const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    if (ratio < 4.5) low[`${node.tagName} ${node.getAttribute("class")}`] = ratio;
  }
  return low;
})();
