package org.deri.cqels.data;

import com.hp.hpl.jena.sparql.core.Var;
import java.util.Map;

/** A stand-in. */
public class Mapping {
  private final Map<String, Long> values;

  public Mapping(Map<String, Long> values) {
    this.values = values;
  }

  public long get(Var variable) {
    return values.getOrDefault(variable.name, -1L);
  }
}
