package com.hp.hpl.jena.query;

/** A stand-in. */
public class QueryParseException extends RuntimeException {
  public QueryParseException(String message, int line, int column) {
    super(message);
  }
}
