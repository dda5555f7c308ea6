package eu.larkc.csparql.cep.api;

import java.util.Observable;

/** A stand-in. */
public class RdfSnapshot extends Observable {
  public String getId() {
    return "the only one";
  }
}
