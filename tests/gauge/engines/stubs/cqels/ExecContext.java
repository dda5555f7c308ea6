package org.deri.cqels.engine;

import com.hp.hpl.jena.graph.Node;
import com.hp.hpl.jena.query.QueryParseException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A stand-in: says back every triple, before the first of them its static data. */
public class ExecContext {
  final List<Node> nodes = new ArrayList<>();
  final ContinuousSelect select = new ContinuousSelect();
  final List<Node[]> fixed = new ArrayList<>();

  /** The part that knows terms by numbers. */
  public class Engine {
    public Node decode(long id) {
      return nodes.get((int) id);
    }
  }

  public ExecContext(String home, boolean clean) {}

  public void loadDefaultDataset(String file) {
    loadDataset("urn:default", file);
  }

  public void loadDataset(String graph, String file) {
    try {
      for (String line : Files.readAllLines(Path.of(file)))
        fixed.add(new Node[] {Node.createURI(graph), Node.createURI(line.replaceAll(".*<([^>]+)> \\.", "$1"))});
    } catch (IOException error) {
      throw new IllegalArgumentException(error);
    }
  }

  public ContinuousSelect registerSelect(String query) {
    if (!query.contains("STREAM")) throw new QueryParseException("Encountered \"}\" at line 1, column 1", 1, 1);
    if (query.contains("EXISTS")) throw new UnsupportedOperationException("EXISTS");
    return select;
  }

  public Engine engine() {
    return new Engine();
  }
}
