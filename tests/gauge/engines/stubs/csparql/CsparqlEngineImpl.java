package eu.larkc.csparql.core.engine;

import eu.larkc.csparql.cep.api.RdfStream;
import eu.larkc.csparql.common.RDFTable;
import eu.larkc.csparql.common.RDFTuple;
import java.text.ParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Observable;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A stand-in: says back every quadruple, before the first of them what it has of the graphs that the query names. */
public class CsparqlEngineImpl {
  private final CsparqlQueryResultProxy proxy = new CsparqlQueryResultProxy();
  private final Map<String, String> models = new TreeMap<>();
  private final List<RDFTuple> fixed = new ArrayList<>();

  public void initialize() {}

  public void update(Observable source, Object content) {}

  public void unregisterQuery(String id) {}

  public void putStaticNamedModel(String name, String text) {
    models.put(name, text);
  }

  public RdfStream registerStream(RdfStream stream) {
    stream.target =
        quadruple -> {
          RDFTable table = new RDFTable();
          table.tuples.addAll(fixed);
          fixed.clear();
          table.tuples.add(new RDFTuple(quadruple.s, quadruple.o));
          proxy.say(table);
        };
    return stream;
  }

  public CsparqlQueryResultProxy registerQuery(String text, boolean reasoning) throws ParseException {
    if (!text.contains("STREAM")) throw new ParseException("Encountered \"WHERE\" at line 2, column 1", 0);
    if (text.contains("EXISTS")) throw new UnsupportedOperationException("EXISTS");
    Matcher named = Pattern.compile("FROM\\s+(?:NAMED\\s+)?<([^>]+)>").matcher(text);
    while (named.find()) {
      if (!models.containsKey(named.group(1))) throw new ParseException("The model in the FROM clause is missing", 0);
      for (String line : models.get(named.group(1)).lines().toList())
        fixed.add(new RDFTuple(named.group(1), line.replaceAll(".*<([^>]+)> \\.", "$1")));
    }
    return proxy;
  }
}
