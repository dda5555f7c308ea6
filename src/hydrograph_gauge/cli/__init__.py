"""Sub-commands that the gauge adds to `hydrograph`, through the entry-point group `hydrograph.commands`."""

COMMANDS = {
    "features": "Show what makes queries hard: structure, cardinality, selectivities.",
    "generate": "Generate the streams and the static data of a world.",
    "workload": "Generate queries over a world by random walks.",
    "bench": "Run experiments on RDF stream engines, and judge their answers with the oracle.",
    "demo": "Compare three engines on a small social network, and write a report page.",
}
"""Each is a module of this package with a `command`, loaded when it is called."""
