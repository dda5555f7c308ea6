package eu.larkc.csparql.core.engine;

import java.util.Observable;

/** A stand-in. */
public class CsparqlQueryResultProxy extends Observable {
  public String getId() {
    return "the only one";
  }

  public void say(Object said) {
    setChanged();
    notifyObservers(said);
  }
}
