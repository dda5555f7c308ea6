package eu.larkc.csparql.cep.api;

import java.util.function.Consumer;

/** A stand-in: hands every quadruple on. */
public class RdfStream {
  public final String iri;
  public Consumer<RdfQuadruple> target;

  public RdfStream(String iri) {
    this.iri = iri;
  }

  public void put(RdfQuadruple quadruple) {
    target.accept(quadruple);
  }
}
