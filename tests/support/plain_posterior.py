"""The answer from a board once more, with loops: slow, and written to be obviously right.

A model is (means, weights, tau2, free, log-likelihood); `v` are variances of records.
"""

from collections.abc import Sequence
from math import cbrt, exp, inf, log, pi, sqrt

PlainModel = tuple[list[float], list[float], float, bool, float]


def log_normal(x: float, mean: float, variance: float) -> float:
    return -0.5 * (x - mean) ** 2 / variance - 0.5 * log(2 * pi * variance)


def log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top + log(sum(exp(one - top) for one in logs))


def memberships(
    x: list[float], v: list[float], m: list[float], w: list[float], tau2: float
) -> tuple[float, list[list[float]]]:
    """The log-likelihood, and r[b][k]."""
    loglik, r = 0.0, []
    for x_b, v_b in zip(x, v, strict=True):
        logs = [log(w_k) + log_normal(x_b, m_k, v_b + tau2) for m_k, w_k in zip(m, w, strict=True)]
        all_of_them = log_sum(logs)
        loglik += all_of_them
        r.append([exp(one - all_of_them) for one in logs])
    return loglik, r


def expectation_maximisation(
    x: list[float], v: list[float], m: list[float], w: list[float], tau2: float, free: bool
) -> PlainModel:
    """To the end, where a step gains less than 1e-5."""
    before = -inf
    agents = range(len(x))
    while True:
        loglik, r = memberships(x, v, m, w, tau2)
        if loglik - before < 1e-5:
            return m, w, tau2, free, loglik
        before = loglik
        for k in range(len(m)):
            precision = sum(r[b][k] / (v[b] + tau2) for b in agents)
            if precision > 0:
                m = [
                    *m[:k],
                    sum(r[b][k] * x[b] / (v[b] + tau2) for b in agents) / precision,
                    *m[k + 1 :],
                ]
            w = [*w[:k], max(sum(r[b][k] for b in agents) / len(x), 1e-9), *w[k + 1 :]]
        if free:
            spread = 0.0
            for b in agents:
                shrink = tau2 / (tau2 + v[b])
                for k in range(len(m)):
                    spread += r[b][k] * ((shrink * (x[b] - m[k])) ** 2 + shrink * v[b])
            tau2 = spread / len(x)


def fitted(x: list[float], v: list[float], largest: int = 6) -> list[PlainModel]:
    """K = 1, 2, ... without and with tau2: every component split in turn, and the best kept."""
    models = []
    mean = sum(x) / len(x)
    variance = sum((x_b - mean) ** 2 for x_b in x) / len(x)
    noise = sum(v) / len(v)
    for free in (False, True):
        start = max(variance - noise, 0.01 * noise) if free else 0.0
        model = expectation_maximisation(x, v, [mean], [1.0], start, free)
        models.append(model)
        while len(model[0]) < largest:
            m, w, tau2, _, loglik = model
            r = memberships(x, v, m, w, tau2)[1]
            trials = []
            for k in range(len(m)):
                size = sum(r_b[k] for r_b in r)
                sd = sqrt(
                    sum(r_b[k] * (x_b - m[k]) ** 2 for r_b, x_b in zip(r, x, strict=True)) / size
                )
                m_two = [*m[:k], m[k] - sd, m[k] + sd, *m[k + 1 :]]
                w_two = [*w[:k], w[k] / 2, w[k] / 2, *w[k + 1 :]]
                trials.append(expectation_maximisation(x, v, m_two, w_two, tau2 / 4, free))
            model = max(trials, key=lambda trial: trial[4])
            models.append(model)
            if model[4] - loglik < 0.5:
                break
    return models


def scores(models: Sequence[PlainModel], v: list[float]) -> list[float]:
    """Less what parameters cost, the places of components, and half a place for their spread."""
    (overall,) = (tau2 for m, _, tau2, free, _ in models if free and len(m) == 1)
    place = log(1 + overall * sum(1 / v_b for v_b in v) / len(v))
    return [
        loglik - 0.15 * (2 * len(m) - 1) * log(len(v)) - place * (len(m) + free / 2)
        for m, _, _, free, loglik in models
    ]


def probabilities(models: Sequence[PlainModel], v: list[float]) -> list[float]:
    found = scores(models, v)
    whole = log_sum(found)
    return [exp(score - whole) for score in found]


def posterior(
    x: list[float],
    v: list[float],
    models: Sequence[PlainModel],
    *,
    me: int | None,
    x_bar: float,
    s2: float,
    width: float,
) -> tuple[float, float]:
    """Mean and variance of my own mean, before limited translation. `me`: my record, left out."""
    others = [b for b in range(len(x)) if b != me]
    count = len(others) + 1
    overall = next(model for model in models if model[3] and len(model[0]) == 1)
    wide = 4 * overall[2] + s2
    flat = max(-log(width), log_normal(x_bar, overall[0][0], wide))
    first = second = kept = 0.0
    for model, probability in zip(models, probabilities(models, v), strict=True):
        if probability < 1e-4:
            continue
        m, w, tau2, _, _ = model
        r = memberships(x, v, m, w, tau2)[1]
        logs, y, variances, priors = [], [], [], []
        for k in range(len(m)):
            size = sum(r[b][k] for b in others)
            priors.append(((size + 1 / len(m)) / count) ** 0.5)
            if size < 0.3:
                continue
            p = sum(r[b][k] / (v[b] + tau2) for b in others)
            m_k = sum(r[b][k] * x[b] / (v[b] + tau2) for b in others) / p
            doubt = sum(
                r[b][k] * (1 - r[b][k]) * (x[b] - m[k]) ** 2 / (v[b] + tau2) ** 2
                for b in range(len(x))
            )
            information = max(p - doubt, p / 10)
            big_v = 1 / information + tau2
            v_a = max(0.0 if me is None else v[me], size / p - tau2)
            u = 0.83 * v_a * cbrt(log(count) * p / (size * information))
            b2 = u * max(1.0, v_a / s2) ** 0.25
            o = max(0.0, (b2 - s2 - tau2) / (b2 + s2 + tau2))
            pooled = (m_k * s2 + x_bar * big_v) / (big_v + s2)
            y.append(o * x_bar + (1 - o) * pooled)
            share = s2 / (big_v + s2)
            variances.append(
                o**2 * s2 + (1 - o**2) * big_v * share + (1 - o) ** 2 * share**2 * u / 2
            )
            logs.append(log(priors[-1]) + log_normal(x_bar, m_k, big_v + s2))
        spare = len(m) / log(max(count, 3))
        logs.append(log(max(0.005, spare / (count + spare)) * sum(priors)) + flat)
        y.append(x_bar)
        variances.append(s2)
        whole = log_sum(logs)
        for one, y_k, variance in zip(logs, y, variances, strict=True):
            q = probability * exp(one - whole)
            first += q * (y_k - x_bar)
            second += q * (variance + (y_k - x_bar) ** 2)
        kept += probability
    return x_bar + first / kept, second / kept - (first / kept) ** 2
