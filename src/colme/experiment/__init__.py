"""One way to run a long computation in parts, and one statistic over them.

- `run`: `Experiment`, what is computed; `run`, the only runner; `Folder`, with finished parts until
  all are there; `progress`, a bar or a line every ten seconds.
- `workers`: processes, or any `concurrent.futures.Executor`; `cluster`: Dask's.
- `streams`: the number of every random stream
- `statistics`: `BatchMean`, a mean or ratio with Student's interval over batches.
"""
