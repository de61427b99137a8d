import asyncio

import numpy as np
import pytest

from stepmill.annotators.changepoint_calibration import Calibration
from stepmill.annotators.changepoint_model import DEFAULT, fit

ONE = np.array([(8, 8), (8, 0), (0, 8)])
OTHER = np.array([(4, 12), (2, 2), (1, 7), (0, 4)])


def test_without_first_problems_all_use_the_default():
    assert asyncio.run(Calibration().weights("p")) == DEFAULT


def test_others_wait_for_the_first_and_use_what_they_taught():
    async def run():
        calibration = Calibration(["a", "b"])
        assert await calibration.weights("a") == DEFAULT
        waiting = asyncio.ensure_future(calibration.weights("c"))
        calibration.learn("b", OTHER)
        calibration.learn("c", ONE)  # not one of the first
        calibration.close("b")
        calibration.close("c")
        await asyncio.sleep(0)
        assert not waiting.done()
        calibration.learn("a", ONE)
        calibration.close("a")
        return await waiting

    assert asyncio.run(run()) == fit([ONE, OTHER])


def test_a_first_problem_that_teaches_nothing_is_not_waited_for():
    async def run():
        calibration = Calibration(["a"])
        calibration.close("a")
        return await asyncio.wait_for(calibration.weights("b"), 5)

    assert asyncio.run(run()) == DEFAULT


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_the_order_in_which_they_end_makes_no_difference(order):
    async def run():
        calibration = Calibration(["a", "b"])
        for name in order:
            calibration.learn(name, {"a": ONE, "b": OTHER}[name])
            calibration.close(name)
        return await calibration.weights("c")

    assert asyncio.run(run()) == fit([ONE, OTHER])
