// C-SPARQL behind lines: one engine for all queries, commands on standard input, replies on standard output.
// Its windows see static data only under names, those of FROM and FROM NAMED.
//
//   register NUMBER QUERY GRAPHS    ready NUMBER, or refused NUMBER WORDS
//   unregister NUMBER
//   triple STREAM S P O             kept until the element is complete
//   element N                       taken N TIME: the engine has the triples, with this time in milliseconds
//
// Rows are `row NUMBER TERM…`, the end of an execution is `finished NUMBER`, an error in one `failed NUMBER WORDS`.
import eu.larkc.csparql.cep.api.RdfQuadruple;
import eu.larkc.csparql.cep.api.RdfSnapshot;
import eu.larkc.csparql.cep.api.RdfStream;
import eu.larkc.csparql.common.RDFTable;
import eu.larkc.csparql.common.RDFTuple;
import eu.larkc.csparql.core.ResultFormatter;
import eu.larkc.csparql.core.engine.CsparqlEngineImpl;
import eu.larkc.csparql.core.engine.CsparqlQueryResultProxy;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Observable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class CSparql {
  static final String STRING = "http://www.w3.org/2001/XMLSchema#string";
  static final Pattern LITERAL = Pattern.compile("\"(.*)\"(?:\\^\\^<([^>]*)>|@(\\S+))?", Pattern.DOTALL);
  static final Pattern BLANK = Pattern.compile("-?[0-9a-f]+:-?[0-9a-f]+:-?[0-9a-f]+");
  static final Pattern NAME = Pattern.compile("(REGISTER\\s+(?:QUERY|STREAM)\\s+)\\w+(\\s+)", Pattern.CASE_INSENSITIVE);
  static final Pattern STREAM = Pattern.compile("STREAM\\s*<([^>]+)>", Pattern.CASE_INSENSITIVE);
  static final Pattern RANGE = Pattern.compile("RANGE\\s+(\\d+)\\s*([smhd])", Pattern.CASE_INSENSITIVE);
  static final long LONGEST_WAIT = 20_000; // milliseconds
  static final PrintStream LINES = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, StandardCharsets.UTF_8);

  static synchronized void say(String line) {
    LINES.println(line);
    LINES.flush();
  }

  static String oneLine(Throwable error) {
    return error.getClass().getSimpleName() + ": " + String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
  }

  // The store of one evaluation is shared by all queries, and Esper calls it from its timer and from the thread that
  // puts triples. One evaluation at a time keeps the answer of a query free of the triples of another.
  static class OneEvaluationAtATime extends CsparqlEngineImpl {
    @Override
    public synchronized void update(Observable source, Object content) {
      try {
        super.update(source, content);
      } catch (RuntimeException | Error error) { // Esper writes it to its log and continues
        error.printStackTrace();
        String number = source instanceof RdfSnapshot ? numbers.get(((RdfSnapshot) source).getId()) : null;
        if (number != null) say("failed\t" + number + "\t" + oneLine(error));
        throw error;
      }
    }
  }

  static final Map<String, String> numbers = new ConcurrentHashMap<>(); // of queries, by the engine's names for them
  static final Map<String, String> names = new HashMap<>();
  static final Map<String, RdfStream> streams = new HashMap<>();
  static final Map<String, String> graphs = new HashMap<>();
  static final CsparqlEngineImpl engine = new OneEvaluationAtATime();
  static long longest = 1_000;

  // An object without a datatype is an IRI to this engine, so a plain literal gets its datatype. A language tag cannot
  // be said at all.
  static String theirs(String term) {
    if (term.startsWith("<")) return term.substring(1, term.length() - 1);
    Matcher found = LITERAL.matcher(term);
    if (!found.matches()) return term;
    if (found.group(3) != null) {
      System.err.println("adapter: C-SPARQL has no literals with a language; it takes this one for an IRI: " + term);
      return term;
    }
    return "\"" + unescaped(found.group(1)) + "\"^^" + (found.group(2) == null ? STRING : found.group(2));
  }

  static String ours(String term) {
    if (term == null || term.isEmpty()) return "";
    if (!term.startsWith("\"")) return term.startsWith("_:") ? term : BLANK.matcher(term).matches() ? "_:" + term.replaceAll("\\W", "x") : "<" + term + ">";
    int end = term.lastIndexOf("\"^^");
    if (end < 0) return term;
    String type = term.substring(end + 3);
    return "\"" + escaped(term.substring(1, end)) + "\"" + (type.equals("null") ? "" : "^^<" + type + ">");
  }

  static String unescaped(String text) {
    if (text.indexOf('\\') < 0) return text;
    StringBuilder plain = new StringBuilder();
    for (int at = 0; at < text.length(); at++) {
      char here = text.charAt(at);
      if (here != '\\' || at + 1 == text.length()) {
        plain.append(here);
        continue;
      }
      char kind = text.charAt(++at);
      int place = "tbnrf".indexOf(kind);
      int digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
      if (place >= 0) plain.append("\t\b\n\r\f".charAt(place));
      else if (digits == 0) plain.append(kind);
      else {
        plain.appendCodePoint(Integer.parseInt(text.substring(at + 1, at + 1 + digits), 16));
        at += digits;
      }
    }
    return plain.toString();
  }

  static String escaped(String text) {
    return text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t");
  }

  // The last exception that was printed, or else the one that was thrown.
  static String reason(Throwable thrown, String printed) {
    String words = oneLine(thrown);
    for (String line : printed.split("\n"))
      if (line.matches("(?:Caused by: )?[\\w.$]+(?:Exception|Error)\\b.*"))
        words = line.replaceFirst("^(?:Caused by: )?[\\w.]*\\.(?=\\w+(?:Exception|Error)\\b)", "").replaceAll("\\s+", " ");
    return words;
  }

  static void register(String number, String file, String listed) throws Exception {
    // A name must not contain a word of the grammar, so the query gets its number as its name.
    // Its grammar wants blanks between words, and has no comments.
    String given = Files.readString(Path.of(file)).replaceAll("(?m)^\\s*#.*$", "").replaceAll("\\s+", " ").trim();
    String text = NAME.matcher(given).replaceFirst("$1q" + number + "$2");
    if (!text.regionMatches(true, 0, "REGISTER ", 0, 9)) text = "REGISTER QUERY q" + number + " AS " + text;
    for (String line : Files.readAllLines(Path.of(listed))) {
      String[] graph = line.split("\t", 2);
      if (!graph[1].equals(graphs.put(graph[0], graph[1])))
        engine.putStaticNamedModel(graph[0], Files.readString(Path.of(graph[1])));
    }
    Matcher named = STREAM.matcher(text);
    while (named.find())
      streams.computeIfAbsent(named.group(1), name -> engine.registerStream(new RdfStream(name)));
    Matcher wide = RANGE.matcher(text);
    while (wide.find()) {
      long unit = Map.of("s", 1_000L, "m", 60_000L, "h", 3_600_000L, "d", 86_400_000L).get(wide.group(2).toLowerCase());
      longest = Math.max(longest, Long.parseLong(wide.group(1)) * unit);
    }
    // It prints the reason of a refusal to standard error, and throws something else.
    PrintStream errors = System.err;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setErr(new PrintStream(printed, true, StandardCharsets.UTF_8));
    CsparqlQueryResultProxy proxy = null;
    Throwable thrown = null;
    try {
      proxy = engine.registerQuery(text, false);
    } catch (Throwable error) { // lexers throw errors that are no exceptions
      thrown = error;
    } finally {
      System.setErr(errors);
    }
    errors.print(printed.toString(StandardCharsets.UTF_8));
    if (thrown != null) {
      thrown.printStackTrace();
      say("refused\t" + number + "\t" + reason(thrown, printed.toString(StandardCharsets.UTF_8)));
      return;
    }
    numbers.put(proxy.getId(), number);
    names.put(number, proxy.getId());
    proxy.addObserver(
        new ResultFormatter() {
          @Override
          public void update(Observable source, Object said) {
            RDFTable table = (RDFTable) said;
            int width = table.getNames().size();
            StringBuilder block = new StringBuilder();
            for (RDFTuple tuple : table) {
              block.append("row\t").append(number);
              for (int i = 0; i < width; i++) block.append('\t').append(ours(tuple.get(i)));
              block.append('\n');
            }
            say(block + "finished\t" + number);
          }
        });
    say("ready\t" + number);
  }

  public static void main(String[] given) throws Exception {
    System.setOut(System.err); // what the engine prints is no reply
    engine.initialize();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    List<String[]> triples = new ArrayList<>();
    for (String line; (line = lines.readLine()) != null; ) {
      String[] parts = line.split("\t", 5);
      switch (parts[0]) {
        case "register":
          register(parts[1], parts[2], parts[3]);
          break;
        case "unregister":
          String name = names.remove(parts[1]);
          if (name != null) engine.unregisterQuery(name); // a refused query has none
          break;
        case "triple":
          triples.add(parts);
          break;
        case "element":
          long now = System.currentTimeMillis();
          for (String[] each : triples) {
            RdfStream stream = streams.get(each[1]);
            if (stream != null) stream.put(new RdfQuadruple(theirs(each[2]), theirs(each[3]), theirs(each[4]), now));
          }
          triples.clear();
          say("taken\t" + parts[1] + "\t" + now);
          break;
        default:
          throw new IllegalArgumentException("expected a command, got " + line);
      }
    }
    Thread.sleep(Math.min(longest + 1_000, LONGEST_WAIT)); // its last windows close by the clock
    System.exit(0);
  }
}
