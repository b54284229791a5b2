"""A result as a plain table: a row for each place, a column for each quantity."""

from pathlib import Path
from typing import Any

import xarray as xr

from colme.errors import ConfigError, one_of

TABLES = {
    "averages": (),
    "agents": ("agent",),
    "classes": ("class_number",),
    "runs": ("run",),
    "answers": ("run", "agent"),
}
"""What it is of, and the dimensions that it has beside algorithm, epsilon, degree and t."""

_EVERYWHERE = ("algorithm", "epsilon", "degree")


def table(result: xr.Dataset, of: str = "averages") -> Any:
    """As a pandas DataFrame."""
    if of not in TABLES:
        raise ConfigError("of", of, one_of(of, list(TABLES)))
    more = set(TABLES[of])
    own = {dim for dims in TABLES.values() for dim in dims}
    chosen = [name for name, one in result.data_vars.items() if own & {*one.dims} == more]
    if not chosen:
        expected = f"a result for which they were kept: keep={','.join(_kept_for(of))}"
        raise ConfigError("of", of, expected)
    part = result[chosen]
    order = [dim for dim in (*_EVERYWHERE, *TABLES[of], "t") if dim in part.dims]
    return part.to_dataframe(dim_order=order).reset_index()


def save_csv(result: xr.Dataset, path: Path | str, *, of: str = "averages") -> None:
    """A table as CSV; the file appears whole or not at all."""
    path = Path(path)
    partial = path.with_name(f"{path.name}.partial")
    table(result, of).to_csv(partial, index=False)
    partial.replace(path)


def _kept_for(of: str) -> tuple[str, ...]:
    return ("agents", "runs") if of == "answers" else (of,)
