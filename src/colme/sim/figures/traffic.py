"""What crosses an edge in a round, both directions together."""

import numpy as np
import xarray as xr


def bytes_per_edge(data: xr.Dataset) -> xr.DataArray:
    """Since the round recorded before."""
    both: xr.DataArray = data.payload * 2 / data.degree
    return both


def average_bytes(data: xr.Dataset) -> xr.DataArray:
    """Over all rounds: each recorded one stands for those since the one before."""
    rounds = xr.DataArray(np.diff(data.t.values, prepend=0), coords={"t": data.t}, dims="t")
    return (bytes_per_edge(data) * rounds).sum("t") / rounds.sum()
