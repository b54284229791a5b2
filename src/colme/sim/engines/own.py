"""A baseline or an engine of the user's own: an object from Python, or `module:attribute`."""

from typing import Any, ClassVar

from pydantic import ConfigDict, field_serializer, model_validator

from colme import plugins
from colme.errors import ConfigError
from colme.sim.engines.baselines import BaselineEngine, BaselineTable
from colme.sim.engines.engine import Engine


class OwnTable(BaselineTable):
    """What it has beside a name are options, with which the object is called.

    An engine is a subclass of `Engine`; it finds its options in its entrant. Anything else that can
    be called takes a `Run`, and the options, and makes a `Baseline`.
    """

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    private: ClassVar[bool] = True

    @property
    def engine(self) -> type[Engine]:
        """The object itself, or the one that runs baselines."""
        made = self.made
        return made if isinstance(made, type) and issubclass(made, Engine) else BaselineEngine

    @property
    def needs_one_epsilon(self) -> bool:
        """A baseline is told one profile; an engine can ask for everybody's."""
        return self.engine is BaselineEngine

    @property
    def allows_paces(self) -> bool:
        """A baseline is not told them; an engine can ask for everybody's counts."""
        return self.engine is not BaselineEngine

    @property
    def allows_liars(self) -> bool:
        """A baseline is shown samples; an engine can ask what liars tell."""
        return self.engine is not BaselineEngine

    @model_validator(mode="after")
    def _can_be_called(self) -> "OwnTable":
        if not callable(self.made):
            expected = "an Engine, a callable that makes a Baseline of a Run, or module:attribute"
            raise ConfigError("algorithm", self.algorithm, expected)
        return self

    @field_serializer("algorithm")
    def _plain_algorithm(self, algorithm: Any) -> str:
        return plugins.text_of(algorithm)

    @property
    def label(self) -> str:
        """Its name, or that of the object."""
        return self.name or plugins.text_of(self.algorithm).rpartition(":")[2]

    @property
    def made(self) -> Any:
        """The object itself."""
        text = self.algorithm
        return plugins.load("algorithm", text) if isinstance(text, str) else text
