// CQELS behind lines: one engine for all queries, commands on standard input, replies on standard output.
// It routes a triple to the end before it takes the next, so after those of an element an execution is over.
//
//   register NUMBER QUERY STATIC GRAPHS    ready NUMBER, or refused NUMBER WORDS
//   unregister NUMBER
//   triple STREAM S P O                    kept until the element is complete
//   element N                              rows, finished NUMBER for each query of the stream, then taken N TIME
import com.hp.hpl.jena.datatypes.TypeMapper;
import com.hp.hpl.jena.graph.Node;
import com.hp.hpl.jena.sparql.core.Var;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.deri.cqels.data.Mapping;
import org.deri.cqels.engine.ContinuousListener;
import org.deri.cqels.engine.ContinuousSelect;
import org.deri.cqels.engine.ExecContext;
import org.deri.cqels.engine.RDFStream;

public class Cqels {
  static final Pattern LITERAL = Pattern.compile("\"(.*)\"(?:\\^\\^<([^>]*)>|@(\\S+))?", Pattern.DOTALL);
  static final Pattern STREAM = Pattern.compile("STREAM\\s*<([^>]+)>", Pattern.CASE_INSENSITIVE);
  static final PrintStream LINES = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, StandardCharsets.UTF_8);

  static class Lines extends RDFStream {
    Lines(ExecContext context, String name) {
      super(context, name);
    }

    @Override
    public void stop() {}
  }

  static final Map<String, RDFStream> streams = new HashMap<>();
  static final Map<String, Set<String>> readers = new HashMap<>(); // numbers of queries by the stream that they read
  static final Map<String, String> graphs = new HashMap<>();
  static final Set<String> gone = new LinkedHashSet<>();
  static ExecContext context;

  static synchronized void say(String line) {
    LINES.println(line);
    LINES.flush();
  }

  static String oneLine(Throwable error) {
    return error.getClass().getSimpleName() + ": " + String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
  }

  static Node theirs(String term) {
    if (term.startsWith("<")) return Node.createURI(term.substring(1, term.length() - 1));
    Matcher found = LITERAL.matcher(term);
    if (!found.matches()) return Node.createURI(term);
    String text = unescaped(found.group(1));
    if (found.group(3) != null) return Node.createLiteral(text, found.group(3), null);
    if (found.group(2) == null) return Node.createLiteral(text);
    return Node.createLiteral(text, null, TypeMapper.getInstance().getSafeTypeByName(found.group(2)));
  }

  static String ours(Node node) {
    if (node == null) return "";
    if (node.isURI()) return "<" + node.getURI() + ">";
    if (node.isBlank()) return "_:" + node.getBlankNodeLabel().replaceAll("\\W", "x");
    String text = escaped(node.getLiteralLexicalForm());
    String language = node.getLiteralLanguage();
    if (language != null && !language.isEmpty()) return "\"" + text + "\"@" + language;
    String type = node.getLiteralDatatypeURI();
    return "\"" + text + "\"" + (type == null ? "" : "^^<" + type + ">");
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

  static void register(String number, String file, String fixed, String listed) throws Exception {
    String query = Files.readString(Path.of(file));
    try {
      load(null, fixed);
      for (String line : Files.readAllLines(Path.of(listed))) {
        String[] graph = line.split("\t", 2);
        load(graph[0], graph[1]);
      }
      ContinuousSelect select = context.registerSelect(query);
      List<String> names = com.hp.hpl.jena.query.QueryFactory.create(plain(query)).getResultVars();
      select.register(
          new ContinuousListener() {
            @Override
            public void update(Mapping mapping) {
              if (gone.contains(number)) return;
              StringBuilder row = new StringBuilder("row\t").append(number);
              for (String name : names) {
                long id = mapping.get(Var.alloc(name));
                row.append('\t').append(id < 0 ? "" : ours(context.engine().decode(id)));
              }
              say(row.toString());
            }
          });
    } catch (Throwable error) { // lexers throw errors that are no exceptions
      error.printStackTrace();
      say("refused\t" + number + "\t" + oneLine(error));
      return;
    }
    Matcher named = STREAM.matcher(query);
    while (named.find()) {
      streams.computeIfAbsent(named.group(1), name -> new Lines(context, name));
      readers.computeIfAbsent(named.group(1), name -> new LinkedHashSet<>()).add(number);
    }
    say("ready\t" + number);
  }

  // All queries share one dataset: a graph that is loaded cannot have other triples for another query.
  static void load(String name, String file) throws Exception {
    String before = graphs.putIfAbsent(String.valueOf(name), file);
    if (before == null && Files.size(Path.of(file)) > 0) {
      if (name == null) context.loadDefaultDataset(file);
      else context.loadDataset(name, file);
    } else if (before != null && !before.equals(file))
      throw new UnsupportedOperationException("adapter: all queries share one static graph " + (name == null ? "without a name" : name));
  }

  // What it selects is the same without windows.
  static String plain(String query) {
    return query.replaceAll("(?is)STREAM\\s*(<[^>]+>)\\s*\\[[^\\]]*\\]", "GRAPH $1");
  }

  public static void main(String[] given) throws Exception {
    System.setOut(System.err); // what the engine prints is no reply
    context = new ExecContext(Files.createTempDirectory("cqels").toString(), true);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    List<String[]> triples = new ArrayList<>();
    for (String line; (line = lines.readLine()) != null; ) {
      String[] parts = line.split("\t", 5);
      switch (parts[0]) {
        case "register":
          register(parts[1], parts[2], parts[3], parts[4]);
          break;
        case "unregister":
          gone.add(parts[1]);
          for (Set<String> some : readers.values()) some.remove(parts[1]);
          break;
        case "triple":
          triples.add(parts);
          break;
        case "element":
          long now = System.currentTimeMillis();
          Set<String> asked = new LinkedHashSet<>();
          for (String[] each : triples) {
            RDFStream stream = streams.get(each[1]);
            if (stream == null) continue;
            asked.addAll(readers.get(each[1]));
            try {
              stream.stream(theirs(each[2]), theirs(each[3]), theirs(each[4]));
            } catch (RuntimeException | Error error) {
              error.printStackTrace();
              for (String number : readers.get(each[1])) say("failed\t" + number + "\t" + oneLine(error));
            }
          }
          triples.clear();
          for (String number : asked) say("finished\t" + number);
          say("taken\t" + parts[1] + "\t" + now);
          break;
        default:
          throw new IllegalArgumentException("expected a command, got " + line);
      }
    }
    Thread.sleep(2_000);
    System.exit(0);
  }
}
