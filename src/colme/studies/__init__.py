"""Studies of a table of rows: how much would each site gain by collaborating, and when?

- `question`: the sites of a table and all that is asked about them, validated
- `study`: `colme.study`, and the experiment behind it; `feeds`: what sites are fed
- `findings`: who gains; `result`: how it is told, as text, figures, page, JSON and CSV

Defaults are here so that the help of the command line need not import the simulator.
"""

SAMPLES = 1_000
"""At each site at the end of a run, if rows are resampled."""

RUNS = 48

MIN_SAMPLES = 20
"""Rows that a site needs to take part."""
