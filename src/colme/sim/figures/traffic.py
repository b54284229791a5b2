"""What crosses an edge in a round, both directions together."""

import numpy as np
import xarray as xr


def bytes_per_edge(data: xr.Dataset) -> xr.DataArray:
    """Since the round recorded before."""
    both: xr.DataArray = data.payload * 2 / data.degree
    return both


def over_all_rounds(values: xr.DataArray) -> xr.DataArray:
    """The average: each recorded round stands for those since the one before."""
    rounds = xr.DataArray(np.diff(values.t.values, prepend=0), coords={"t": values.t}, dims="t")
    return (values * rounds).sum("t") / rounds.sum()


def average_bytes(data: xr.Dataset) -> xr.DataArray:
    """Per edge, over all rounds."""
    return over_all_rounds(bytes_per_edge(data))
