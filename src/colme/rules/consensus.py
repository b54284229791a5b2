"""Edge weights W, alpha schedules and the mix (Eq. 2 and Algorithm 1, line 15)."""

from collections.abc import Callable, Iterable


def added(values: Iterable[float]) -> float:
    """Sum that has the same bits wherever it is computed: one after the other, each sum rounded.

    Python's own `sum` does so up to 3.11, and carries what rounding loses from 3.12 on: agents that
    go on under a newer Python, and the compiled kernel, would differ from it in the last bit.
    """
    total = 0.0
    for value in values:
        total += value
    return total


AlphaSchedule = Callable[[int], float]
"""alpha as a function of the rounds since the agent's last topology change, from 1."""


def edge_weight(size_a: int, size_b: int) -> float:
    """W_ab of Eq. (2). Symmetric in its arguments, so mixing preserves the class sum."""
    return 1.0 / (max(size_a, size_b) + 1)


def theorem_alpha(age: int) -> float:
    """alpha_t = t / (t + 1): the schedule of Theorem 1."""
    return age / (age + 1)


def stepped_alpha(age: int) -> float:
    """alpha_t = (floor(t / 10) + 1) / (floor(t / 10) + 2): the faster schedule of Sec. V."""
    step = age // 10 + 1
    return step / (step + 1)


def next_age(age: int, changed: bool) -> int:
    """Sec. V: a topology change resets the time of the alpha schedule to 1, per agent."""
    return 1 if changed else age + 1


def mixed(own: float, weighted: Iterable[tuple[float, float]]) -> float:
    """sum of W_ab mu_b over my class, from (W_ab, mu_b) of the others; I weigh what is left."""
    # own + sum of w (other - own) is the same sum, and leaves a class of equals exactly as it is.
    return own + added(weight * (value - own) for weight, value in weighted)


def consensus(alpha: float, x_tilde: float, mix: float) -> float:
    """Algorithm 1, line 15: mu-tilde-hat of this round."""
    return (1 - alpha) * x_tilde + alpha * mix


def looks_no_larger_than_two(sizes: Iterable[int]) -> bool:
    """The last branch of Algorithm 1, from |C_b| of every b in my class, me included."""
    return all(size <= 2 for size in sizes)
