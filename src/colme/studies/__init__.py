"""Studies of one's own data: how much would each site gain by collaborating, and when?

`studying`: `study` (also `colme.study`), and its two steps `prepare` and `answer`. `result`:
`StudyResult`, for people and for programs. `inquiry`: the validated question.

Defaults are here so that the help of the command line need not import the simulator.
"""

SAMPLES = 1_000
"""At each site at the end of a run, if rows are resampled."""

RUNS = 48

MIN_SAMPLES = 20
"""Rows that a site needs to take part."""
