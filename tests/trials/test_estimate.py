"""Estimates: what is known of a case, of its scenario, and what stays unknown."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.models.prices import at_model
from pytest_recall.models.settings import Prices
from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.trials.cost import MAX_SEEN, Amount, CaseCost, estimate, seen, together
from pytest_recall.trials.cost_text import estimate_section, history_lines
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import TrialCount
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import ERROR, SKIPPED, case_ids, header, trial, unhurried


def call(cost: float | None, source: str = "live") -> Call:
    """Return a call that costs so much."""
    return Call("agent", source, cost=cost)


def record(*trials: Trial) -> Record:
    """Return a run of these trials."""
    return Record(header(), trials)


def test_what_a_case_took_in_a_run_is_all_of_its_trials() -> None:
    first = trial("a", scenario="x", calls=(call(0.5), call(0.25)), seconds=2.0)
    again = trial("a", scenario="x", calls=(call(0.25),), seconds=1.0, repeat=2, rule="pass 2of2")
    assert seen([record(first, again)]) == [CaseCost("a", "x", 1.0, 3.0, trials=2)]


def test_a_case_without_calls_cost_nothing() -> None:
    assert seen([record(trial("a", seconds=1.0))]) == [CaseCost("a", "", 0.0, 1.0)]


def test_one_call_without_a_price_makes_the_cost_unknown() -> None:
    assert seen([record(trial("a", calls=(call(0.5), call(None))))])[0].usd is None


def test_a_replayed_call_counts_as_if_live_and_its_time_does_not() -> None:
    replayed = trial("a", calls=(call(0.5, "replayed"),), seconds=0.01, source="replayed")
    assert seen([record(replayed)]) == [CaseCost("a", "", 0.5, None)]


def test_a_skipped_case_took_nothing_and_a_crashed_one_what_it_took() -> None:
    found = seen([record(trial("a", SKIPPED), trial("b", ERROR, calls=(call(2.0),)))])
    assert [(one.case_id, one.usd) for one in found] == [("b", 2.0)]


HISTORY = [
    CaseCost("a", "x", 1.0, 1.0),
    CaseCost("a", "x", 3.0, 3.0),
    CaseCost("b", "x", 4.0, None),
    CaseCost("c", "y", None, None),
]


def test_a_case_by_itself_then_by_its_scenario_else_unknown() -> None:
    found = estimate({"a": "x", "new": "x", "c": "y", "other": "z"}, HISTORY)
    assert found.cases == 4
    assert found.usd.total == pytest.approx(2.0 + (1 + 3 + 4) / 3)
    assert (found.usd.own, found.usd.borrowed, found.usd.unknown) == (1, 1, 2)
    assert found.by_scenario["y"] == Amount(0.0, 0.0, 0.0, 0, 0, 1)
    assert found.seconds.total == pytest.approx(2.0 + 2.0)


def test_only_the_newest_runs_of_a_case_count() -> None:
    history = [CaseCost("a", "x", 1.0, None)] * MAX_SEEN + [CaseCost("a", "x", 99.0, None)]
    assert estimate({"a": "x"}, history).usd == Amount(1.0, 1.0, 1.0, 1, 0, 0, most=1.0)


def test_the_interval_holds_the_next_run_of_two_that_differ() -> None:
    # Values 1 and 3: variance 2, of the next run and of the mean of two 2 + 1; 1.96 times its root is 3.39.
    amount = estimate({"a": "x"}, HISTORY[:2]).usd
    assert amount.low == 0.0
    assert amount.high == pytest.approx(2 + 3.3948, abs=1e-3)


def test_a_case_costs_as_many_trials_as_its_rule_takes() -> None:
    """One that was asked three times for three dollars costs one, and three if its next trial fails."""
    history = [CaseCost("a", "x", 3.0, 6.0, trials=3), CaseCost("b", "x", 2.0, 1.0)]
    confirmed = {"a": TrialCount(1, 3), "b": TrialCount(2, 3)}
    found = estimate({"a": "x", "b": "x"}, history, confirmed).usd
    assert (found.total, found.most) == (1.0 + 2 * 2.0, 3 * 1.0 + 3 * 2.0)
    assert estimate({"a": "x"}, history, confirmed).seconds.total == 2.0
    new = estimate({"new": "x"}, history, {"new": TrialCount(1, 4)}).usd
    assert (new.total, new.most) == (1.5, 4 * 2.0)


def test_at_most_is_said_where_it_is_more() -> None:
    history = [CaseCost("a", "x", 1.0, 1.0)]
    first = estimate_section({"": estimate({"a": "x"}, history, {"a": TrialCount(1, 4)})}, 1).lines[0]
    assert first.startswith("1 case: about $1.00, $4.00 at most, ")
    first = estimate_section({"": estimate({"a": "x"}, history)}, 1).lines[0]
    assert first.startswith("1 case: about $1.00, at list price")
    partly = estimate({"a": "x", "new": "y"}, history, {"a": TrialCount(1, 4)})
    assert (
        estimate_section({"": partly}, 1).lines[0].startswith("2 cases: at least $1.00, $4.00 at most for the known, ")
    )


def test_an_estimate_by_what_was_estimated_has_a_tilde() -> None:
    counted = record(trial("a", calls=(call(0.5)._replace(estimated=True),)))
    found = estimate({"a": ""}, seen([counted]))
    assert estimate_section({"": found}, 1).lines[0].startswith("1 case: about ~$0.50, ")
    assert estimate_section({"": found}, 1).facts["usd"]["estimated"] is True


class TestOtherModel:
    """An agent that has another model than in its earlier runs."""

    OLD = Call("agent", "live", "gpt-4o-mini", "openai", Tokens(1000, 100), 0.5)
    OWN: ClassVar = {"new": Prices(input=10, output=100)}

    def costs(self, calls: tuple[Call, ...], model: str | None, before: str | None = "gpt-4o-mini") -> CaseCost:
        made = Record(header()._replace(model=before), (trial("a", calls=calls),))
        (found,) = seen([made], at_price=lambda some, named: at_model(some, model, named, self.OWN))
        return found

    def test_its_price_is_that_of_the_tokens_which_the_old_one_took(self) -> None:
        found = self.costs((self.OLD,), "new")
        assert found.usd == pytest.approx(0.01 + 0.01)
        assert found.replaced == "gpt-4o-mini"
        assert list(history_lines([found], ["a"], "new")) == [
            "at the price of `new` for the tokens that `gpt-4o-mini` took"
        ]

    @pytest.mark.parametrize("model", [None, "gpt-4o-mini", "openai:gpt-4o-mini", "gpt-4o-mini-2024-07-18"])
    def test_the_same_model_keeps_what_it_cost(self, model: str | None) -> None:
        found = self.costs((self.OLD,), model)
        assert (found.usd, found.replaced) == (0.5, "")

    def test_judges_embeddings_and_other_models_of_the_agent_keep_theirs(self) -> None:
        judge = self.OLD._replace(kind="judge", model="judge", cost=1.0)
        vectors = self.OLD._replace(model="embedding", tokens=Tokens(10), cost=2.0)
        router = self.OLD._replace(model="router", cost=4.0)
        assert self.costs((judge, vectors, router, self.OLD), "new").usd == pytest.approx(7.02)

    def test_without_a_name_in_the_run_all_models_of_the_agent_are_replaced(self) -> None:
        found = self.costs((self.OLD, self.OLD._replace(model="other")), "new", None)
        assert found.usd == pytest.approx(0.04)
        assert found.replaced == "gpt-4o-mini, other"

    def test_a_model_without_a_price_has_an_unknown_cost_and_its_lines_are_said(self) -> None:
        found = self.costs((self.OLD,), "nobodys")
        assert found.usd is None
        assert list(history_lines([found], ["a"], "nobodys"))[-1] == "    nobodys: {input: USD, output: USD}"

    def test_a_name_of_the_same_model_that_no_price_list_has_is_no_other_model(self) -> None:
        found = self.costs((self.OLD,), "our agent", "our agent")
        assert (found.usd, found.replaced) == (0.5, "")


def test_what_a_baseline_took_is_its_own() -> None:
    both = record(trial("a", calls=(call(0.5),)), trial("a", calls=(call(2.0),), arm="raw"))
    assert [one.usd for one in seen([both])] == [0.5]
    assert [one.usd for one in seen([both], "raw")] == [2.0]
    assert seen([both], "no-memory") == []


def by_batch(*trials: Trial) -> Record:
    """Return a run by batch of these trials."""
    return Record(header()._replace(batch=True), trials)


HALF = Call("agent", "live", provider="openai", cost=0.5, batched=True)
FULL = HALF._replace(batched=False, cost=1.0)


def test_what_was_bought_at_half_price_costs_twice_as_much_without_batches() -> None:
    history = seen([by_batch(trial("a", calls=(HALF, FULL), seconds=900.0))])
    assert history == [CaseCost("a", "", 2.0, None)]  # Nor does the wait for a batch say what the agent's time is.


def test_the_time_of_an_answer_is_known_where_only_its_judge_waited() -> None:
    judged = trial("a", calls=(FULL, HALF._replace(kind="judge")), seconds=3.0)
    assert seen([by_batch(judged)])[0].seconds == 3.0


@pytest.mark.parametrize(
    ("calls", "usd", "assumed"),
    [
        ((HALF, FULL), 1.5, False),  # What went directly in a run by batch goes directly in the next one.
        ((HALF, FULL._replace(source="replayed")), 1.0, True),
        ((), 0.0, False),
    ],
)
def test_a_run_by_batch_says_what_the_next_one_costs(calls: tuple[Call, ...], usd: float, assumed: bool) -> None:
    assert seen([by_batch(trial("a", calls=calls, seconds=1.0))], batch=True) == [CaseCost("a", "", usd, None, assumed)]


@pytest.mark.parametrize(("provider", "usd"), [("openai", 0.5), ("anthropic", 0.5), ("google", 1.0), (None, 1.0)])
def test_of_another_run_half_is_assumed_where_the_provider_has_batches(provider: str | None, usd: float) -> None:
    directly = record(trial("a", calls=(FULL._replace(provider=provider),)))
    assert seen([directly], batch=True) == [CaseCost("a", "", usd, None, assumed=True)]


def test_a_call_without_a_price_has_none_by_batch_either() -> None:
    for made in (by_batch, record):
        assert seen([made(trial("a", calls=(FULL._replace(cost=None),)))], batch=True)[0].usd is None


def test_runs_by_batch_go_before_what_is_assumed() -> None:
    history = [CaseCost("a", "x", 9.0, None, True), CaseCost("a", "x", 1.0, None), CaseCost("b", "x", 9.0, None, True)]
    found = estimate({"a": "x", "b": "x", "new": "x"}, history).usd
    assert (found.total, found.own, found.borrowed, found.assumed) == (1.0 + 9.0 + 1.0, 2, 1, 1)


def test_agents_are_independent_so_that_their_margins_add_by_squares() -> None:
    sum_ = together([Amount(10.0, 7.0, 13.0, 2, 1, 0), Amount(5.0, 1.0, 9.0, 0, 1, 2)])
    assert sum_ == Amount(15.0, 10.0, 20.0, 2, 2, 2)
    assert together([Amount(1.0, 0.0, 4.0, 1, 0, 0)]) == Amount(1.0, 0.0, 4.0, 1, 0, 0)


costs = st.none() | st.floats(0, 100)
histories = st.lists(
    st.builds(CaseCost, case_ids, st.sampled_from("xyz"), costs, costs, trials=st.integers(1, 5)), max_size=30
)


@unhurried
@given(st.dictionaries(case_ids, st.sampled_from("xyz"), max_size=12), histories)
def test_every_case_is_counted_once_and_parts_add_up(slice_: dict[str, str], history: list[CaseCost]) -> None:
    found = estimate(slice_, history)
    for amount, count in [(found.usd, len(slice_)), (found.seconds, len(slice_))]:
        assert amount.own + amount.borrowed + amount.unknown == count
        assert 0 <= amount.low <= amount.total + 1e-9
        assert amount.total <= amount.high + 1e-9
        assert amount.total <= amount.most + 1e-9
    assert sum(amount.total for amount in found.by_scenario.values()) == pytest.approx(found.usd.total)
    assert sum(amount.unknown for amount in found.by_scenario.values()) == found.usd.unknown


def test_a_run_of_nothing_costs_nothing() -> None:
    assert estimate_section({"": estimate({}, [])}, 3).lines == ["no case is chosen: this run costs nothing"]
