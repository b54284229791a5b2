"""What drives an agent, whatever it exchanges: samples in, stored before anything is sent."""

from colme.node.driving.driver import AgentDriver
from colme.node.driving.journal import Journal

__all__ = ["AgentDriver", "Journal"]
