"""The algorithms that have a name: the one place that lists them.

| name | what is exchanged | answer |
|---|---|---|
| `paper` | release, class size, consensus value, in rounds | Algorithm 1 |
| `relay` | signed releases of everybody, whenever there is news | a posterior mean |

`recommended` is an alias, of `relay`, in library, simulator and node. What is kept or compared
(states, agreements between neighbours, saved scenarios, labels of results) has the name it stands
for, so that to move it changes nobody's meaning.
"""

from collections.abc import Mapping
from typing import Any

from colme.errors import ConfigError, one_of
from colme.protocol.algorithm import Algorithm
from colme.protocol.rounds.paper import Paper
from colme.protocol.snapshot import RETIRED
from colme.relay import Relay
from colme.rules.decision import made_with

ALGORITHMS: Mapping[str, type[Algorithm]] = {kind.name: kind for kind in (Paper, Relay)}

ALIASES: Mapping[str, str] = {"recommended": Relay.name}


def resolved(name: str) -> str:
    """The name itself, or the one that an alias stands for.

    Raises
    ------
    ConfigError
        If the algorithm was retired; the error names the one to use.
    """
    if name == RETIRED:
        expected = f"{Relay.name!r}: {name} was retired. Stored states go on with `{Relay.name}`"
        raise ConfigError("algorithm", name, expected)
    return ALIASES.get(name, name)


def named(name: str, **options: Any) -> Algorithm:
    """The algorithm of this name with these options."""
    kind = ALGORITHMS.get(resolved(name))
    if kind is None:
        raise ConfigError("algorithm", name, one_of(name, [*ALGORITHMS, *ALIASES]))
    made: Algorithm = made_with(kind, kind.name, options)
    return made
