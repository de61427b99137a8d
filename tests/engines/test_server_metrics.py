import asyncio

from stepmill.engines.server_client import ServerClient
from stepmill.engines.server_metrics import PrefixCacheWatch, prefix_cache_counts
from stepmill.engines.stub_server import StubServer

TEXT = """\
# HELP vllm:prefix_cache_queries_total Prefix cache queries, in number of queried tokens.
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1000.0
vllm:prefix_cache_queries_total{engine="1",model_name="m"} 1.5e+03
vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.79e+09
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 600.0
vllm:prefix_cache_hits_total{engine="1",model_name="m"} 0.0
vllm:external_prefix_cache_hits_total{engine="0",model_name="m"} 77.0
"""


def test_counters_are_summed_over_the_engines_of_a_server():
    assert prefix_cache_counts(TEXT) == (2500, 600)


def test_other_servers_metrics_have_no_such_counters():
    assert prefix_cache_counts("llamacpp:prompt_tokens_total 5\n") is None


def test_counts_begin_with_the_first_look_and_outlive_a_servers_restart():
    async def main():
        first, second = StubServer(), StubServer(vllm=False)
        async with first, second:
            client = ServerClient(None, 10, 10)
            watch = PrefixCacheWatch(client, lambda: [first.url, second.url])
            totals = []
            for cached in (100, 130, 5):  # the last one is counted from a restart
                first.cached, first.queried = cached, cached * 2
                await watch.look()
                totals.append(tuple(watch.total))
            await client.close()
            return totals

    assert asyncio.run(main()) == [(0, 0), (60, 30), (70, 35)]
