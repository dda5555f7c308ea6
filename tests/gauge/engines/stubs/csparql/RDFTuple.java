package eu.larkc.csparql.common;

/** A stand-in. */
public class RDFTuple {
  private final String[] values;

  public RDFTuple(String... values) {
    this.values = values;
  }

  public String get(int i) {
    return values[i];
  }
}
