// C-SPARQL behind lines: the query and static data in files, triples on standard input, rows on standard output.
// Its windows see static data only under names, those that FROM and FROM NAMED say.
import eu.larkc.csparql.cep.api.RdfQuadruple;
import eu.larkc.csparql.cep.api.RdfStream;
import eu.larkc.csparql.common.RDFTable;
import eu.larkc.csparql.common.RDFTuple;
import eu.larkc.csparql.core.ResultFormatter;
import eu.larkc.csparql.core.engine.CsparqlEngineImpl;
import eu.larkc.csparql.core.engine.CsparqlQueryResultProxy;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Observable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class CSparql {
  static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  // "5"^^<http://…> in N-Triples is "5"^^http://… here.
  static String theirs(String term) {
    if (term.startsWith("<")) return term.substring(1, term.length() - 1);
    return term.replaceFirst("\"\\^\\^<(.*)>$", "\"^^$1");
  }

  static String ours(String term) {
    if (term == null || term.isEmpty()) return "";
    if (term.startsWith("\"")) return term.replaceFirst("\"\\^\\^([^<].*)$", "\"^^<$1>");
    return term.startsWith("_:") ? term : "<" + term + ">";
  }

  public static void main(String[] given) throws Exception {
    String query = Files.readString(Path.of(given[0]));
    CsparqlEngineImpl engine = new CsparqlEngineImpl();
    engine.initialize();
    for (String line : Files.readAllLines(Path.of(given[1]))) {
      String[] graph = line.split("\t", 2);
      engine.putStaticNamedModel(graph[0], Files.readString(Path.of(graph[1])));
    }
    Map<String, RdfStream> streams = new HashMap<>();
    Matcher named = Pattern.compile("STREAM\\s*<([^>]+)>", Pattern.CASE_INSENSITIVE).matcher(query);
    while (named.find())
      if (!streams.containsKey(named.group(1))) {
        RdfStream stream = new RdfStream(named.group(1));
        engine.registerStream(stream);
        streams.put(named.group(1), stream);
      }
    try {
      CsparqlQueryResultProxy proxy = engine.registerQuery(query, false);
      proxy.addObserver(
          new ResultFormatter() {
            @Override
            public void update(Observable source, Object said) {
              RDFTable table = (RDFTable) said;
              int width = table.getNames().size();
              StringBuilder block = new StringBuilder();
              for (RDFTuple tuple : table) {
                block.append("row");
                for (int i = 0; i < width; i++) block.append('\t').append(ours(tuple.get(i)));
                block.append('\n');
              }
              say(block + "finished");
            }
          });
    } catch (Throwable error) { // lexers throw errors that are no exceptions
      say("refused\t" + error.getClass().getSimpleName() + ": " + String.valueOf(error.getMessage()).replaceAll("\\s+", " "));
      System.exit(3);
    }
    say("ready");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = lines.readLine()) != null; ) {
      String[] parts = line.split("\t", 4);
      RdfStream stream = streams.get(parts[0]);
      if (stream != null)
        stream.put(
            new RdfQuadruple(theirs(parts[1]), theirs(parts[2]), theirs(parts[3]), System.currentTimeMillis()));
    }
    Thread.sleep(10_000); // its last window closes by the clock
    System.exit(0);
  }
}
