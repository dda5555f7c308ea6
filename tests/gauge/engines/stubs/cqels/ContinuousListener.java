package org.deri.cqels.engine;

import org.deri.cqels.data.Mapping;

/** A stand-in. */
public interface ContinuousListener {
  void update(Mapping mapping);
}
