// The whole page from its data.

const isTable = (block) => block.kind === "table";
const isChart = (block) => block.kind in CHARTS;

// Numbers of tables and figures; the options of a choice share theirs, since one is shown at a time.
function numbered(blocks, counters) {
  for (const block of blocks) {
    if (isTable(block)) block.number = counters.table += 1;
    else if (isChart(block)) block.number = counters.figure += 1;
    else if (block.kind === "choice") {
      const start = { ...counters };
      const ends = block.options.map((option) => numbered(option.blocks, { ...start }));
      for (const end of ends) for (const name of Object.keys(counters)) counters[name] = Math.max(counters[name], end[name]);
    }
  }
  return counters;
}

function show(block) {
  if (isTable(block)) return showTable(block, block.number);
  if (isChart(block)) return showChart(block, block.number);
  switch (block.kind) {
    case "text": return make("p", {}, foreign(block.text));
    case "items": return make("ul", { class: "findings" }, block.items.map((item) => make("li", {}, foreign(item))));
    case "facts": return make("div", { class: "block" }, make("h4", {}, block.title), factsOf(block.items));
    case "wrong": return showWrong(block);
    case "queries": return showQueries(block);
    case "choice": return showChoice(block);
    default: throw new Error(`no such block: ${block.kind}`);
  }
}

function showChoice(block) {
  const place = make("div", { class: "chosen" });
  const select = make("select", {}, block.options.map((option, n) => make("option", { value: n }, option.label)));
  const choose = () => place.replaceChildren(...block.options[select.selectedIndex].blocks.map(show));
  select.addEventListener("change", choose);
  const turn = (by) => () => {
    select.selectedIndex = (select.selectedIndex + by + block.options.length) % block.options.length;
    choose();
  };
  const tools = block.options.length > 1
    ? make("p", { class: "choice" }, make("label", {}, `${block.label} `, select), button("‹", "Previous", turn(-1)), button("›", "Next", turn(1))) : null;
  choose();
  return make("div", {}, tools, place);
}

// Light or dark as the system has it, until the reader chooses.
const THEMES = ["system", "light", "dark"];
function themeButton() {
  let theme = "system";
  try { theme = localStorage.getItem("theme") || theme; } catch { /* a page from a file may have no storage; the choice is then not kept */ }
  const made = make("button", { type: "button", class: "theme" });
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    made.textContent = `Colours: ${theme}`;
  };
  made.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try { localStorage.setItem("theme", theme); } catch { /* as above */ }
    apply();
  });
  if (!THEMES.includes(theme)) theme = "system";
  apply();
  return made;
}

const report = JSON.parse(document.getElementById("data").textContent);
const single = report.parts.length === 1;
const [header, contents, main] = ["top", "contents", "content"].map((id) => document.getElementById(id));
fill(header, {}, [make("div", { class: "title" }, make("h1", {}, foreign(report.title)), themeButton()),
  single ? make("p", { class: "note" }, foreign(report.parts[0].note)) : null]);

const counters = { table: 0, figure: 0 };
const links = [];
report.parts.forEach((part, p) => {
  const id = `part-${p}`;
  if (!single) {
    main.append(make("h2", { id }, foreign(part.title)), make("p", { class: "note" }, foreign(part.note)));
    links.push(make("li", { class: "part" }, make("a", { href: `#${id}` }, foreign(part.title))));
  }
  part.sections.forEach((section, s) => {
    numbered(section.blocks, counters);
    const place = `${id}-${slug(section.title)}-${s}`;
    main.append(make("section", { "aria-labelledby": place }, make(single ? "h2" : "h3", { id: place }, section.title), section.blocks.map(show)));
    links.push(make("li", {}, make("a", { href: `#${place}` }, section.title)));
  });
});
contents.append(make("details", { open: window.innerWidth >= 1080 }, make("summary", {}, "Contents"), make("ul", {}, links)));
if (location.hash) openPlace(location.hash.slice(1));
window.addEventListener("hashchange", () => openPlace(location.hash.slice(1)));
document.documentElement.dataset.ready = "yes";
