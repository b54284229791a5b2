"""The owner's answer in rounds: the agent has it ready."""

from colme.node.owner.answer import Answer
from colme.protocol.agent import Agent


def answer_in_rounds(agent: Agent) -> Answer:
    """The latest; a LocalProtocolError while there is no sample."""
    estimate, neighbours = agent.estimate, len(agent.settings.neighbours)
    alike = estimate.class_size - 1
    return Answer.of(
        estimate,
        samples=agent.counts.taken,
        records=alike if estimate.collaborative else 0,
        classes=None,
        why=None if estimate.collaborative else why_alone(alike, neighbours),
    )


def why_alone(alike: int, neighbours: int) -> str:
    """Of so many neighbours, so many look alike."""
    if alike == 0:
        return f"of {neighbours} neighbours none looks alike so far"
    look = "1 looks" if alike == 1 else f"{alike} look"
    return f"of {neighbours} neighbours {look} alike, and noise is large beside these samples yet"
