"""Who takes part, what is warned of and what it costs; who talks to whom."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from colme.columns import read
from colme.errors import ConfigError
from colme.studies.question import Sites, links_of, sites_of
from support.refusing import refused

DRAWS = np.random.default_rng(5)
EVEN = {name: DRAWS.uniform(2, 8, 50) for name in "abc"}


def sites(values: dict[str, Any], **changes: Any) -> Sites:
    options: dict[str, Any] = {"bounds": (0.0, 10.0), "min_samples": 20, "epsilons": (1.0, 4.0)}
    return sites_of(read(values, site=None, value=None, time=None), **(options | changes))


def test_a_site_with_too_few_rows_is_left_out_and_named() -> None:
    found = sites(EVEN | {"small": [5.0] * 19, "just": [5.0, 6.0] * 10})
    assert found.names == ("a", "b", "c", "just")
    assert found.left_out == (("small", 19),)


@pytest.mark.parametrize("values", [{}, {"a": [1.0] * 30}, {"a": [1.0] * 30, "b": [1.0] * 19}])
def test_one_site_has_nobody_to_learn_from(values: dict[str, Any]) -> None:
    with refused(ConfigError, "sites"):
        sites(values)


def test_where_rows_were_bad_that_is_told_with_it() -> None:
    with pytest.raises(ConfigError, match=r"not used: 30 rows of a .*row 0, row 1"):
        sites({"a": ["late"] * 30})


def test_kind_bounds_are_not_warned_of() -> None:
    assert sites(EVEN).warnings == ()


def test_bounds_that_clip_more_than_a_hundredth_are_warned_of_with_the_bias() -> None:
    """One row in 50 is 12 instead of at most 10: 0.04 off the mean of that site's rows."""
    loud = np.append(np.full(49, 5.0), 12.0)
    found = sites({"loud": loud, "other": np.append(np.full(49, 6.0), 7.0)}, bounds=(0.0, 10.0))
    assert found.warnings == ()  # one in a hundred is not more than that
    found = sites({"loud": np.append(loud[1:], 12.0), "other": np.linspace(4, 6, 50)})
    (told,) = found.warnings
    assert "clip 2.0% of all rows (0.0% below, 2.0% above)" in told
    assert "off by 0.04 on average, and by 0.08 at loud" in told
    assert found.means[0] == pytest.approx((48 * 5 + 2 * 10) / 50)


def test_bounds_ten_times_wider_than_the_data_are_warned_of_with_the_noise() -> None:
    values = {name: np.linspace(4, 6, 50) for name in "ab"}
    assert sites(values, bounds=(0.0, 19.9)).warnings == ()
    (told,) = sites(values, bounds=(-10.0, 30.0)).warnings
    assert "20 times as wide as the data." in told
    assert "as if epsilon were 0.05, 0.2 instead of 1, 4" in told


def test_a_site_that_never_varies_is_named() -> None:
    (told,) = sites(EVEN | {"flat": [5.0] * 30}).warnings
    assert "The same value in every row: flat." in told


def test_values_are_relative_to_nothing_but_the_bounds() -> None:
    found = sites(EVEN, bounds=(2.5, 7.5))
    assert min(map(np.min, found.values)) == 2.5
    assert max(map(np.max, found.values)) == 7.5
    assert (found.midpoint, found.half_range) == (5.0, 2.5)


NAMES = ("a", "b", "c", "d")


def test_everybody_is_everybodys_neighbour_unless_told_otherwise() -> None:
    graph = links_of(NAMES, [], degree=None, edges=None).draw([1])
    assert graph.degrees.tolist() == [3] * 4
    assert links_of(NAMES, [], degree=2, edges=None).draw([1]).degrees.tolist() == [2] * 4


def test_edges_are_pairs_of_sites(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("a,b\n\nb;c\nc\td\nd,small\n")
    for edges in (path, str(path), [("a", "b"), ("b", "c"), ("c", "d")]):
        links = links_of(NAMES, ["small"], degree=None, edges=edges)
        assert links.edges == ((0, 1), (1, 2), (2, 3))
        assert links.warnings == []
    (told,) = links_of(NAMES, [], degree=None, edges=[("a", "b"), ("c", "d")]).warnings
    assert "2 parts" in told


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"degree": 4}, "degree"),
        ({"degree": 2, "edges": [("a", "b")]}, "degree"),
        ({"edges": [("a", "z")]}, "edges"),
        ({"edges": [("a", "a")]}, "edges"),
        ({"edges": "no such file"}, "edges"),
    ],
)
def test_edges_that_can_not_be_are_refused(options: dict[str, Any], field: str) -> None:
    with refused(ConfigError, field):
        links_of(NAMES, [], **({"degree": None, "edges": None} | options))
