"""`colme.study` from end to end: what is known about the answer is found."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import colme
from colme.errors import ConfigError
from colme.experiment.run import run
from colme.sim.engines import RelayTable
from colme.studies.question import StudyQuestion, prepare
from colme.studies.result import (
    CURVES,
    FIGURE,
    OBJECT,
    PAGE,
    SITES,
    StudyResult,
    error_over_samples,
)
from colme.studies.study import StudyExperiment
from support.refusing import refused

DRAWS = np.random.default_rng(8)
ALIKE = {f"site {i}": DRAWS.uniform(0, 10, 200) for i in range(30)}
"""Means differ by chance alone, by about .2, where a sample's standard deviation is 2.9."""

QUICK: dict[str, Any] = {"bounds": (0, 10), "epsilon": 4.0, "samples": 30, "runs": 8}


def answer(asked: StudyQuestion, **options: Any) -> StudyResult:
    return run(StudyExperiment(asked), **options).result


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return colme.study(ALIKE, **QUICK, algorithm=["relay", "local"])


def test_alone_is_the_error_of_the_own_exact_mean(result: StudyResult) -> None:
    """sigma / sqrt(30) at each site: over 30 sites of 8 runs to sqrt(2 / 240) of its square."""
    squares = [site.alone**2 for site in result.sites if site.algorithm == "relay"]
    expected = np.mean([one.var() for one in result.question.sites.values]) / 30
    assert np.mean(squares) == pytest.approx(expected, rel=3 * np.sqrt(2 / 240))


def test_sites_that_are_alike_gain_from_the_first_releases_on(result: StudyResult) -> None:
    """Who knew the spread of the means would be at .13 of the error alone at 30 samples."""
    curve = result.curves[0]
    assert curve.samples[-1] == 30
    assert curve.mse_over_local[-1] + 3 * curve.standard_error[-1] < 0.6
    assert curve.gained[-1] >= 10 > curve.lost[-1]


def test_local_is_the_line_that_all_are_held_against(result: StudyResult) -> None:
    local = [curve for curve in result.curves if curve.algorithm == "local"]
    assert {one for curve in local for one in curve.mse_over_local} == {1.0}
    assert {site.gain for site in result.sites if site.algorithm == "local"} == {0.0}


def test_nobody_is_told_a_variance() -> None:
    asked = prepare(ALIKE, **QUICK, algorithm=["relay", "paper"])
    relay, _ = asked.algorithms
    assert isinstance(relay, RelayTable)
    assert relay.variance == "released"
    (profile,) = asked.profiles
    assert profile.sigma2 == profile.half_range**2 == 25.0


def test_other_rows_are_another_study(tmp_path: Path) -> None:
    asked = prepare(ALIKE, **QUICK)
    whole = answer(asked, out=tmp_path)
    assert answer(asked, out=tmp_path).as_plain() == whole.as_plain(), "read from its files"
    other = prepare({name: values + 1 for name, values in ALIKE.items()}, **QUICK)
    with refused(ConfigError, "--out"):
        answer(other, out=tmp_path)


def test_a_site_that_never_varies_neither_gains_nor_loses() -> None:
    found = colme.study(ALIKE | {"flat": [4.0] * 30}, **(QUICK | {"runs": 2}))
    flat = found.sites[-1]
    assert (flat.site, flat.alone, flat.together, flat.gain) == ("flat", 0.0, 0.0, 0.0)
    assert "flat" in found.warnings[0]


def test_a_study_in_which_nothing_can_be_compared_is_told_all_the_same() -> None:
    flat = {name: [float(value)] * 30 for value, name in enumerate("ab")}
    found = colme.study(flat, **(QUICK | {"runs": 2}))
    assert np.isnan(found.curves[0].margin).all()
    assert "can&#x27;t be told from these rows" in found.page()


def test_bands_of_the_figure_are_95_percent(result: StudyResult) -> None:
    """A band of one standard error to either side would hold the truth in two of three cases."""
    (panel,) = error_over_samples(result).axes
    (band,) = panel.collections
    curve = result.curves[0]
    corners = np.asarray(band.get_paths()[0].vertices)
    at_end = corners[corners[:, 0] == curve.samples[-1], 1]
    assert at_end.max() - at_end.min() == pytest.approx(2 * curve.margin[-1])
    assert curve.margin[-1] > 1.9 * curve.standard_error[-1]


def test_two_sites_are_a_study_in_which_relay_stays_alone() -> None:
    found = colme.study({name: ALIKE[name] for name in list(ALIKE)[:2]}, **(QUICK | {"runs": 2}))
    assert {*found.curves[0].mse_over_local} == {1.0}
    assert found.warnings[0].startswith("Relay needs at least 6 sites")


def test_where_there_are_many_sites_all_take_turns() -> None:
    """160 sites, 150 at a time, 2 runs of a batch each: everybody is asked."""
    many = {f"{i}": DRAWS.uniform(0, 10, 20) for i in range(160)}
    found = colme.study(many, bounds=(0, 10), epsilon=4, samples=6, runs=2)
    assert {site.runs for site in found.sites} == {1, 2}


def test_a_replay_says_what_would_have_been_with_rows_in_their_order() -> None:
    """Rows of one distribution: the mean of half of 200 rows is off by sigma / sqrt(100), and so
    is the held-out one, which is taken off again: (d^2 - v) / v of a Gaussian d of variance 2 v
    has a standard deviation of 2 sqrt(2), over 30 sites of 8 splits an 15th of sqrt(30) less."""
    found = colme.study(ALIKE, bounds=(0, 10), epsilon=4, mode="replay", runs=8)
    assert {site.samples for site in found.sites} == {100}
    expected = np.mean([one.var() for one in found.question.sites.values]) / 100
    squares = [0.0 if np.isnan(site.alone) else site.alone**2 for site in found.sites]
    assert np.mean(squares) == pytest.approx(expected, rel=3 * 2 * np.sqrt(2 / 30))
    assert found.curves[0].samples[-1] == 100
    assert all(np.isnan(site.coverage) for site in found.sites)


def test_rows_in_another_order_are_another_replay() -> None:
    table = {"s": ["a", "b"] * 30, "v": np.arange(60) / 6, "t": np.arange(60)}
    options: dict[str, Any] = {"bounds": (0, 10), "epsilon": 4, "mode": "replay", "runs": 2}
    plain = colme.study(table, site="s", value="v", **options)
    timed = colme.study(table, site="s", value="v", time="t", **options)
    turned = colme.study(table | {"t": -np.arange(60)}, site="s", value="v", time="t", **options)
    assert plain.as_plain()["sites"] == timed.as_plain()["sites"]
    assert plain.as_plain()["sites"] != turned.as_plain()["sites"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"bounds": (10, 0)}, "bounds"),
        ({"bounds": (0, float("inf"))}, "bounds"),
        ({"bounds": 10}, "bounds"),
        ({"bounds": (1e15, 1e15 + 10)}, "bounds"),
        ({"epsilon": 1e-200}, "epsilon"),
        ({"epsilon": 0}, "epsilon.0"),
        ({"epsilon": [1, 1]}, "epsilon"),
        ({"epsilon": "much"}, "epsilon.0"),
        ({"mode": "replya"}, "mode"),
        ({"runs": 1}, "runs"),
        ({"samples": 2}, "samples"),
        ({"mode": "replay"}, "samples"),
        ({"min_samples": 1}, "min_samples"),
        ({"time": "t"}, "time"),
        ({"algorithm": "oracle"}, "algorithm"),
        ({"algorithm": "colme"}, "algorithm"),
        ({"algorithm": ["relay", "relay"]}, "algorithm"),
        ({"algorithm": "relais"}, "algorithms.0.algorithm"),
        ({"mode": "replay", "samples": None, "algorithm": "paper"}, "algorithm"),
        ({"algorithm": "tracking"}, "algorithms.0.algorithm"),
        ({"site": "s"}, "value"),
        ({"site": "s", "value": "s"}, "value"),
        ({"degree": 30}, "degree"),
    ],
)
def test_what_can_not_be_asked_is_refused_by_its_name(changes: dict[str, Any], field: str) -> None:
    with refused(ConfigError, field):
        colme.study(ALIKE, **(QUICK | changes))


def test_files_for_people_and_for_programs(result: StudyResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {PAGE, OBJECT, SITES, CURVES, FIGURE}
    told = json.loads((tmp_path / OBJECT).read_text())
    assert {"algorithm", "epsilon", "samples", "mse_over_local", "standard_error"} <= {
        *told["curves"][0]
    }
    fields = {"site", "algorithm", "epsilon", "samples", "truth", "alone", "together", "gain"}
    assert fields <= {*told["sites"][0]}
    assert len(told["sites"]) == 30 * 2
    rows = (tmp_path / SITES).read_text().splitlines()
    assert rows[0].startswith("site,algorithm,epsilon,rows,samples,runs,truth,alone,together,gain")
    assert len(rows) == 1 + 30 * 2


def test_the_page_needs_nothing_else_and_says_what_is_promised(result: StudyResult) -> None:
    page = result.page()
    assert page.count("<svg") == page.count("<noscript>") == 2, "figures, where scripts are not run"
    assert not re.findall(
        r"<(?:img|iframe|object)|url\((?!#)|@import|\ssrc=|href=\"(?!data:,|#)", page
    )
    for words in (
        "pure epsilon-differential privacy",
        "Replace any one sample",
        "The number of samples of a site is public",
        "every site sees the noisy mean of every other site",
        "54.6 times for epsilon 4",
        "This study itself is not private",
    ):
        assert words in page
    assert page == result.page(), "the same study is the same page"


def test_the_page_runs_its_own_scripts_and_no_others(result: StudyResult) -> None:
    """Each by its hash; so none that a name could smuggle in."""
    page = result.page()
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == page.count("<script>") == page.count("</script>") - 1
    policy = re.search(r'Policy" content="([^"]+)"', page)
    assert policy is not None
    told = unescape(policy[1])
    hashes = re.findall(r"sha256-([\w+/=]+)", told)
    assert hashes == [b64encode(sha256(one.encode()).digest()).decode() for one in scripts]
    assert "default-src 'none'" in told
    assert told.count("unsafe") == 1, "looks alone: figures for who has no scripts need it"


def test_names_of_sites_are_text_and_never_markup() -> None:
    named = {f"<b>{name}</b>": values for name, values in list(ALIKE.items())[:2]}
    found = colme.study(named, **(QUICK | {"runs": 2, "samples": 3}))
    assert "<b>" not in found.page()
    assert "&lt;b&gt;site 0" in found.page()


def test_nothing_that_is_passed_on_quotes_a_cell(tmp_path: Path) -> None:
    """A refused cell may be a name or a diagnosis, and an extreme is one person's value."""
    draws = np.random.default_rng(6)
    rows = [("ab"[row % 2], f"{draws.uniform(40, 50):.6f}") for row in range(60)]
    rows += [("a", "39.518273"), ("b", "50.736451"), ("a", "HIV positive"), ("b", "9,1,7")]
    table = tmp_path / "rows.csv"
    table.write_text("s;v\n" + "".join(f"{site};{value}\n" for site, value in rows))
    options = QUICK | {"bounds": (0, 1000), "runs": 2, "samples": 3}
    found = colme.study(table, site="s", value="v", out=tmp_path / "out", **options)
    told = [found.page(), repr(found), found._repr_html_()]
    told += [path.read_text() for path in (tmp_path / "out").iterdir()]
    for text in told:
        for cell in ("HIV", "9,1,7", "39.5", "50.7"):
            assert cell not in text
    for text in (found.page(), found._repr_html_()):
        assert "2 rows whose v is not a finite number: row 64, row 65" in text
        assert "times as wide as the data" in text


def test_intervals_of_sites_are_as_wide_as_they_say() -> None:
    """288 answers of 95% intervals: neither all of them hold the truth nor one in ten does not."""
    draws = np.random.default_rng(5)
    data = {f"site {i}": draws.uniform(0, 1, 60) for i in range(12)}
    found = colme.study(data, bounds=(0, 1), epsilon=4, samples=60, runs=24, seed=2)
    coverage = np.mean([site.coverage for site in found.sites])
    assert 0.9 < coverage < 0.995
