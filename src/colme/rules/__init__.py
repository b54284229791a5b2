"""The mathematics of the paper: scalars in, scalars out, one citation each."""
