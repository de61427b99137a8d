"""How the draws of one prefix are put together into requests."""

import itertools
from collections.abc import Sequence


def draw_groups(
    draws: Sequence[int], *, together: bool, most: int | None = None
) -> list[list[int]]:
    """Draws cut into requests: runs of successive indices, or single ones.

    A request for n draws has one seed, its first draw's; vLLM counts up from there for the others.

    Args:
        draws: increasing indices.
        together: False for one draw per request, as greedy decoding asks for.
        most: draws in one request, at most; None for no bound.
    """
    if not together:
        return [[draw] for draw in draws]
    runs = [
        [draw for _, draw in run]
        for _, run in itertools.groupby(enumerate(draws), key=lambda pair: pair[1] - pair[0])
    ]
    if most is None:
        return runs
    return [run[i : i + most] for run in runs for i in range(0, len(run), most)]
