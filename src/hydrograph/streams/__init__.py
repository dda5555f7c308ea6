"""RDF bytes to encoded events and back; Spark begins here."""
