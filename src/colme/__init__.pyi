"""Names at the top, for those who check types; `_HOMES` in __init__.py imports them."""

from typing import Any

from colme.graph import Graph as Graph
from colme.inference.answers import Own as Own
from colme.inference.answers import Posterior as Posterior
from colme.inference.answers import posterior as posterior
from colme.network import Network as Network
from colme.node.node import Node as Node
from colme.plan.forecast import Forecast as Forecast
from colme.plan.forecast import forecast as forecast
from colme.plan.question import Question as Question
from colme.privacy.mechanism import SecureLaplace as SecureLaplace
from colme.privacy.mechanism import SeededLaplace as SeededLaplace
from colme.protocol.agent import Agent as Agent
from colme.protocol.rounds.paper import Paper as Paper
from colme.protocol.settings import Settings as Settings
from colme.relay import Relay as Relay
from colme.rules.decision import Bernstein as Bernstein
from colme.rules.decision import DecisionRule as DecisionRule
from colme.rules.decision import OptimisticDistance as OptimisticDistance
from colme.rules.decision import Oracle as Oracle
from colme.rules.decision import PowerTheta as PowerTheta
from colme.rules.decision import ThresholdRule as ThresholdRule
from colme.rules.decision import TightBernstein as TightBernstein
from colme.rules.decision import paper_theta as paper_theta
from colme.rules.release import Profile as Profile
from colme.rules.release import Release as Release
from colme.sim.scenario import Scenario as Scenario
from colme.sim.simulation import simulate as simulate
from colme.studies.study import study as study
from colme.theory import Prospect as Prospect

__version__: str
__all__: list[str]

def __getattr__(name: str) -> Any: ...
