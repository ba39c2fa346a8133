"""Two memories on the same questions: what is paired, by which test, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.datasets.comparison import COMPARED, JournalContents, compare_benches
from pytest_recall.datasets.datasets_text import SHOWN, few_conversations, verdict
from pytest_recall.files.errors import RecallError
from pytest_recall.metrics.change import ChangeSummary
from pytest_recall.metrics.paired import mcnemar
from pytest_recall.trials.trial import Outcome, Trial, Verdict
from tests.helpers.samples import unhurried

SCORES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30)


def asked(name: str, *trials: Trial, **arguments: Any) -> JournalContents:
    """Return a journal with the trials of these questions."""
    plain = {"sha256": "00", "dataset": "dmr", "file": "f.json", **arguments}
    return JournalContents(name, plain, {trial.case_id: trial for trial in trials})


def line(id: int, category: str = "a", **measures: float) -> Trial:
    """Return the trial of a question with these measures."""
    return Trial(str(id), Outcome.PASSED, dimension=category, measures=measures)


def judged(id: int, passed: bool | None, *, panel: str = "j", version: str = "") -> Trial:
    """Return the trial of a question on whose answer the judges have said this."""
    verdict = Verdict(passed=passed, judge="paper", panel=panel, version=version)
    return line(id, answer_contains=0.0)._replace(verdicts=(verdict,))


def test_what_is_compared_is_what_the_table_has() -> None:
    assert set(COMPARED) == set(SHOWN)


def test_yes_and_no_go_by_the_exact_test() -> None:
    base = [line(n, contains_at_k=1.0) for n in range(20)]
    head = [line(n, contains_at_k=float(n < 5)) for n in range(20)]
    found = compare_benches(asked("b", *base), asked("h", *head), alpha=0.01)
    one = found.metrics["contains_at_k"]
    assert (one.base, one.head, len(one.fell), one.rose) == (1.0, 0.25, 15, ())
    assert one.change.p == one.change.adjusted == mcnemar(15, 0)
    assert found.shown(ChangeSummary.DROP) == ["contains_at_k"]


def test_scores_go_by_sign_flips() -> None:
    base = [line(n, answer_token_f1=0.5) for n in range(10)]
    head = [line(n, answer_token_f1=0.5 + n / 100) for n in range(10)]
    one = compare_benches(asked("b", *base), asked("h", *head), alpha=0.01).metrics["answer_token_f1"]
    assert one.change.shares
    assert one.change.p == 2 / 2**9  # One question is as it was, and all others are higher.
    assert one.rose == tuple(map(str, range(1, 10)))


def test_p_values_hold_for_all_metrics_together() -> None:
    base = [line(n, contains_at_k=1.0, evidence_all_at_k=1.0) for n in range(9)]
    head = [line(n, contains_at_k=0.0, evidence_all_at_k=1.0) for n in range(9)]
    found = compare_benches(asked("b", *base), asked("h", *head), alpha=0.01)
    assert found.metrics["contains_at_k"].change.adjusted == 2 * mcnemar(9, 0)


@pytest.mark.parametrize(("conversations", "alpha"), [(10, 0.005), (9, 0.01), (5, 0.05)])
def test_where_nothing_could_have_been_shown_it_is_not_said_to_be_chance(conversations: int, alpha: float) -> None:
    """All questions of all conversations change in one direction, and p of four metrics is still above the level."""
    names = COMPARED[:4]
    base, head = (
        [line(n, "a", **dict.fromkeys(names, value))._replace(scenario=f"s{n // 2}") for n in range(2 * conversations)]
        for value in (1.0, 0.0)
    )
    found = compare_benches(asked("b", *base), asked("h", *head), alpha=alpha)
    assert verdict(found) == "No difference could have been shown."
    same = compare_benches(asked("b", *base), asked("h", *base), alpha=alpha)
    assert verdict(same) == "No question differs, and no difference could have been shown."
    (told,) = few_conversations(found)
    assert told.startswith(f"the questions are about {conversations} conversations: of so few no difference can")
    shown = compare_benches(asked("b", *base), asked("h", *head), alpha=4 * 2 / 2**conversations)
    if conversations > 5:
        assert verdict(shown).startswith("A drop is shown in evidence, ")
        assert list(few_conversations(shown)) == []


def test_what_failed_or_was_not_asked_is_left_out() -> None:
    base = asked("b", line(1, contains_at_k=1.0), line(2, contains_at_k=1.0), line(3), line(4, contains_at_k=0.0))
    broken = Trial("2", Outcome.ERROR, dimension="a", error="down")
    head = asked("h", line(1, contains_at_k=0.0), broken, line(3), line(5, contains_at_k=1.0))
    found = compare_benches(base, head, alpha=0.01)
    assert found.left == (1, 1, 1)
    assert (found.pairs, found.metrics["contains_at_k"].change.pairs) == (2, 1)


def test_categories_narrow_it() -> None:
    lines = (line(1, contains_at_k=1.0), line(2, "b", contains_at_k=1.0))
    found = compare_benches(asked("b", *lines), asked("h", *lines), alpha=0.01, categories=["b"])
    assert found.pairs == 1
    with pytest.raises(RecallError, match="no category 'c' in these runs"):
        compare_benches(asked("b", *lines), asked("h", *lines), alpha=0.01, categories=["c"])


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (asked("h", line(1, contains_at_k=1.0), sha256="11"), "different files, f.json in b and f.json in h"),
        (asked("h", line(2, contains_at_k=1.0)), r"\(1 are in BASE, 1 in HEAD, 0 in both\)"),
        (asked("h", line(1, answer_contains=1.0)), r"\(1 are in BASE, 1 in HEAD, 1 in both\)"),
    ],
)
def test_what_cannot_be_compared_is_refused(head: JournalContents, said: str) -> None:
    with pytest.raises(RecallError, match=said):
        compare_benches(asked("b", line(1, contains_at_k=1.0)), head, alpha=0.01)


def test_verdicts_of_the_same_judges_are_compared() -> None:
    base = asked("b", judged(0, True), judged(1, True), judged(2, None))
    found = compare_benches(base, asked("h", judged(0, False), line(1), judged(2, True)), alpha=0.01)
    one = found.metrics["dmr_judge"]
    assert (found.judges, one.change.pairs, one.fell) == ("j", 1, ("0",))


def test_verdicts_by_another_prompt_or_judge_are_not() -> None:
    base = asked("b", judged(0, True, version="1"))
    head = asked("h", judged(0, True, version="2"))
    assert "dmr_judge" not in compare_benches(base, head, alpha=0.01).metrics
    other = asked("h", judged(0, True, panel="k"))
    found = compare_benches(base, other, alpha=0.01)
    assert (found.judges, found.unjudged[:34]) == ("", "judged by j in BASE and by k in HE")


def test_of_several_judges_those_count_that_judged_last_in_both() -> None:
    first = judged(0, True)
    both = first._replace(verdicts=(*first.verdicts, *judged(0, False, panel="k").verdicts))
    assert compare_benches(asked("b", both), asked("h", both), alpha=0.01).judges == "k"
    assert compare_benches(asked("b", first), asked("h", both), alpha=0.01).judges == "j"


def test_of_several_ingests_the_means_of_questions_are_compared() -> None:
    base = asked("b", *(line(n, contains_at_k=1.0) for n in range(10)))
    again = {str(n): line(n, contains_at_k=float(n > 7)) for n in range(1, 10)}
    broken = {"0": Trial("0", Outcome.ERROR, dimension="a", error="down")}
    head = base._replace(name="h", further=(again | broken, again | broken))
    found = compare_benches(base, head, alpha=0.01)
    one = found.metrics["contains_at_k"]
    # Seven of ten have 1, 0 and 0; the first one has failed in two of the ingests, and has the 1 of the other.
    assert (one.base, len(one.fell)) == (1.0, 7)
    assert one.head == pytest.approx((3 + 7 / 3) / 10)
    assert one.change.shares, "these are no yes and no"
    assert (found.pairs, found.left.failed) == (10, 0)
    assert compare_benches(head, head, alpha=0.01).metrics["contains_at_k"].change.p == 1


def test_verdicts_of_several_ingests_are_averaged_if_all_are_by_the_same_prompt() -> None:
    base = asked("b", judged(0, True), judged(1, True))
    head = base._replace(further=({"0": judged(0, False), "1": judged(1, True, version="2")},))
    one = compare_benches(base, head, alpha=0.01).metrics["dmr_judge"]
    assert (one.change.pairs, one.base, one.head) == (1, 1.0, 0.5)


@unhurried
@given(SCORES)
def test_the_other_way_round_it_is_the_same(scores: list[tuple[float, float]]) -> None:
    base, head = (
        asked(name, *(line(n, answer_token_f1=pair[place]) for n, pair in enumerate(scores)))
        for place, name in enumerate("bh")
    )
    one = compare_benches(base, head, alpha=0.01).metrics["answer_token_f1"]
    other = compare_benches(head, base, alpha=0.01).metrics["answer_token_f1"]
    assert one.change.p == other.change.p
    assert (one.base, one.fell) == (other.head, other.rose)


@unhurried
@given(SCORES)
def test_a_run_beside_itself_shows_nothing(scores: list[tuple[float, float]]) -> None:
    run = asked("r", *(line(n, answer_token_f1=one) for n, (one, _) in enumerate(scores)))
    one = compare_benches(run, run, alpha=0.01).metrics["answer_token_f1"]
    assert (one.change.p, one.fell, one.rose, one.change.shown) == (1.0, (), (), ChangeSummary.NOTHING)
