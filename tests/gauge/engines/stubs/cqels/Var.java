package com.hp.hpl.jena.sparql.core;

/** A stand-in. */
public class Var {
  public final String name;

  private Var(String name) {
    this.name = name;
  }

  public static Var alloc(String name) {
    return new Var(name);
  }
}
