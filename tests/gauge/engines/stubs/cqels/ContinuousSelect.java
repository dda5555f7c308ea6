package org.deri.cqels.engine;

/** A stand-in. */
public class ContinuousSelect {
  ContinuousListener listener;

  public void register(ContinuousListener listener) {
    this.listener = listener;
  }
}
