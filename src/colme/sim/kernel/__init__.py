"""Algorithm 1 for many independent runs at once, compiled by numba.

Runs stand side by side in the lanes of a register (`simd`). They share the graph; every lane has
its own classes, data and noise. Several algorithms (a rule, a noise level, an alpha schedule) see
the same data and the same unit noise, so their differences are not blurred by sampling.

Time goes in chunks of a few rounds. `generator.draw` fills a small buffer with the running means of
a chunk; then each algorithm steps through the chunk while its own state is in cache.
`rounds.simulate` does both. A run that is alone on its graph goes another way to the same bits:
`large`. `arrays` describes what all of it works on; `releases` are those of relay.

Machine code is stored under a digest of this folder's sources (`colme.inference.compiled.jit`).
"""
