import asyncio
from collections import Counter

import pytest

from stepmill.engines.server_pool import Server, ServerPool
from stepmill.errors import EngineDead

URLS = ("http://a", "http://b", "http://c")


async def always_well(url: str) -> str:
    return ""


async def never_well(url: str) -> str:
    return "still down"


def make_pool(urls=URLS, max_in_flight=64, patience=5.0, probe=always_well) -> ServerPool:
    return ServerPool(urls, max_in_flight, patience, probe)


async def home(pool: ServerPool, family: str) -> Server:
    """Where a lone request of `family` goes."""
    async with pool.slot(family, 1) as server:
        return server


def test_requests_of_one_family_go_to_one_server():
    async def main():
        pool = make_pool()
        return {(await home(pool, "question")).url for _ in range(20)}

    assert len(asyncio.run(main())) == 1


def test_families_spread_over_the_servers():
    async def main():
        pool = make_pool()
        return Counter([(await home(pool, f"question {i}")).url for i in range(300)])

    # 100 each on average; 60 is 5 standard deviations away
    assert min(asyncio.run(main())[url] for url in URLS) > 60


def test_a_servers_death_moves_its_own_families_only():
    async def main():
        pool = make_pool(probe=never_well)
        before = {f: (await home(pool, f)).url for f in map(str, range(60))}
        pool.take_out(pool.servers[0], "gone")
        after = {f: (await home(pool, f)).url for f in map(str, range(60))}
        await pool.close()
        return before, after

    before, after = asyncio.run(main())
    assert {after[f] for f in before if before[f] == URLS[0]} == set(URLS[1:])
    assert all(after[f] == before[f] for f in before if before[f] != URLS[0])


def test_a_family_spills_when_its_home_is_over_its_share():
    async def main():
        pool = make_pool(max_in_flight=80)
        first = await home(pool, "hot")
        used: Counter[str] = Counter()
        slots = [pool.slot("hot", 1) for _ in range(60)]
        for slot in slots:
            used[(await slot.__aenter__()).url] += 1
        for slot in slots:
            await slot.__aexit__(None, None, None)
        return first.url, used

    first, used = asyncio.run(main())
    assert set(used) == set(URLS)
    assert used[first] == max(used.values()) <= 60 / 3 * 1.25


def test_no_server_gets_more_than_its_bound_and_the_rest_wait_their_turn():
    async def main():
        pool = make_pool(urls=("http://a",), max_in_flight=4)
        most, order = 0, []

        async def work(i: int) -> None:
            nonlocal most
            async with pool.slot("q", 2) as server:
                most = max(most, server.in_flight)
                order.append(i)
                await asyncio.sleep(0)

        await asyncio.gather(*(work(i) for i in range(20)))
        return most, order, pool.servers[0].in_flight

    most, order, left = asyncio.run(main())
    assert most == 4
    assert order == list(range(20))
    assert left == 0


def test_a_waiter_that_is_cancelled_leaves_no_room_behind():
    async def main():
        pool = make_pool(urls=("http://a",), max_in_flight=1)

        async def hold() -> None:
            async with pool.slot("q", 1):
                await asyncio.sleep(3600)

        holder = asyncio.create_task(hold())
        await asyncio.sleep(0)
        waiter = asyncio.create_task(hold())
        await asyncio.sleep(0)
        holder.cancel()  # hands its room to the waiter ...
        await asyncio.sleep(0)
        waiter.cancel()  # ... which is cancelled before it can take it
        await asyncio.gather(holder, waiter, return_exceptions=True)
        async with asyncio.timeout(5), pool.slot("q", 1) as server:
            return server.in_flight

    assert asyncio.run(main()) == 1


def test_a_failed_server_is_avoided_while_another_has_room():
    async def main():
        pool = make_pool()
        first = await home(pool, "q")
        async with pool.slot("q", 1, avoid={first}) as second:
            return first, second

    first, second = asyncio.run(main())
    assert first is not second


def test_a_dead_server_comes_back_when_its_probe_finds_it_well():
    well = False

    async def probe(url: str) -> str:
        return "" if well else "still down"

    async def main():
        nonlocal well
        pool = make_pool(urls=("http://a",), probe=probe)
        pool.take_out(pool.servers[0], "broken connection")
        waiting = asyncio.create_task(home(pool, "q"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        assert pool.servers[0].reason == "still down"
        well = True
        return await asyncio.wait_for(waiting, 10)

    server = asyncio.run(main())
    assert server.alive
    assert server.failures == 1


def test_all_servers_dead_for_too_long_ends_waiting_and_later_requests():
    async def main():
        pool = make_pool(patience=0.05, probe=never_well)
        for server in pool.servers:
            pool.take_out(server, "gone")
        with pytest.raises(EngineDead, match=r"0\.05 s .*http://b: still down"):
            await home(pool, "q")
        with pytest.raises(EngineDead):
            await home(pool, "q")
        await pool.close()

    asyncio.run(main())


def test_one_living_server_is_enough_to_go_on():
    async def main():
        pool = make_pool(patience=0.01, probe=never_well)
        for server in pool.servers[1:]:
            pool.take_out(server, "gone")
        await asyncio.sleep(0.1)
        found = await home(pool, "q")
        await pool.close()
        return found.url

    assert asyncio.run(main()) == URLS[0]
