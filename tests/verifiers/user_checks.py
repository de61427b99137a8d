"""What a user's own check may look like, for the tests of the `python` checker."""

import time


def even(answer, solution, problem):
    """Right when even; unknown when it says so; never returns for `forever`."""
    if answer == "forever":
        time.sleep(600)
    if answer == "open":
        return None
    return int(answer) % 2 == 0 and problem["question"] != "" and answer in solution


NOT_A_FUNCTION = 5
