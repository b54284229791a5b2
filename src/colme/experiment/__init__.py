"""One way to run a long computation in parts; `streams` numbers its random streams."""
