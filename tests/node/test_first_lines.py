"""What a state may be fed: no line twice, no repeatable noise, noise that can be drawn."""

import asyncio
import re
from pathlib import Path

import pytest

from colme.cli.app import run
from colme.errors import ConfigError
from colme.node.config import FileSource, HttpSource, NodeConfig, StdinSource, SyntheticSource
from colme.node.fleet import CONFIG
from colme.node.node import Node
from colme.node.samples import first_lines
from colme.node.samples.feeds import make_noise
from colme.node.samples.first_lines import FirstLines, first_marks
from colme.node.session.rehearsal import check
from colme.node.state import Overview
from colme.privacy.mechanism import SecureLaplace
from colme.protocol.board.identity import InProcess
from support.neighbours import Neighbours
from support.processes import acquainted
from support.refusing import refused
from support.waiting import until


def reading(folder: Path, path: Path, **changes: object) -> NodeConfig:
    """A node that knows nobody and reads this file."""
    source = FileSource(kind="file", path=path, poll=0.01)
    config = Neighbours(folder, "a").config("a")
    return config.model_copy(update={"source": source, **changes})


async def taken(config: NodeConfig, samples: int, word: FirstLines | None = None) -> float:
    """Run until so many samples are in; their mean."""
    async with Node(config, first_lines=word) as node:
        await until(lambda: node.status().samples.taken == samples)
        return (await node.estimate()).alone


async def test_a_new_state_does_not_noise_what_another_has_noised(tmp_path: Path) -> None:
    """A new folder after a change of bounds, and the file as it was: twice the epsilon."""
    path = tmp_path / "samples"
    path.write_text("")
    first = reading(tmp_path / "a", path)

    async with Node(first) as node:
        path.write_text("0.5\n" * 442)
        await until(lambda: node.status().samples.released > 0)
    agreed = first.agreed.model_copy(update={"bounds": (0, 2)})
    second = first.model_copy(update={"agreed": agreed, "state": tmp_path / "another folder"})
    for _ in range(2):
        with refused(ConfigError, "source.path"):
            await Node(second).__aenter__()
    assert Overview.of(second.state).taken == 0


async def test_the_word_is_for_one_start(tmp_path: Path) -> None:
    """In a start script it would speak for the next empty state, too."""
    path = tmp_path / "samples"
    path.write_text("0.5\n0.25\n")
    config = reading(tmp_path / "a", path)

    assert await taken(config, 2, "take") == 0.375
    for word in ("take", "skip"):
        with refused(ConfigError, "--first-lines"):
            await Node(config, first_lines=word).__aenter__()
    with path.open("a") as file:
        file.write("0.75\n")
    assert await taken(config, 3) == 0.5


async def test_one_can_begin_after_the_lines_that_are_there(tmp_path: Path) -> None:
    """Once, and for all later starts; the header is read still."""
    path = tmp_path / "samples"
    path.write_text("price\n0.5\n0.5\n")
    source = FileSource(kind="file", path=path, column="price", poll=0.01)
    config = reading(tmp_path / "a", path, source=source)

    async with Node(config, first_lines="skip") as node:
        await until(lambda: Overview.of(config.state).marks.get(f"file:{path}") == 14)
        assert node.status().samples.taken == 0
    with path.open("a") as file:
        file.write("0.25\n")
    assert await taken(config, 1) == 0.25


async def test_lines_written_after_the_first_start_need_no_word(tmp_path: Path) -> None:
    """Even if the node was stopped before it had seen any, or the file was not there yet."""
    path = tmp_path / "samples"
    config = reading(tmp_path / "a", path)

    async with Node(config):
        await until(lambda: f"file:{path}" in Overview.of(config.state).marks)
    path.write_text("0.5\n")
    assert await taken(config, 1) == 0.5


@pytest.mark.parametrize("word", ["take", "skip"])
async def test_a_word_needs_lines_to_be_about(tmp_path: Path, word: FirstLines) -> None:
    """Else it would be about those that a mount brings later: all taken, whatever was said."""
    path = tmp_path / "samples"
    config = reading(tmp_path / "a", path)

    with pytest.raises(ConfigError, match=r"which is missing.*mount it") as caught:
        await Node(config, first_lines=word).__aenter__()
    assert caught.value.field == "source.path"
    path.touch()
    with pytest.raises(ConfigError, match=r"has no lines.*wait for them.*Start without it"):
        await Node(config, first_lines=word).__aenter__()
    assert not Overview.of(config.state).marks
    path.write_text("0.5\n")
    async with Node(config, first_lines=word):
        await until(lambda: f"file:{path}" in Overview.of(config.state).marks)


async def test_a_start_that_can_not_read_the_column_does_not_use_the_word_up(
    tmp_path: Path,
) -> None:
    """The same command works once the column is right."""
    path = tmp_path / "samples"
    path.write_text("\ufeffprice\n0.5\n", encoding="utf-8")
    source = FileSource(kind="file", path=path, column="price", poll=0.01)
    right = reading(tmp_path / "a", path, source=source)
    wrong = right.model_copy(update={"source": source.model_copy(update={"column": "prize"})})

    for word in ("take", "skip", None):
        with refused(ConfigError, "source.column", seen="prize"):
            await Node(wrong, first_lines=word).__aenter__()
    assert not Overview.of(wrong.state).marks
    assert await taken(right, 1, "take") == 0.5


async def test_another_name_for_the_file_is_another_file(tmp_path: Path) -> None:
    """Also in the same state, which has noised what is in it."""
    path, copy = tmp_path / "samples", tmp_path / "renamed"
    path.write_text("0.5\n")
    config = reading(tmp_path / "a", path)

    await taken(config, 1, "take")
    path.rename(copy)
    renamed = config.model_copy(update={"source": FileSource(kind="file", path=copy)})
    with refused(ConfigError, "source.path"):
        await Node(renamed).__aenter__()
    async with Node(config.model_copy(update={"source": HttpSource(kind="http")})) as node:
        await node.observe(0.25)  # Nothing else is held up.


@pytest.mark.parametrize(
    ("column", "content", "lines"),
    [
        (None, b"", False),
        (None, b"\n \n", False),
        (None, b"0.5", True),
        (None, b"\n\n0.5\n", True),
        ("price", b"price", False),
        ("price", b"\xef\xbb\xbfprice\n\n", False),
        ("price", b"\nprice\n0.5\n", True),
        ("price", b'{"price": 1}\n', True),
        ("price", b'\xef\xbb\xbf {"price": 1}\n', True),
    ],
)
def test_a_header_is_no_line_and_one_that_has_no_end_yet_is(
    tmp_path: Path, column: str | None, content: bytes, lines: bool
) -> None:
    path = tmp_path / "samples"
    path.write_bytes(content)
    spec = FileSource(kind="file", path=path, column=column)
    if lines:
        with refused(ConfigError, "source.path"):
            first_marks(spec, {}, None, state_lost=False)
    else:
        assert first_marks(spec, {}, None, state_lost=False) == {f"file:{path}": 0}


def test_a_line_that_has_no_end_yet_can_not_be_skipped(tmp_path: Path) -> None:
    """Its end would make it one that came later."""
    path = tmp_path / "samples"
    path.write_text("0.5\n0.7")
    with pytest.raises(ConfigError, match="whose last line has no end yet"):
        first_marks(FileSource(kind="file", path=path), {}, "skip", state_lost=False)


def test_a_file_as_standard_input_is_read_again_at_every_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = StdinSource(kind="stdin")
    monkeypatch.setattr(first_lines, "_is_a_file", lambda _: True)
    for word in (None, "skip"):
        with refused(ConfigError, "source.kind"):
            first_marks(spec, {}, word, state_lost=False)
    assert first_marks(spec, {}, "take", state_lost=False) == {}
    with refused(ConfigError, "source.kind"):
        first_marks(spec, {}, "take", state_lost=True)
    monkeypatch.setattr(first_lines, "_is_a_file", lambda _: False)
    assert first_marks(spec, {}, None, state_lost=False) == {}


def test_a_check_says_what_the_start_will_ask_and_takes_no_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "samples"
    path.write_text("0.5\n")
    source = f'kind = "file"\npath = "{path}"\npoll = 0.01'
    (member,) = acquainted(tmp_path / "nodes", 1, {"source": source})
    command = ["node", "--config", str(member.folder / CONFIG), "--check"]
    for words in (["--state-lost"], ["--first-lines", "skip"], ["--told-nothing-since", "b"]):
        assert run([*command, *words]) == 2
        assert "--check: saw 'a word beside it'" in capsys.readouterr().err
    assert run(command) == 0
    assert "your word on them: --first-lines take if" in capsys.readouterr().out
    assert not member.config.state.exists()
    asyncio.run(taken(member.config, 1, "take"))
    assert run(command) == 0
    assert "--first-lines" not in capsys.readouterr().out


def test_the_command_line_knows_the_two_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["node", "--first-lines", "perhaps"]) == 2
    assert "'take', 'skip'" in capsys.readouterr().err


def trial(folder: Path) -> NodeConfig:
    """Made-up samples, seeded noise."""
    seeded = {"noise_seed": 5, "per_round": 10}
    return Neighbours(folder, "a").in_rounds("a", source=seeded, agreed={"rounds": "free"})


def real(config: NodeConfig) -> NodeConfig:
    return config.model_copy(update={"source": HttpSource(kind="http")})


async def stopped_before_its_first_round(config: NodeConfig) -> None:
    """With something stored of it already, as a neighbour's welcome makes it."""
    async with Node(config) as node:
        node._parts.driver.stop()
        await node._parts.driver.observe([])
    assert Overview.of(config.state).round == 0


async def fed(config: NodeConfig) -> None:
    async with Node(config) as node:
        node._parts.driver.stop()  # They wait for a round, and for their noise.
        await node.take([0.5] * 58)
    assert Overview.of(config.state).ledger.waiting == 58


async def test_a_trial_that_never_began_a_round_leaves_its_mark(tmp_path: Path) -> None:
    """Else its state could take real samples in, and be a trial's again when they are noised."""
    config = trial(tmp_path)
    await stopped_before_its_first_round(config)
    with refused(ConfigError, "source"):
        await Node(real(config)).__aenter__()
    async with Node(config) as node:
        await until(lambda: node.status().samples.released > 0)


@pytest.mark.parametrize("samples", [True, False])
async def test_a_state_begun_for_real_samples_is_never_a_trials(
    tmp_path: Path, samples: bool
) -> None:
    config = trial(tmp_path)
    await (fed if samples else stopped_before_its_first_round)(real(config))
    with refused(ConfigError, "source"):
        await Node(config).__aenter__()
    unseeded = config.source.model_copy(update={"noise_seed": None})
    assert isinstance(unseeded, SyntheticSource)
    async with Node(config.model_copy(update={"source": unseeded})):
        pass  # Secure noise, whatever the samples.


async def test_a_mark_of_before_does_not_hide_that_a_file_was_read(tmp_path: Path) -> None:
    """0.1.0 let a trial's state take real samples in: it has the mark, and a place in a file."""
    config = trial(tmp_path)
    await stopped_before_its_first_round(config)
    async with Node(config) as node:
        node._parts.driver.stop()
        await node._parts.driver.observe([0.5], {"file:/data": 4})
    with refused(ConfigError, "source"):
        await Node(config).__aenter__()


TOO_SMALL = {"squares": {"epsilon": 1.2e-4}, "sums": {"epsilon": 5.7e-11, "sigma2": 0.02}}
"""Of what is released: just below what 64 bits allow."""

each = pytest.mark.parametrize("privacy", TOO_SMALL.values(), ids=list(TOO_SMALL))


def alone(folder: Path, **privacy: float) -> NodeConfig:
    return Neighbours(folder, "a").config("a", privacy={"sigma2": None} | privacy)


@each
def test_a_node_does_not_start(tmp_path: Path, privacy: dict[str, float]) -> None:
    """It would take samples in and stop for ever at its first release."""
    config = alone(tmp_path, **privacy)
    with refused(ConfigError, "privacy.epsilon"):
        asyncio.run(Node(config).__aenter__())
    assert not config.state.exists()


@each
def test_check_says_it_too(tmp_path: Path, privacy: dict[str, float]) -> None:
    with refused(ConfigError, "privacy.epsilon"):
        asyncio.run(check(alone(tmp_path, **privacy)))


@each
def test_the_epsilon_that_is_named_works(tmp_path: Path, privacy: dict[str, float]) -> None:
    """And is close to the smallest that does: every scale that the agent asks for is drawn."""
    with pytest.raises(ConfigError) as caught:
        asyncio.run(check(alone(tmp_path / "refused", **privacy)))
    (words,) = re.findall(r"at least (\S+):", caught.value.expected)
    named = float(words)
    assert privacy["epsilon"] < named < 1.03 * privacy["epsilon"]
    config = alone(tmp_path / "named", **{**privacy, "epsilon": named})
    assert asyncio.run(check(config)) == []
    noise = make_noise(config.source, config.settings("a", InProcess("a")))
    assert isinstance(noise, SecureLaplace)


def test_no_privacy_needs_no_noise(tmp_path: Path) -> None:
    assert asyncio.run(check(alone(tmp_path, epsilon=float("inf")))) == []
