"""The public function: records in, one owner's answer out."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from colme import Own, posterior
from colme.errors import InvalidValue
from colme.inference.answers import empirical_margin, releases
from colme.protocol.board.record import Record, origin_of_key
from colme.protocol.own_data import QUANTILE
from colme.rules.weighing import blend
from support.refusing import refused

BOUNDS = (-0.4, 1.4)
SIGMA2 = 0.01


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def records(
    means: Sequence[float], *, count: int = 1000, epsilon: float = 4.0, known: bool = True
) -> list[Record]:
    """Of agents with these means, each off by what its own public facts say."""
    generator = np.random.default_rng(1)
    made = []
    for number, mean in enumerate(means):
        record = Record(
            key=key(number),
            incarnation=0,
            sequence=1,
            count=count,
            epsilon=epsilon,
            bounds=BOUNDS,
            mean=mean,
            variance=SIGMA2 if known else None,
            square=None if known else SIGMA2 + (mean - 0.5) ** 2,
            signature=bytes(64),
        )
        of = blend(record.schedule, count)
        made.append(
            replace(record, mean=mean + generator.normal(0, (of.data * SIGMA2 + of.noise) ** 0.5))
        )
    return made


def own(mean: float, *, count: int = 1000, known: bool = True, number: int | None = 0) -> Own:
    return Own(
        mean=mean,
        count=count,
        variance=SIGMA2,
        known=known,
        bounds=BOUNDS,
        origin=None if number is None else origin_of_key(key(number)),
    )


TWO_CLASSES = [0.2] * 30 + [0.8] * 30
BOARD, ME = records(TWO_CLASSES), own(0.2)


@pytest.mark.parametrize("known", [True, False])
def test_a_class_helps_its_own(known: bool) -> None:
    """x_bar is two standard deviations off: the answer is nearer to the truth, and says so."""
    sd = (SIGMA2 / 1000) ** 0.5
    found = posterior(own(0.2 + 2 * sd, known=known), records(TWO_CLASSES, known=known))
    assert abs(found.value - 0.2) < sd
    assert found.margin < QUANTILE * sqrt(SIGMA2 / 1000)
    assert found.trust > 0.5
    assert found.class_size == pytest.approx(30, abs=2)


def test_ones_own_record_is_left_out() -> None:
    """A lie about oneself does not come back, whatever it is."""
    lied = [replace(BOARD[0], mean=BOARD[0].mean + 0.004), *BOARD[1:]]
    honest, misled = posterior(ME, BOARD), posterior(ME, lied)
    stranger = posterior(own(0.2, number=None), lied)
    assert abs(misled.value - honest.value) < abs(stranger.value - honest.value)
    assert misled.value == pytest.approx(honest.value, abs=0.01 * honest.sd)


def test_without_an_own_record_nothing_is_left_out() -> None:
    assert posterior(own(0.2, number=None), BOARD).class_size == pytest.approx(31, abs=2)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("others", [0, 1, 5])
def test_few_records_are_no_help(others: int, known: bool) -> None:
    """The margin is what it would be alone."""
    found = posterior(own(0.2, known=known), records([0.2] * others, known=known))
    assert (found.value, found.trust, found.class_size) == (0.2, 0.0, 1.0)
    gaussian = QUANTILE * sqrt(SIGMA2 / 1000)
    assert found.margin == (gaussian if known else empirical_margin(SIGMA2, 1000))


def test_noisy_variances_are_not_used_before_they_say_anything() -> None:
    """After 16 samples at epsilon = 1 the noise of the squares is far above the variance."""
    board = records(TWO_CLASSES, count=16, epsilon=1.0, known=False)
    assert posterior(own(0.2, count=16, known=False), board).models is None


def test_declared_and_released_variances_may_be_mixed() -> None:
    declared, released = records(TWO_CLASSES), records(TWO_CLASSES, known=False)
    board = [*declared[:30], *released[30:]]
    assert posterior(own(0.2), board).class_size == pytest.approx(30, abs=2)


def test_a_count_is_believed_up_to_four_times_the_median() -> None:
    """A claim of a thousand million samples is worth no more, and costs no time."""
    four = [replace(BOARD[1], mean=0.21, count=4000), *BOARD[2:]]
    many = [replace(BOARD[1], mean=0.21, count=2**60), *BOARD[2:]]
    assert posterior(ME, many).value == posterior(ME, four).value


def test_a_table_holds_no_more_than_can_be() -> None:
    lies = [replace(BOARD[0], mean=1e100), replace(BOARD[1], count=2**60)]
    made = releases([*lies, *BOARD[2:]], origin=0.5, unit=0.9)
    assert made.x[0] == pytest.approx(0.5 + 4 * 0.9)
    assert made.data[1] == blend(BOARD[1].schedule, 4000).data


@pytest.mark.parametrize("mean", [-0.4, 1.4, 1e100, -1e100])
def test_absurd_records_do_little(mean: float) -> None:
    """Five of sixty, with means that can't be: a tenth of a standard deviation."""
    hostile = [replace(record, mean=mean) for record in BOARD[30:35]]
    one, other = posterior(ME, BOARD), posterior(ME, [*BOARD[:30], *hostile, *BOARD[35:]])
    assert other.value == pytest.approx(one.value, abs=0.1 * one.sd)


def test_absurd_squares_do_little() -> None:
    board = records(TWO_CLASSES, known=False)
    hostile = [replace(record, square=1e100) for record in board[30:33]]
    mine = own(0.2, known=False)
    one, other = posterior(mine, board), posterior(mine, [*board[:30], *hostile, *board[33:]])
    assert other.value == pytest.approx(one.value, abs=0.2 * one.sd)
    assert other.models is not None


def test_an_answer_may_start_from_the_last_one() -> None:
    first = posterior(ME, BOARD)
    second = posterior(ME, BOARD, warm=first.models)
    assert first.models is not None
    assert second.models is not None
    assert len(second.models.models) < len(first.models.models), "else it was a cold one"
    assert second.value == pytest.approx(first.value, abs=0.01 * first.sd)


@pytest.mark.parametrize(
    ("field", "value"),
    [("count", 0), ("mean", 2.0), ("variance", -1.0), ("bounds", (1.0, 0.0)), ("mean", np.nan)],
)
def test_what_can_not_be_is_refused(field: str, value: object) -> None:
    with refused(InvalidValue, field):
        replace(own(0.2), **{field: value})  # type: ignore[arg-type]
