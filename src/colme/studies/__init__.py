"""Studies of a table of rows: how much would each site gain by collaborating, and when?

- `read`, `sites`, `question`: rows, sites and the validated question
- `study`: `colme.study`, and the experiment behind it; `feeds`: what sites are fed
- `findings`: who gains; `result`, `page`, `words`, `figures`: how it is told

Defaults are here so that the help of the command line need not import the simulator.
"""

SAMPLES = 1_000
"""At each site at the end of a run, if rows are resampled."""

RUNS = 48

MIN_SAMPLES = 20
"""Rows that a site needs to take part."""
