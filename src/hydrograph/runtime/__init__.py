"""Run compiled plans: the Spark session, replay and live queries, placements, recovery."""
