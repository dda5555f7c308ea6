package eu.larkc.csparql.cep.api;

/** A stand-in. */
public class RdfQuadruple {
  public final String s, p, o;

  public RdfQuadruple(String s, String p, String o, long t) {
    this.s = s;
    this.p = p;
    this.o = o;
  }
}
