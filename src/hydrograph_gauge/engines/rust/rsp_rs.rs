//! rsp-rs behind the gauge's protocol: commands on standard input, replies on standard output, one JSON object a line.
//! Nothing of the engine is changed. Elements go in through its streams and answers come from its receiver; its windows
//! are only looked at, to learn which of them made it execute.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use oxigraph::io::{RdfFormat, RdfParser};
use oxigraph::model::{GraphName, NamedNode, Quad};
use oxigraph::sparql::SparqlEvaluator;
use rsp_rs::{BindingWithTimestamp, CSPARQLWindow, RSPEngine, StreamType};
use serde_json::{json, Map, Value};

type Words = String;
type Window = Arc<Mutex<CSPARQLWindow>>;

/// Time that the engine's thread may take for one element.
const PATIENCE: Duration = Duration::from_secs(120);

struct Query {
    engine: RSPEngine,
    results: Receiver<BindingWithTimestamp>,
    /// Windows by the stream that they read.
    windows: HashMap<String, Vec<Window>>,
    executions: Arc<AtomicUsize>,
    /// Time of the last element by stream.
    last: RefCell<HashMap<String, i64>>,
}

fn main() {
    let mut queries: HashMap<String, Query> = HashMap::new();
    let mut fixed: Vec<Quad> = Vec::new();
    for line in io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line.expect("a line")).expect("a command");
        let query = command["query"].as_str().unwrap_or_default().to_string();
        match command["do"].as_str().unwrap_or_default() {
            "load" => match load(&command) {
                Ok(quads) => {
                    fixed.extend(quads);
                    say(json!({"reply": "loaded"}));
                }
                Err(words) => say(json!({"reply": "failed", "words": words})),
            },
            "register" => match register(command["text"].as_str().unwrap_or_default(), &fixed) {
                Ok(registered) => {
                    queries.insert(query.clone(), registered);
                    say(json!({"reply": "registered", "query": query}));
                }
                Err((why, words)) => say(json!({"reply": "refused", "query": query, "why": why, "words": words})),
            },
            "unregister" => {
                queries.remove(&query);
                say(json!({"reply": "unregistered", "query": query}));
            }
            "send" => {
                let stream = command["stream"].as_str().unwrap_or_default();
                let t = command["t"].as_i64().unwrap_or_default();
                match triples(&command) {
                    Ok(quads) => {
                        for (name, each) in &queries {
                            answer(name, each, |q| send(q, stream, t, &quads));
                        }
                    }
                    Err(words) => say(json!({"reply": "failed", "words": words})),
                }
            }
            "end" => {
                for (name, each) in &queries {
                    for stream in each.windows.keys() {
                        answer(name, each, |q| close(q, stream));
                    }
                }
                say(json!({"reply": "ended"}));
            }
            _ => return,
        }
    }
}

fn say(reply: Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{reply}").and_then(|()| out.flush()).expect("standard output");
}

fn load(command: &Value) -> Result<Vec<Quad>, Words> {
    let file = command["file"].as_str().unwrap_or_default();
    let text = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let graph = match command["graph"].as_str() {
        Some(name) => GraphName::NamedNode(NamedNode::new(name).map_err(|error| error.to_string())?),
        None => GraphName::DefaultGraph,
    };
    let read = parse(&text)?;
    Ok(read.into_iter().map(|q| Quad::new(q.subject, q.predicate, q.object, graph.clone())).collect())
}

fn triples(command: &Value) -> Result<Vec<Quad>, Words> {
    let lines = command["triples"].as_array().cloned().unwrap_or_default();
    let text: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    parse(text.join("\n").as_bytes())
}

fn parse(text: &[u8]) -> Result<Vec<Quad>, Words> {
    let parser = RdfParser::from_format(RdfFormat::NTriples).lenient();
    parser.for_slice(text).map(|quad| quad.map_err(|error| error.to_string())).collect()
}

/// Register a query. The engine reads windows line by line, and ignores errors of its evaluator when it executes: both
/// are asked here, so that a text that it cannot read is refused.
fn register(text: &str, fixed: &[Quad]) -> Result<Query, (&'static str, Words)> {
    let mut engine = RSPEngine::new(text.to_string());
    let parsed = engine.parsed_query();
    if parsed.s2r.is_empty() {
        return Err(("syntax", "no window was recognised in the query".into()));
    }
    if let Err(error) = SparqlEvaluator::new().parse_query(&parsed.sparql_query) {
        return Err(("syntax", error.to_string()));
    }
    engine.initialize().map_err(|words| ("error", words))?;
    for quad in fixed {
        engine.add_static_data(quad.clone());
    }
    let results = engine.start_processing();
    let executions = Arc::new(AtomicUsize::new(0));
    let mut windows: HashMap<String, Vec<Window>> = HashMap::new();
    for definition in &engine.parsed_query().s2r {
        let window = engine.get_window(&definition.window_name).expect("a window that was just made");
        let count = executions.clone();
        // Subscribers are called in order: this one when the engine's own has sent the rows of an execution.
        lock(&window).map_err(|words| ("error", words))?.subscribe(StreamType::RStream, move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        windows.entry(definition.stream_name.clone()).or_default().push(window);
    }
    Ok(Query { engine, results, windows, executions, last: RefCell::default() })
}

fn lock(window: &Window) -> Result<MutexGuard<'_, CSPARQLWindow>, Words> {
    window.lock().map_err(|_| "the thread of a window has panicked".to_string())
}

/// Do something that may make a query execute, and write the rows of that execution with the close of its window.
fn answer(name: &str, query: &Query, act: impl Fn(&Query) -> Result<Option<i64>, Words>) {
    let before = query.executions.load(Ordering::SeqCst);
    let close = match act(query) {
        Ok(close) => close,
        Err(words) => return say(json!({"reply": "failed", "query": name, "words": words})),
    };
    let executed = query.executions.load(Ordering::SeqCst) - before;
    if executed == 0 {
        return;
    }
    let mut rows = Vec::new();
    for result in query.results.try_iter() {
        match row(&result.bindings) {
            Some(found) => rows.push(found),
            None => {
                let words = format!("a row that cannot be read: {}", result.bindings);
                return say(json!({"reply": "failed", "query": name, "words": words}));
            }
        }
    }
    let mut reply = json!({"reply": "answer", "query": name, "rows": rows});
    if let Some(t) = close {
        reply["t"] = json!(t);
    }
    say(reply);
    say(json!({"reply": "finished", "query": name}));
}

/// Give an element to the stream of a query and wait until the engine's thread has taken it. The window that made the
/// engine execute is the newest of those that it has evicted.
fn send(query: &Query, stream: &str, t: i64, quads: &[Quad]) -> Result<Option<i64>, Words> {
    let (Some(target), Some(windows)) = (query.engine.get_stream(stream), query.windows.get(stream)) else {
        return Ok(None);
    };
    let before = borders(windows)?;
    query.last.borrow_mut().insert(stream.to_string(), t);
    if windows.iter().any(|window| has_taken(window, t, quads).unwrap_or(false)) {
        return Ok(None); // repeated in the same instant: the engine would neither add nor execute
    }
    target.add_quads(quads.to_vec(), t)?;
    let start = Instant::now();
    loop {
        for window in windows {
            if has_taken(window, t, quads)? {
                let after = borders(windows)?;
                return Ok(before.difference(&after).map(|(_, close)| *close).max());
            }
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("the element at {t} was in no window after {} s", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Tell whether an element has been added to the windows that hold its time; an element of no triples always has.
fn has_taken(window: &Window, t: i64, quads: &[Quad]) -> Result<bool, Words> {
    let held = lock(window)?;
    let graph = NamedNode::new(&held.name).map_err(|error| error.to_string())?;
    Ok(quads.is_empty()
        || held.active_windows.iter().any(|(borders, content)| {
            borders.open <= t
                && t < borders.close
                && content.last_timestamp_changed == t
                && quads.iter().all(|q| {
                    let own = Quad::new(q.subject.clone(), q.predicate.clone(), q.object.clone(), graph.clone());
                    content.contains(&own)
                })
        }))
}

fn borders(windows: &[Window]) -> Result<HashSet<(i64, i64)>, Words> {
    let mut found = HashSet::new();
    for window in windows {
        found.extend(lock(window)?.get_active_window_ranges());
    }
    Ok(found)
}

/// End a stream as the engine's documentation asks for, with an element after the last one. Such an element makes the
/// engine answer one window only: the one that closes with the last element if there is one, otherwise the newest.
fn close(query: &Query, stream: &str) -> Result<Option<i64>, Words> {
    let windows = &query.windows[stream];
    let open = borders(windows)?;
    let last = query.last.borrow().get(stream).copied().unwrap_or(i64::MIN);
    let over = open.iter().filter(|(_, close)| *close <= last).max_by_key(|(_, close)| *close);
    let Some(due) = over.or_else(|| open.iter().max_by_key(|(_, close)| *close)) else {
        return Ok(None);
    };
    query.engine.close_stream(stream, due.1.max(last) + 1)?;
    let start = Instant::now();
    while borders(windows)?.contains(due) {
        if start.elapsed() > PATIENCE {
            return Err("the last window was not closed".into());
        }
        std::thread::sleep(Duration::from_micros(20));
    }
    Ok(Some(due.1))
}

/// Return the row of an answer, which the engine gives as the debugging form of a solution, with terms as in N-Triples.
fn row(text: &str) -> Option<Map<String, Value>> {
    let mut left = Text(text.strip_prefix('{')?);
    let mut found = Map::new();
    while !left.take("}") {
        left.take(", ");
        left.expect("Variable { name: ")?;
        let name = left.string()?;
        left.expect(" }: ")?;
        let term = left.term()?;
        found.insert(name, Value::String(term));
    }
    left.0.is_empty().then_some(found)
}

struct Text<'a>(&'a str);

impl Text<'_> {
    fn take(&mut self, word: &str) -> bool {
        self.0.strip_prefix(word).map(|rest| self.0 = rest).is_some()
    }

    fn expect(&mut self, word: &str) -> Option<()> {
        self.take(word).then_some(())
    }

    fn term(&mut self) -> Option<String> {
        if self.take("NamedNode(NamedNode { iri: ") {
            let iri = self.string()?;
            self.expect(" })")?;
            Some(format!("<{iri}>"))
        } else if self.take("BlankNode(BlankNode(Named(") {
            let label = self.string()?;
            self.expect(")))")?;
            Some(format!("_:{label}"))
        } else if self.take("BlankNode(BlankNode(Anonymous { id: ") {
            let (bytes, rest) = self.0.split_once("], str: ")?;
            let label: String = bytes.chars().filter(char::is_ascii_digit).collect();
            let (_, rest) = rest.split_once(" }))")?;
            self.0 = rest;
            Some(format!("_:b{label}"))
        } else if self.take("Literal(Literal(String(") {
            let value = self.string()?;
            self.expect(")))")?;
            Some(quoted(&value))
        } else if self.take("Literal(Literal(LanguageTaggedString { value: ") {
            let value = self.string()?;
            self.expect(", language: ")?;
            let language = self.string()?;
            self.expect(" }))")?;
            Some(format!("{}@{language}", quoted(&value)))
        } else {
            self.expect("Literal(Literal(TypedLiteral { value: ")?;
            let value = self.string()?;
            self.expect(", datatype: NamedNode { iri: ")?;
            let datatype = self.string()?;
            self.expect(" } }))")?;
            Some(format!("{}^^<{datatype}>", quoted(&value)))
        }
    }

    /// Read a string with Rust's escapes.
    fn string(&mut self) -> Option<String> {
        self.expect("\"")?;
        let mut found = String::new();
        let mut chars = self.0.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.0 = &self.0[at + 1..];
                    return Some(found);
                }
                '\\' => match chars.next()?.1 {
                    'n' => found.push('\n'),
                    't' => found.push('\t'),
                    'r' => found.push('\r'),
                    '0' => found.push('\0'),
                    'u' => {
                        let code: String = chars.by_ref().map(|(_, c)| c).skip(1).take_while(|c| *c != '}').collect();
                        found.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
                    }
                    other => found.push(other),
                },
                other => found.push(other),
            }
        }
        None
    }
}

fn quoted(value: &str) -> String {
    let mut found = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => found.push_str("\\\""),
            '\\' => found.push_str("\\\\"),
            '\n' => found.push_str("\\n"),
            '\r' => found.push_str("\\r"),
            c if c.is_control() => found.push_str(&format!("\\u{:04X}", c as u32)),
            c => found.push(c),
        }
    }
    found + "\""
}
