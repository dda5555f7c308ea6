// CQELS behind lines: the query and static data in files, triples on standard input, rows on standard output.
// It routes a triple to the end before it takes the next, so after those of an element an execution is over.
import com.hp.hpl.jena.datatypes.TypeMapper;
import com.hp.hpl.jena.graph.Node;
import com.hp.hpl.jena.sparql.core.Var;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.deri.cqels.data.Mapping;
import org.deri.cqels.engine.ContinuousListener;
import org.deri.cqels.engine.ContinuousSelect;
import org.deri.cqels.engine.ExecContext;
import org.deri.cqels.engine.RDFStream;

public class Cqels {
  static final Pattern LITERAL =
      Pattern.compile("\"(.*)\"(?:\\^\\^<([^>]*)>|@(\\S+))?", Pattern.DOTALL);

  static class Lines extends RDFStream {
    Lines(ExecContext context, String name) {
      super(context, name);
    }

    @Override
    public void stop() {}
  }

  static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  static Node theirs(String term) {
    if (term.startsWith("<")) return Node.createURI(term.substring(1, term.length() - 1));
    Matcher found = LITERAL.matcher(term);
    if (!found.matches()) return Node.createURI(term);
    String text = found.group(1).replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
    if (found.group(3) != null) return Node.createLiteral(text, found.group(3), null);
    if (found.group(2) == null) return Node.createLiteral(text);
    return Node.createLiteral(text, null, TypeMapper.getInstance().getSafeTypeByName(found.group(2)));
  }

  static String ours(Node node) {
    if (node == null) return "";
    if (node.isURI()) return "<" + node.getURI() + ">";
    if (node.isBlank()) return "_:" + node.getBlankNodeLabel().replaceAll("\\W", "x");
    String text = node.getLiteralLexicalForm().replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
    String language = node.getLiteralLanguage();
    if (language != null && !language.isEmpty()) return "\"" + text + "\"@" + language;
    String type = node.getLiteralDatatypeURI();
    return "\"" + text + "\"" + (type == null ? "" : "^^<" + type + ">");
  }

  public static void main(String[] given) throws Exception {
    String query = Files.readString(Path.of(given[0]));
    Path home = Files.createTempDirectory("cqels");
    ExecContext context = new ExecContext(home.toString(), true);
    if (Files.size(Path.of(given[1])) > 0) context.loadDefaultDataset(given[1]);
    for (String line : Files.readAllLines(Path.of(given[2]))) {
      String[] graph = line.split("\t", 2);
      if (Files.size(Path.of(graph[1])) > 0) context.loadDataset(graph[0], graph[1]);
    }
    Map<String, RDFStream> streams = new HashMap<>();
    Matcher named = Pattern.compile("STREAM\\s*<([^>]+)>", Pattern.CASE_INSENSITIVE).matcher(query);
    while (named.find()) streams.putIfAbsent(named.group(1), new Lines(context, named.group(1)));
    try {
      ContinuousSelect select = context.registerSelect(query);
      List<String> names = com.hp.hpl.jena.query.QueryFactory.create(plain(query)).getResultVars();
      select.register(
          new ContinuousListener() {
            @Override
            public void update(Mapping mapping) {
              StringBuilder row = new StringBuilder("row");
              for (String name : names) {
                long id = mapping.get(Var.alloc(name));
                row.append('\t').append(id < 0 ? "" : ours(context.engine().decode(id)));
              }
              say(row.toString());
            }
          });
    } catch (Throwable error) { // lexers throw errors that are no exceptions
      say("refused\t" + error.getClass().getSimpleName() + ": " + String.valueOf(error.getMessage()).replaceAll("\\s+", " "));
      System.exit(3);
    }
    say("ready");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = lines.readLine()) != null; ) {
      if (line.equals("over")) {
        say("finished");
        continue;
      }
      String[] parts = line.split("\t", 4);
      RDFStream stream = streams.get(parts[0]);
      if (stream != null) stream.stream(theirs(parts[1]), theirs(parts[2]), theirs(parts[3]));
    }
    Thread.sleep(2_000);
    System.exit(0);
  }

  // What it selects is the same without windows.
  static String plain(String query) {
    return query.replaceAll("(?is)STREAM\\s*(<[^>]+>)\\s*\\[[^\\]]*\\]", "GRAPH $1");
  }
}
