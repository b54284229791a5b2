"""No error and no line of the log quotes a sample: they name its type and its place."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from colme.errors import ColmeError, LocalProtocolError, NodeError, SampleError
from colme.network import Network
from colme.node import config
from colme.node.log import configure
from colme.node.node import Node
from colme.privacy.mechanism import SeededLaplace
from colme.protocol.agent import Agent
from colme.rules.release import Profile
from support.neighbours import Neighbours
from support.owned import served

SECRET = 0.7310585786300049
TEXT = f"{SECRET}x"
PROFILE = Profile.bounded(0, 1, epsilon=1)


def network() -> Network:
    return Network.of_equals({"a": ["b"], "b": ["a"]}, profile=PROFILE, noise=SeededLaplace(1))


def agent() -> Agent:
    return network().agents["a"]


QUOTING: dict[str, tuple[Callable[[], object], type[ColmeError]]] = {
    "a sample of an agent": (lambda: agent().observe(TEXT), SampleError),  # type: ignore[arg-type]
    "a sample as an event": (lambda: agent().step(SECRET), LocalProtocolError),  # type: ignore[arg-type]
    "a sample of a round": (lambda: network().run_round({"a": TEXT}), SampleError),  # type: ignore[dict-item]
    "a round that is one sample": (lambda: network().run_round(SECRET), SampleError),  # type: ignore[arg-type]
    "a stream that is one sample": (lambda: network().run({"a": SECRET, "b": [1]}), SampleError),  # type: ignore[arg-type]
    "a stream that is text": (lambda: network().run({"a": TEXT, "b": [1]}), SampleError),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", QUOTING)
def test_an_error_of_the_library_does_not_quote_a_sample(case: str) -> None:
    fault, kind = QUOTING[case]
    with pytest.raises(kind) as caught:
        fault()
    assert str(SECRET) not in f"{caught.value} {caught.value.args}"


async def test_an_unforeseen_fault_is_told_by_its_kind_and_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(config.Log(format="json"), name="a")
    node = Node(Neighbours(tmp_path, "a").config("a"))

    def breaks(*_: object) -> None:
        raise ValueError("could not convert " + str(SECRET))

    async with node, served(node) as client:  # type: ignore[arg-type]
        monkeypatch.setattr(node._parts.driver.agent._own, "publish", breaks)
        await node.take([0.25] * 50)
        with pytest.raises(NodeError) as caught:
            await node.failed()
        ready = await client.ask("/readyz")
        refused = await client.ask("/samples", "POST", "[0.5]")
        status = await client.ask("/status")
    said = capsys.readouterr().err
    assert "ValueError" in str(caught.value)
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    (stopping,) = [one for one in events if one["event"] == "stopping"]
    assert "breaks" in stopping["trace"]
    assert caught.value.__cause__ is caught.value.__context__ is None
    everything = [str(caught.value), said, *(str(one.body) for one in (ready, refused, status))]
    assert str(SECRET) not in "".join(everything)
    assert ready.code == 503
