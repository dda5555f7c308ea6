// RSP-JS behind the testbed's protocol: node rsp-js.cjs FOLDER, where FOLDER holds node_modules.
// Nothing of the engine is changed. It is only listened to: which window made it execute, and when an execution is over.
"use strict";
const { createRequire } = require("module");
const fs = require("fs");
const path = require("path");
const readline = require("readline");

// The engine logs every element to standard output, which belongs to the protocol.
console.debug = console.log = console.info = () => {};
console.error = console.warn = (...words) => process.stderr.write(words.join(" ") + "\n");

const from = createRequire(path.join(path.resolve(process.argv[2]), "package.json"));
const { RSPEngine } = from("rsp-js");
const inside = createRequire(from.resolve("rsp-js"));
const { Parser, DataFactory } = inside("n3");
const { Parser: SparqlParser } = inside("sparqljs"); // the one that the engine's evaluator reads queries with

const say = (reply) => process.stdout.write(JSON.stringify(reply) + "\n");
const queries = new Map();
const waiting = new Set();
const fixed = [];

function text(term) {
  if (term.termType === "NamedNode") return `<${term.value}>`;
  if (term.termType === "BlankNode") return `_:${term.value}`;
  const shown = JSON.stringify(term.value).replace(/\\[bf]/g, (c) => (c === "\\b" ? "\\u0008" : "\\u000C"));
  if (term.language) return `${shown}@${term.language}`;
  const type = term.datatype.value;
  return type === "http://www.w3.org/2001/XMLSchema#string" ? shown : `${shown}^^<${type}>`;
}

function row(binding) {
  const found = {};
  for (const [variable, term] of binding) found[variable.value] = text(term);
  return found;
}

// Rows begin to flow when somebody listens to them, so nobody may do so before the engine does.
function listened(name, bindings, close, over) {
  const rows = [];
  const on = bindings.on.bind(bindings);
  bindings.on = (event, listener) => {
    if (event === "data") on("data", (binding) => rows.push(row(binding)));
    return on(event, listener);
  };
  on("error", (error) => {
    say({ reply: "failed", query: name, words: String(error.message || error) });
    over();
  });
  on("end", () => {
    if (queries.has(name)) {
      say({ reply: "answer", query: name, rows, ...(close === null ? {} : { t: close }) });
      say({ reply: "finished", query: name });
    }
    over();
  });
  return bindings;
}

// The engine reads windows line by line, and gives the rest to its evaluator, which would only complain when it executes.
function check(engine) {
  const syntax = (words) => Object.assign(new Error(words), { why: "syntax" });
  if (engine.windows.length === 0) throw syntax("no window was recognised in the query");
  try {
    new SparqlParser({ sparqlStar: true }).parse(engine.r2r.query);
  } catch (error) {
    throw syntax(String(error.message || error));
  }
}

function register(name, query) {
  const engine = new RSPEngine(query);
  check(engine);
  fixed.forEach((quad) => engine.addStaticData(quad));
  const execute = engine.r2r.execute.bind(engine.r2r);
  engine.r2r.execute = async (container) => {
    let close = null;
    for (const window of engine.windows)
      for (const [borders, content] of window.active_windows) if (content === container) close = borders.close;
    let finish;
    const over = new Promise((resolve) => (finish = resolve));
    waiting.add(over);
    over.then(() => waiting.delete(over));
    try {
      return listened(name, await execute(container), close, finish);
    } catch (error) {
      say({ reply: "failed", query: name, words: String(error.message || error) });
      finish();
      throw error;
    }
  };
  engine.register();
  queries.set(name, engine);
}

const commands = {
  load({ file, graph }) {
    const where = graph ? DataFactory.namedNode(graph) : DataFactory.defaultGraph();
    for (const { subject, predicate, object } of new Parser({ format: "N-Triples" }).parse(fs.readFileSync(file, "utf8")))
      fixed.push(DataFactory.quad(subject, predicate, object, where));
    say({ reply: "loaded" });
  },
  register({ query, text }) {
    try {
      register(query, text);
      say({ reply: "registered", query });
    } catch (error) {
      say({ reply: "refused", query, why: error.why || "error", words: String(error.message || error) });
    }
  },
  unregister({ query }) {
    queries.delete(query);
    say({ reply: "unregistered", query });
  },
  send({ stream, t, triples }) {
    for (const engine of queries.values()) {
      const target = engine.getStream(stream);
      if (!target) continue;
      // Each query gets quads of its own: the engine writes the name of its window into them.
      for (const quad of new Parser({ format: "N-Triples" }).parse(triples.join("\n"))) target.add(quad, t);
    }
  },
  async end() {
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.size) await Promise.all([...waiting]);
    say({ reply: "ended" });
  },
  stop() {
    process.exit(0);
  },
};

process.on("unhandledRejection", (error) => say({ reply: "failed", words: String((error && error.message) || error) }));

// As a Node program does: lines are taken as they come, and rows flow when there are none.
let before = Promise.resolve();
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line);
  if (command.do === "end") before = commands.end();
  else if (command.do === "stop") before.then(commands.stop);
  else commands[command.do](command);
});
