package eu.larkc.csparql.core;

import java.util.Observer;

/** A stand-in. */
public abstract class ResultFormatter implements Observer {}
