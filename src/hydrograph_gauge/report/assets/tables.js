// Tables and figures with their captions and ways to take them away.

const scrolling = (caption, table) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);

function cellOf(value, column, isHeader, tiles) {
  const name = isHeader ? "th" : "td";
  const scope = isHeader ? { scope: "row" } : {};
  if (value !== null && typeof value === "object") {
    const inner = [value.text, value.meaning && value.meaning !== value.text ? make("span", { class: "hidden" }, ` ${value.meaning}`) : null];
    const held = value.to ? make("a", { href: `#${value.to}`, onclick: () => openPlace(value.to) }, inner) : make("span", {}, inner);
    if (value.meaning) withTip(held, () => [value.meaning]);
    return make(name, { ...scope, class: `${tiles ? "tile " : ""}tone-${value.tone || "none"}` }, held);
  }
  if (column.format === "code") return make(name, scope, make("code", { class: "words" }, foreign(formatted(value, "text"))));
  return make(name, { ...scope, class: isNumeric(column.format) ? "number" : null }, foreign(formatted(value, column.format)));
}

function headOf(block) {
  const rows = [];
  if (block.columns.some((column) => column.group)) {
    const groups = [];
    for (const column of block.columns) {
      const last = groups[groups.length - 1];
      if (last && column.group && last.name === column.group) last.span += 1;
      else groups.push({ name: column.group, span: 1 });
    }
    rows.push(make("tr", {}, groups.map((group) => (group.name
      ? make("th", { colspan: group.span, scope: "colgroup", class: "group" }, foreign(group.name)) : make("td", { colspan: group.span })))));
  }
  rows.push(make("tr", {}, block.columns.map((column, n) => make("th", { scope: "col", class: isNumeric(column.format) ? "number" : n < block.headers ? "key" : null },
    foreign(column.name), column.unit ? make("span", { class: "unit" }, ` ${column.unit}`) : null))));
  return make("thead", {}, rows);
}

function plainTable(columns, rows, headers, tiles) {
  return make("table", { class: tiles ? "tiles" : null }, headOf({ columns, headers }),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((value, n) => cellOf(value, columns[n], n < headers, tiles && n >= headers))))));
}

const tableRows = (block) => [block.columns.map((column) => [column.group, column.name, column.unit && `(${column.unit})`].filter(Boolean).join(" ")), ...block.rows];

function captionOf(kind, number, text, buttons) {
  return make("figcaption", {}, make("span", { class: "number-of" }, `${kind} ${number}. `), foreign(text), " ", make("span", { class: "tools" }, buttons));
}

const button = (text, what, act) => make("button", { type: "button", "aria-label": what, onclick: act }, text);

function showTable(block, number) {
  const file = `table-${number}-${slug(block.caption)}`;
  const shown = 40;
  const body = make("div", {}, scrolling(block.caption, plainTable(block.columns, block.rows.slice(0, shown), block.headers, block.tiles)));
  if (block.rows.length > shown) {
    const rest = button(`Show all ${formatted(block.rows.length, "count")} rows`, `Show all rows of table ${number}`, () => {
      body.replaceChildren(scrolling(block.caption, plainTable(block.columns, block.rows, block.headers, block.tiles)));
    });
    body.append(make("p", { class: "more" }, rest));
  }
  const legend = block.legend.length ? make("ul", { class: "legend" }, block.legend.map((cell) =>
    make("li", {}, make("span", { class: `tile tone-${cell.tone}`, "aria-hidden": "true" }, cell.text), make("span", { class: "hidden" }, `${cell.text}: `), ` ${cell.meaning}`))) : null;
  return make("figure", { class: "table" },
    captionOf("Table", number, block.caption, [button("CSV", `Download table ${number} as CSV`, () => download(`${file}.csv`, "text/csv", csv(tableRows(block))))]),
    body, legend);
}

function showChart(block, number) {
  const chart = CHARTS[block.kind];
  const file = `figure-${number}-${slug(block.caption)}`;
  const id = `figure-${number}-${Math.random().toString(36).slice(2, 8)}`;
  const plot = make("div", { class: "plot" });
  let drawnAt = 0;
  const redraw = (wide) => {
    if (wide < 40 || wide === drawnAt) return;
    drawnAt = wide;
    const svg = chart.draw(block, wide);
    svg.setAttribute("aria-labelledby", id);
    plot.replaceChildren(svg);
  };
  new ResizeObserver(([entry]) => redraw(Math.floor(entry.contentRect.width))).observe(plot);
  const caption = captionOf("Figure", number, block.caption, [
    button("SVG", `Download figure ${number} as SVG`, () => download(`${file}.svg`, "image/svg+xml", standalone(plot.querySelector("svg")))),
    button("CSV", `Download figure ${number} as CSV`, () => download(`${file}.csv`, "text/csv", csv(chart.rows(block)))),
  ]);
  caption.id = id;
  return make("figure", { class: "chart" }, plot, caption, dataOf(chart.rows(block)));
}

// The rows behind a chart, for those who do not see it.
function dataOf(rows) {
  const shown = 300;
  const details = make("details", { class: "data" }, make("summary", {}, "Data"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    const [names, ...values] = rows;
    const columns = names.map((name, n) => ({ name, unit: "", group: "", format: values.some((row) => typeof row[n] === "number") ? "number" : "text" }));
    details.append(scrolling("Data of the figure", plainTable(columns, values.slice(0, shown), 0, false)));
    if (values.length > shown) details.append(make("p", { class: "more" }, `${formatted(values.length - shown, "count")} more rows are in the CSV file.`));
  });
  return details;
}
