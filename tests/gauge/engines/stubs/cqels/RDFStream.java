package org.deri.cqels.engine;

import com.hp.hpl.jena.graph.Node;
import java.util.Map;
import org.deri.cqels.data.Mapping;

/** A stand-in. */
public abstract class RDFStream {
  private final ExecContext context;

  public RDFStream(ExecContext context, String uri) {
    this.context = context;
  }

  public void stream(Node s, Node p, Node o) {
    for (Node[] each : context.fixed) say(each[0], each[1]);
    context.fixed.clear();
    say(s, o);
  }

  private void say(Node s, Node o) {
    long place = context.nodes.size();
    context.nodes.add(s);
    context.nodes.add(o);
    context.select.listener.update(new Mapping(Map.of("s", place, "o", place + 1)));
  }

  public abstract void stop();
}
