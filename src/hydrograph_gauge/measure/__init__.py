"""Speed measurements: latency and highest rate of live queries, speed of replays, optimizer rules and memory.

Each entry point is a module: `python -m hydrograph_gauge.measure.live_latency`, `.sustained_load`, `.replay_speed`,
`.content_change_speed`, `.rule_speed` and `.memory_per_row`. They share the load (`load`), the player (`player.pace`),
the latency figures (`latency`) and the search for the highest rate (`max_rate`), which experiments use too.
"""
