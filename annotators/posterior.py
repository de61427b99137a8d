"""What c successes in k draws say of a success rate, under a uniform prior.

The posterior is Beta(c + 1, k - c + 1). For whole numbers its tail is a sum over a binomial
distribution, so no special functions are needed. It does not depend on the rule by which the draws
were stopped, which the share c / k does.
"""

from functools import lru_cache
from math import exp, fsum, lgamma, log, log1p


def probability_above(rate: float, c: int, k: int) -> float:
    """P(success rate > `rate` | c of k), in [0, 1].

    Equal to P(X <= c) for X ~ Binomial(k + 1, rate).

    Args:
        rate: in [0, 1].
        c: successes, 0 <= c <= k.
        k: draws.
    """
    if rate <= 0:
        return 1.0
    if rate >= 1:
        return 0.0
    n = k + 1
    logs = (
        lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(rate) + (n - i) * log1p(-rate)
        for i in range(c + 1)
    )
    return min(1.0, fsum(map(exp, logs)))


@lru_cache(maxsize=100_000)
def credible_interval(c: int, k: int, mass: float = 0.95) -> tuple[float, float]:
    """The central interval that holds `mass` of the posterior of c of k; within 1e-9."""
    tail = (1 - mass) / 2
    return _quantile(tail, c, k), _quantile(1 - tail, c, k)


def _quantile(share: float, c: int, k: int) -> float:
    """The rate below which `share` of the posterior lies, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        if 1 - probability_above(middle, c, k) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2
