package com.hp.hpl.jena.graph;

import com.hp.hpl.jena.datatypes.RDFDatatype;

/** A stand-in. */
public class Node {
  private final String text;
  private final String type;
  private final boolean uri;

  private Node(String text, String type, boolean uri) {
    this.text = text;
    this.type = type;
    this.uri = uri;
  }

  public static Node createURI(String uri) {
    return new Node(uri, null, true);
  }

  public static Node createLiteral(String text) {
    return new Node(text, null, false);
  }

  public static Node createLiteral(String text, String language, RDFDatatype type) {
    return new Node(text, type == null ? null : type.uri, false);
  }

  public boolean isURI() {
    return uri;
  }

  public boolean isBlank() {
    return false;
  }

  public String getURI() {
    return text;
  }

  public String getBlankNodeLabel() {
    return text;
  }

  public String getLiteralLexicalForm() {
    return text;
  }

  public String getLiteralLanguage() {
    return "";
  }

  public String getLiteralDatatypeURI() {
    return type;
  }
}
