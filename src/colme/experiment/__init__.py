"""One way to run a long computation in parts, and one statistic over them.

- `run`: `Experiment`, what is computed, and `run`, the only runner.
- `folder`: the output folder, with finished parts until all are there.
- `workers`: threads, processes, or any `concurrent.futures.Executor`; `cluster`: Dask's.
- `progress`: a bar, or a line every ten seconds.
- `streams`: the number of every random stream
- `statistics`: `BatchMean`, a mean or ratio with Student's interval over batches.
"""
