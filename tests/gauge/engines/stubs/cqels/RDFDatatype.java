package com.hp.hpl.jena.datatypes;

/** A stand-in. */
public class RDFDatatype {
  public final String uri;

  RDFDatatype(String uri) {
    this.uri = uri;
  }
}
