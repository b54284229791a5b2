"""Named settings: what the paper used."""

from math import inf, log

from colme.rules.decision import PAPER_THETA, PowerTheta

PAPER_MEANS = (0.2, 0.4, 0.8)
PAPER_SIGMA = 0.5
PAPER_AGENTS = 200
PAPER_DEGREES = (20, 5)
PAPER_EPSILONS = (1.0, 2.0, 4.0, inf)
PAPER_ROUNDS = 30_000
PAPER_RUNS = 4_000


def nearest_paper_theta(degree: float, epsilon: float) -> PowerTheta:
    """The schedule of Sec. V; beyond its table, the entry nearest in epsilon and then in degree."""

    def distance(entry: tuple[int, float]) -> tuple[float, float]:
        known_degree, known_epsilon = entry
        return abs(1 / epsilon - 1 / known_epsilon), abs(log(max(degree, 1) / known_degree))

    return PAPER_THETA[min(PAPER_THETA, key=distance)]
