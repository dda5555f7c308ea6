// From a query on an engine to its wrong windows, to the guilty rows, to the triples that make them.

// Fills a fold when it is opened first.
function fold(attributes, summary, content) {
  const details = make("details", attributes, make("summary", {}, summary));
  const ensure = () => { if (details.childElementCount === 1) details.append(...[content()].flat().filter(Boolean)); };
  details.addEventListener("toggle", () => { if (details.open) ensure(); });
  details.fillNow = ensure;
  return details;
}

function openPlace(id) {
  const place = document.getElementById(id);
  if (!place) return;
  place.open = true;
  place.fillNow();
  const first = place.querySelector("details.window");
  if (first && !place.querySelector("details.window[open]")) { first.open = true; first.fillNow(); }
}

const factsOf = (items) => make("dl", { class: "facts" }, items.map(([name, value]) => make("div", {}, make("dt", {}, foreign(name)), make("dd", {}, foreign(value)))));

function guiltyRows(title, what, guilty, count, variables, tone) {
  if (!count) return null;
  const wide = Math.max(variables.length, ...guilty.map((each) => each.row.length), 1);
  const names = Array.from({ length: wide }, (_, n) => (variables[n] ? `?${variables[n]}` : `column ${n + 1}`));
  const more = count > guilty.length ? `, ${formatted(guilty.length, "count")} shown` : "";
  const heading = make("h5", { class: `guilty-${tone}` }, `${title}: ${formatted(count, "count")}${more}`);
  if (!guilty.length) return [heading];
  const rows = guilty.map((each) => make("tr", {}, names.map((_, n) => {
    const term = each.row[n];
    return make("td", {}, term === null || term === undefined ? make("i", {}, "unbound") : make("code", {}, foreign(term)));
  }), make("td", {}, each.triples.length
    ? make("details", { class: "triples" }, make("summary", {}, `${each.triples.length} ${each.triples.length === 1 ? "triple" : "triples"}`),
      make("pre", {}, each.triples.flatMap((triple) => [foreign(triple), "\n"])))
    : make("i", {}, "none named"))));
  const table = make("table", { class: "rows" },
    make("thead", {}, make("tr", {}, names.map((name) => make("th", { scope: "col" }, foreign(name))), make("th", { scope: "col" }, what))),
    make("tbody", {}, rows));
  return [heading, scrolling(title, table)];
}

function showWindow(window, variables) {
  const counts = [window.missing_count ? `${formatted(window.missing_count, "count")} missing` : "", window.extra_count ? `${formatted(window.extra_count, "count")} extra` : ""];
  return fold({ class: "window" }, [foreign(window.title), make("span", { class: "note" }, ` ${counts.filter(Boolean).join(", ")}`)], () => [
    factsOf(window.facts),
    ...[guiltyRows("Missing rows", "triples that should have made it", window.missing, window.missing_count, variables, "missing")].flat(),
    ...[guiltyRows("Extra rows", "triples to blame", window.extra, window.extra_count, variables, "extra")].flat(),
  ]);
}

function showWrong(block) {
  return make("div", { class: "wrong" }, block.groups.map((group) => fold({ class: "group", id: group.id },
    [foreign(group.title), make("span", { class: "note" }, ` ${group.note}`)], () => [
      group.text ? make("details", { class: "query" }, make("summary", {}, "Query"), make("pre", {}, foreign(group.text))) : null,
      ...group.windows.map((window) => showWindow(window, group.variables)),
    ])));
}

function showQueries(block) {
  return make("div", { class: "queries" }, block.queries.map((query) => fold({ class: "group" },
    [foreign(query.name), make("span", { class: "note" }, foreign(` ${query.note}`))],
    () => query.texts.flatMap(([name, text]) => [name ? make("p", {}, foreign(name)) : null, make("pre", {}, foreign(text))]))));
}
