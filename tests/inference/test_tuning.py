"""One object holds every tuned number, and a changed copy reaches the whole answer."""

import ast
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import colme.inference
from colme.inference import mixture, posterior
from colme.inference.answers import answers
from colme.inference.tuning import TUNING, EmTuning, PosteriorTuning, Tuning
from support.released import classes, world

SOURCES = [
    ast.parse(path.read_text())
    for path in Path(colme.inference.__path__[0]).glob("*.py")
    if path.stem not in ("tuning", "obstacles")
]


def test_the_default_is_a_default_and_nothing_else() -> None:
    """A function that reads `TUNING.x` itself would ignore the copy that it was given."""
    read = [
        node
        for tree in SOURCES
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "TUNING"
    ]
    assert not read


def test_every_number_is_used() -> None:
    names = {
        node.attr for tree in SOURCES for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    nested = {*EmTuning._fields, *PosteriorTuning._fields}
    assert {one.name for one in fields(TUNING)} | nested <= names


@pytest.mark.parametrize(
    "tuning",
    [
        replace(TUNING, reach=9.0, early_reach=60.0),
        replace(TUNING, parameter_cost=0.5),
        replace(TUNING, em=TUNING.em._replace(steps=2)),
        replace(TUNING, posterior=TUNING.posterior._replace(prior_power=0.7, no_class=0.2)),
    ],
    ids=["limit", "prior", "em", "posterior"],
)
def test_a_changed_copy_changes_the_answer_compiled_or_not(
    tuning: Tuning, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the same numbers: 1e-9 of a standard deviation."""
    pytest.importorskip("numba")
    generator = np.random.default_rng(1)
    made = world(classes(60, generator), count=100, epsilon=4.0, generator=generator)
    default = answers(made.board, made.owners)
    fast = answers(made.board, made.owners, tuning=tuning)
    for module in (mixture, posterior):
        monkeypatch.setattr(module, "compiled", lambda function: function)
    plain = answers(made.board, made.owners, tuning=tuning)
    assert np.abs((fast.value - default.value) / default.sd).max() > 1e-4
    np.testing.assert_allclose(fast.value, plain.value, rtol=0, atol=1e-9 * plain.sd.min())
    np.testing.assert_allclose(fast.sd, plain.sd, rtol=1e-9)
