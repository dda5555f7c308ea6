"""RDF terms: records, values, text and the one physical form they have in a plan."""
