"""A baseline or an engine of the user's own: an object from Python, or `module:attribute`."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import ConfigDict, field_serializer, model_validator

from colme import naming
from colme.errors import ConfigError
from colme.sim.engines.baselines import Baseline, BaselineEngine, BaselineTable, Run
from colme.sim.engines.engine import Cell, Chunk, Cost, Engine, Entrant, Setting, World
from colme.sim.engines.measure import Record


class OwnEngine(Engine):
    """Passes everything on to the engine that the table names, or to baselines of its making."""

    work: ClassVar[float] = 50.0

    @classmethod
    def prepare(cls, setting: Setting, entrants: Sequence[Entrant]) -> list[Any]:
        """Each entrant is on its own."""
        return [
            (kind, kind.prepare(setting, [(table, level)]))
            for table, level in entrants
            for kind in [_engine_of(table)]
        ]

    def __init__(self, world: World, entrants: Sequence[Entrant], prepared: list[Any]) -> None:
        super().__init__(world, entrants, prepared)
        self._inside: dict[Cell, Engine] = {
            (table.label, level): kind(world, [(table, level)], ready)
            for (table, level), (kind, ready) in zip(entrants, prepared, strict=True)
        }

    def advance(self, chunk: Chunk) -> None:
        """One after the other."""
        for engine in self._inside.values():
            engine.advance(chunk)

    def cost(self, cell: Cell) -> Sequence[Cost]:
        """As the engine counts it."""
        return self._inside[cell].cost(cell)

    def measured(self) -> dict[Cell, Record]:
        """What the engines have recorded."""
        return {cell: engine.measured()[cell] for cell, engine in self._inside.items()}


class OwnTable(BaselineTable):
    """What it has beside a name are options, with which the object is called.

    An engine is a subclass of `Engine`; it finds its options in its entrant. Anything else that can
    be called takes a `Run`, and the options, and makes a `Baseline`.
    """

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    engine: ClassVar[type[Engine]] = OwnEngine
    private: ClassVar[bool] = True

    algorithm: Any

    @model_validator(mode="after")
    def _can_be_called(self) -> "OwnTable":
        if not callable(self.made):
            expected = "an Engine, a callable that makes a Baseline of a Run, or module:attribute"
            raise ConfigError("algorithm", self.algorithm, expected)
        return self

    @field_serializer("algorithm")
    def _plain_algorithm(self, algorithm: Any) -> str:
        return naming.text_of(algorithm)

    @property
    def label(self) -> str:
        """Its name, or that of the object."""
        return self.name or naming.text_of(self.algorithm).rpartition(":")[2]

    @property
    def made(self) -> Any:
        """The object itself."""
        text = self.algorithm
        return naming.load("algorithm", text) if isinstance(text, str) else text

    @property
    def options(self) -> dict[str, Any]:
        """What was given beside the name."""
        return dict(self.model_extra or {})

    def make(self, run: Run) -> Baseline:
        """The player of one run."""
        player: Baseline = self.made(run, **self.options)
        return player


def _engine_of(table: Any) -> type[Engine]:
    made = table.made
    is_engine = isinstance(made, type) and issubclass(made, Engine)
    return made if is_engine else BaselineEngine
