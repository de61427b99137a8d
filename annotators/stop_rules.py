"""Tests that stop the draws at one prefix as soon as they are clear enough: alive or dead.

Pure functions of counts: right among known draws. Sources: Wald's sequential probability ratio test
(1945); the Beta posterior of a rate under a uniform prior. Both may be asked after any draw without
a correction; what they cost in bias of c / k is the label rule's to mend.
"""

from math import log, log1p

from stepmill.annotators.posterior import probability_above


def sequential_test(c: int, k: int, high: float, low: float, error: float) -> bool | None:
    """Wald's test: True for `high`, False for `low`, None to go on.

    Args:
        c: right draws.
        k: known draws.
        high: success rate of a living prefix.
        low: that of a dead one, below `high`.
        error: wanted rate of mistakes either way, in (0, 0.5]; 0.5 always decides.
    """
    ratio = c * log(high / low) + (k - c) * (log1p(-high) - log1p(-low))
    bound = log((1 - error) / error)
    if ratio >= bound:
        return True
    return False if ratio <= -bound else None


def posterior_test(c: int, k: int, threshold: float, error: float) -> bool | None:
    """Whether the rate is above `threshold` with probability 1 - `error` or more; None to go on.

    False: it is below with that probability. The prior is uniform.
    """
    above = probability_above(threshold, c, k)
    if above >= 1 - error:
        return True
    return False if above <= error else None
