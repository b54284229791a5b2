"""The baselines once more, with lists and dicts: slow, and written to be obviously right.

`means[t][a]` is agent a's mean of its t samples, for t = 1, 2, ...; `means[0]` is never looked at.
Every function returns `answers` in the same shape, with an unused `answers[0]`, and who keeps whom
in the end. `neighbours[a]` is a set.
"""

from collections.abc import Callable
from math import inf, log, sqrt

Rows = list[list[float]]
Neighbours = dict[int, set[int]]


def beta(n: int, sigma: float, gamma: float) -> float:
    if n == 0:
        return inf
    return sigma * sqrt((2 / n) * (1 + 1 / n) * log(sqrt(n + 1) / gamma))


def keeps(mean_a: float, n_a: int, mean_b: float, n_b: int, sigma: float, gamma: float) -> bool:
    return abs(mean_a - mean_b) - beta(n_a, sigma, gamma) - beta(n_b, sigma, gamma) <= 0


def ideal(means: Rows, components: list[int]) -> Rows:
    agents = range(len(components))
    answers: Rows = [[]]
    for row in means[1:]:
        answers.append([])
        for a in agents:
            mine = [row[b] for b in agents if components[b] == components[a]]
            answers[-1].append(sum(mine) / len(mine))
    return answers


def colme(
    means: Rows, sigma: float, delta: float, restricted: bool, weights: str
) -> tuple[Rows, Neighbours]:
    agents = range(len(means[1]))
    gamma = delta / (8 * len(agents))
    memory: dict[int, dict[int, tuple[float, int]]] = {
        a: dict.fromkeys(agents, (0.0, 0)) for a in agents
    }
    last = dict.fromkeys(agents, -1)
    answers: Rows = [[]]
    classes: Neighbours = {}

    def class_of(a: int) -> set[int]:
        mine = memory[a][a]
        return {b for b in agents if keeps(*mine, *memory[a][b], sigma, gamma)}

    def weight(a: int, b: int) -> float:
        (mean_a, n_a), (mean_b, n_b) = memory[a][a], memory[a][b]
        beta_a, beta_b = beta(n_a, sigma, gamma), beta(n_b, sigma, gamma)
        low = sorted([mean_a - beta_a, mean_b - beta_b])
        high = sorted([mean_a + beta_a, mean_b + beta_b])
        overlap, union = high[0] - low[1], high[1] - low[0]
        if weights == "simple":
            return 1.0
        if weights == "aggressive" and not min(beta_a, beta_b) <= overlap:
            return 0.0
        return overlap / union

    for t in range(1, len(means)):
        answers.append([])
        for a in agents:
            memory[a][a] = (means[t][a], t)
            turns = [(last[a] + i) % len(agents) for i in range(1, len(agents) + 1)]
            candidates = class_of(a) if restricted else set(agents)
            turns = [b for b in turns if b in candidates and b != a]
            if turns:
                memory[a][turns[0]] = (means[t][turns[0]], t)
                last[a] = turns[0]
            classes[a] = class_of(a)
            heard = [b for b in classes[a] if memory[a][b][1] > 0]
            top = sum(memory[a][b][1] * weight(a, b) * memory[a][b][0] for b in heard)
            bottom = sum(memory[a][b][1] * weight(a, b) for b in heard)
            answers[t].append(top / bottom)
    return answers, classes


def drop(kept: Neighbours, means: Rows, t: int, sigma: float, gamma: float) -> set[int]:
    """The rule of C-ColME and B-ColME; returns who dropped anybody."""
    changed = set()
    for a, peers in kept.items():
        if t == 1:
            break
        for b in sorted(peers):
            if not keeps(means[t][a], t, means[t - 1][b], t - 1, sigma, gamma):
                peers.remove(b)
                changed.add(a)
    return changed


def graph_gamma(neighbours: Neighbours, delta: float) -> float:
    return delta / (4 * max(len(n) for n in neighbours.values()) * len(neighbours))


def c_colme(
    means: Rows,
    neighbours: Neighbours,
    sigma: float,
    delta: float,
    truth: list[int] | None = None,
) -> tuple[Rows, Neighbours]:
    """With a global reset if the true classes are given."""
    gamma = graph_gamma(neighbours, delta)
    agents = range(len(neighbours))
    kept = {a: set(n) for a, n in neighbours.items()}
    consensus = [0.0 for _ in agents]
    s = [0 for _ in agents]
    learnt = anybody_changed = False
    answers: Rows = [[]]
    for t in range(1, len(means)):
        s = [n + 1 for n in s]
        if truth is not None and not learnt:
            learnt = all(truth[a] == truth[b] for a in agents for b in kept[a])
            if anybody_changed or learnt:
                s = [1 for _ in agents]
        changed = drop(kept, means, t, sigma, gamma)
        anybody_changed = bool(changed)
        if truth is None:
            s = [1 if a in changed else s[a] for a in agents]
        size = [1 + len(kept[a]) for a in agents]
        new = []
        for a in agents:
            w = {b: 1 / (max(size[a], size[b]) + 1) for b in kept[a]}
            w[a] = 1 - sum(w.values())
            alpha = s[a] / (s[a] + 1)
            mix = sum(w[b] * consensus[b] for b in w)
            new.append((1 - alpha) * means[t][a] + alpha * mix)
        consensus = new
        answers.append(consensus)
    return answers, kept


def b_colme(
    means: Rows, neighbours: Neighbours, sigma: float, delta: float, depth: int
) -> tuple[Rows, Neighbours]:
    gamma = graph_gamma(neighbours, delta)
    agents = range(len(neighbours))
    kept = {a: set(n) for a, n in neighbours.items()}
    # (a, b, h): what a received from b in the latest round.
    m: dict[tuple[int, int, int], float] = {}
    n: dict[tuple[int, int, int], int] = {}
    answers: Rows = [[]]
    for t in range(1, len(means)):
        if t >= 2:
            new_m: dict[tuple[int, int, int], float] = {}
            new_n: dict[tuple[int, int, int], int] = {}
            for a in agents:
                for b in neighbours[a]:
                    new_m[a, b, 0], new_n[a, b, 0] = means[t - 1][b], 1
                    for h in range(1, depth + 1):
                        others = kept[b] - {a}
                        new_m[a, b, h] = sum(m.get((b, k, h - 1), 0.0) for k in others)
                        new_n[a, b, h] = sum(n.get((b, k, h - 1), 0) for k in others)
            m, n = new_m, new_n
        drop(kept, means, t, sigma, gamma)
        answers.append([])
        for a in agents:
            top, bottom = t * means[t][a], float(t)
            for b in kept[a]:
                for h in range(depth + 1):
                    if t - 1 - h > 0:
                        top += (t - 1 - h) * m[a, b, h]
                        bottom += (t - 1 - h) * n[a, b, h]
            answers[t].append(top / bottom)
    return answers, kept


def private_colme(
    means: Rows,
    noise: Rows,
    half_range: float,
    epsilon: float,
    sigma2: float,
    beta_data: float,
    theta: Callable[[int], float],
) -> tuple[Rows, Neighbours]:
    agents = range(len(means[1]))
    scale = 2 * half_range / epsilon
    sigma2_dp = 8 * half_range**2 / epsilon**2
    sigma, sigma_dp = sqrt(sigma2), sqrt(sigma2_dp)
    beta_one = min(
        max(sigma, beta_data) + max(sigma_dp, scale),
        max(beta_data + scale, sqrt(sigma2 + sigma2_dp)),
    )
    answers: Rows = [[]]
    classes: Neighbours = {}
    for t in range(1, len(means)):
        level = log(2 / theta(t))
        z = 2 * (2 * beta_one / sqrt(t)) * level
        z += sqrt(2 * sigma2 + 2 * sigma2_dp) / sqrt(t) * sqrt(2 * level)
        release = [means[t][a] + scale * noise[t][a] for a in agents]
        answers.append([])
        for a in agents:
            classes[a] = {b for b in agents if b == a or abs(release[a] - release[b]) < z}
            own, others = t / sigma2, t / (sigma2 + sigma2_dp)
            top = own * means[t][a] + sum(others * release[b] for b in classes[a] - {a})
            bottom = own + others * (len(classes[a]) - 1)
            answers[t].append(top / bottom)
    return answers, classes
