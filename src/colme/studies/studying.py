"""`colme.study`: would it have paid, with these data, for each of these sites?"""

from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from colme.errors import ConfigError
from colme.studies import MIN_SAMPLES, runner
from colme.studies import inquiry as asking
from colme.studies.findings import findings
from colme.studies.inquiry import Inquiry
from colme.studies.read import read
from colme.studies.result import TITLE, StudyResult
from colme.studies.sites import links_of, sites_of


def prepare(
    data: Any,
    *,
    site: str | None = None,
    value: str | None = None,
    bounds: Any,
    epsilon: Any,
    mode: str = "resample",
    time: str | None = None,
    min_samples: int = MIN_SAMPLES,
    degree: int | None = None,
    edges: Any = None,
    algorithm: Any = "recommended",
    samples: int | None = None,
    runs: int | None = None,
    seed: int = 1,
) -> Inquiry:
    """Everything read and checked, before anything is computed. See `study`."""
    least = 4 if mode == "replay" else 2
    asking.at_least(least, "min_samples", min_samples)
    if time is not None and mode != "replay":
        raise ConfigError("time", time, "mode replay: rows that are drawn again have no order")
    found = read(data, site=site, value=value, time=time)
    epsilons = asking.epsilons_of(epsilon)
    within = asking.bounds_of(bounds)
    sites = sites_of(found, bounds=within, min_samples=min_samples, epsilons=epsilons)
    left_out = [name for name, _ in sites.left_out]
    links = links_of(sites.names, left_out, degree=degree, edges=edges)
    return asking.asked(
        sites,
        links,
        mode=mode,
        epsilons=epsilons,
        algorithm=algorithm,
        runs=runs,
        samples=samples,
        seed=seed,
    )


def answer(
    question: Inquiry,
    *,
    out: Path | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    report: Callable[[int], None] = lambda _: None,
    title: str | None = None,
) -> StudyResult:
    """Played and added up. With `out`, what is finished is kept there until all is."""
    parts = runner.played(question, out=out, threads=threads, executor=executor, report=report)
    return StudyResult(question=question, findings=findings(question, parts), title=title or TITLE)


def study(
    data: Any,
    *,
    site: str | None = None,
    value: str | None = None,
    bounds: Any,
    epsilon: Any,
    mode: str = "resample",
    time: str | None = None,
    min_samples: int = MIN_SAMPLES,
    degree: int | None = None,
    edges: Any = None,
    algorithm: Any = "recommended",
    samples: int | None = None,
    runs: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    executor: Executor | None = None,
) -> StudyResult:
    """Whether it would have paid to learn together, with these data.

    `data` is a CSV or Parquet file, a dataframe, or a mapping: of columns, with the names of two
    of them as `site` and `value`, or from sites to their values. `bounds` (lo, hi) are public, and
    `epsilon`, one or several, is promised for each sample: pure epsilon-DP, event level,
    replace-one, counts public.

    `mode` "resample" draws rows of each site with replacement, up to `samples` at each; the truth
    is the mean of its rows. "replay" holds out a random half of each site's rows, whose mean is
    the truth, and feeds the others in their order (that of the column `time`, or of the data) at
    each site's own pace. Sites with fewer than `min_samples` rows are left out. Everybody is
    everybody's neighbour unless there is a `degree`, or `edges`: pairs of sites, or a file of them.
    `algorithm`: relay, paper or one of its rules, local; one or several. None of them is
    told a variance.

    `executor`: whoever computes the batches instead of threads, to the same bits. All rows are sent
    to its workers.
    """
    question = prepare(
        data,
        site=site,
        value=value,
        bounds=bounds,
        epsilon=epsilon,
        mode=mode,
        time=time,
        min_samples=min_samples,
        degree=degree,
        edges=edges,
        algorithm=algorithm,
        samples=samples,
        runs=runs,
        seed=seed,
    )
    return answer(question, threads=threads, executor=executor)
