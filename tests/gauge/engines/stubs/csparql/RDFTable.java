package eu.larkc.csparql.common;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/** A stand-in. */
public class RDFTable implements Iterable<RDFTuple> {
  public final List<RDFTuple> tuples = new ArrayList<>();

  public Collection<String> getNames() {
    return List.of("s", "o");
  }

  public Iterator<RDFTuple> iterator() {
    return tuples.iterator();
  }
}
