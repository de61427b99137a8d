"""Records come back from Arrow as they went in."""

from hypothesis import given
from hypothesis import strategies as st

from stepmill.engines.base import Prefix
from stepmill.pipelines import tables
from stepmill.pipelines.ledger import LedgerRow
from stepmill.records import Completion, Evidence, Outcome, Problem, Solution, Step, Verdict

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
count = st.integers(0, 2**31 - 1)
single = st.floats(width=32, allow_nan=False)
outcomes = st.builds(Outcome, st.sampled_from(Verdict), st.none() | text, text)
ids = st.none() | st.lists(count, max_size=4).map(tuple)
problems = st.builds(
    Problem, text, text, st.none() | text, text, text, text, st.dictionaries(text, text, max_size=3)
)
evidence = st.builds(
    Evidence,
    solution_id=text,
    step=st.none() | st.integers(-1, 99),
    channel=text,
    policy=text,
    verdict=st.none() | st.sampled_from(Verdict),
    value=st.none() | st.floats(allow_nan=False),
    c=st.none() | count,
    k=st.none() | count,
    n_truncated=count,
    n_unknown=count,
    weight=st.floats(allow_nan=False),
    detail=text,
    cost_tokens=st.integers(0, 2**63 - 1),
    stop_reason=text,
)
completions = st.builds(
    Completion,
    text=text,
    finish_reason=text,
    n_tokens=count,
    draw=count,
    token_ids=ids,
    logprobs=st.none() | st.lists(single, max_size=4).map(tuple),
    cached_tokens=st.none() | count,
    prompt_tokens=count,
)
rollouts = st.builds(
    LedgerRow, text, text, st.builds(Prefix, text, text), completions, st.none() | outcomes
)


@st.composite
def solutions(draw):
    texts = draw(st.lists(text, max_size=4))
    steps, start = [], 0
    for index, part in enumerate(texts):
        steps.append(Step(index, part, start, start + len(part)))
        start += len(part)
    return Solution(
        id=draw(text),
        problem_id=draw(text),
        text="".join(texts),
        steps=tuple(steps),
        outcome=draw(outcomes),
        finish_reason=draw(text),
        n_tokens=draw(count),
        policy=draw(text),
        origin=draw(text),
        token_ids=draw(ids),
    )


@given(st.lists(problems, max_size=4))
def test_problems_survive_the_round_trip(records):
    assert tables.problems_from(tables.problems_table(records)) == records


@given(st.lists(solutions(), max_size=4))
def test_solutions_survive_the_round_trip_with_the_text_of_their_steps(records):
    assert tables.solutions_from(tables.solutions_table(records)) == records


@given(st.lists(evidence, max_size=4))
def test_evidence_survives_the_round_trip(records):
    assert tables.evidence_from(tables.evidence_table(records)) == records


@given(st.lists(rollouts, max_size=4))
def test_completions_survive_the_round_trip(records):
    assert tables.rollouts_from(tables.rollouts_table(records)) == records


def test_the_hint_of_token_ids_is_not_part_of_a_stored_prefix():
    row = LedgerRow("p", "q", Prefix("1+1?", "1+", (5, 6)), Completion("1=2", "stop", 2), None)
    (back,) = tables.rollouts_from(tables.rollouts_table([row]))
    assert back.prefix == Prefix("1+1?", "1+")
    assert back.prefix.key == row.prefix.key
