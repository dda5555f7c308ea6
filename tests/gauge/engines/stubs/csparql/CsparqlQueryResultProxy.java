package eu.larkc.csparql.core.engine;

import java.util.Observable;

/** A stand-in. */
public class CsparqlQueryResultProxy extends Observable {
  public void say(Object said) {
    setChanged();
    notifyObservers(said);
  }
}
