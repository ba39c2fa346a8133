"""What was found of the relevant days, beside what does not search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.horizon.curve_svg import sizes_svg
from pytest_recall.horizon.evaluation import CheckpointTrial, HandedOut
from pytest_recall.horizon.heatmap_svg import heatmap_svg
from pytest_recall.horizon.page import page
from pytest_recall.horizon.picture_data import heatmap, sizes
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.retrieval import AskedAfter, RetrievalReport, days_verdict, retrieval
from pytest_recall.horizon.retrieval_text import (
    INDISTINCT,
    category_rows,
    floor_rows,
    headline,
    remarks,
    retrieval_section,
)
from pytest_recall.horizon.runs import read_run
from pytest_recall.horizon.statistics import histories
from pytest_recall.metrics.floors import SizedUnit
from pytest_recall.metrics.retrieval import ndcg_longmemeval
from tests.helpers.horizon_runs import Asked, run_of
from tests.helpers.persona import write_project
from tests.horizon.stories import evaluation, question

UNITS = [SizedUnit(f"day-{day:04}/principal", 100) for day in range(1, 41)]
TWENTY = [SizedUnit(f"day-{day:04}/{session}", 50) for day in range(1, 21) for session in ("principal", "lease")]


def asked(
    id: str, days: Sequence[int], ids: Sequence[str | None] | None, tokens: int | None = 200, **more: Any
) -> CheckpointTrial:
    handed = None if ids is None else HandedOut(tuple(ids), tokens)
    return evaluation(question(id, *days, **more), 1, 1, 1, answered_by="passages", handed_out=handed)


def found(*evaluations: CheckpointTrial, units: Sequence[SizedUnit] | None = UNITS) -> RetrievalReport:
    report = retrieval([AskedAfter("assistant", "40d", 40, evaluations, units)])
    assert report is not None
    return report


def test_recall_is_the_share_of_the_relevant_days() -> None:
    one = asked("a", (3, 7), ["day-0009/principal", "day-0003/principal", "day-0003/lease", "day-0007"])
    means = found(one).everything.system
    days = [9, 3, 3, 7]
    assert means.recall.value == 1
    assert means.mrr.value == 0.5
    assert means.ndcg_longmemeval.value == ndcg_longmemeval(days, [3, 7], 10)
    assert (means.passages.value, means.tokens.value) == (4, 200)


@pytest.mark.parametrize(
    ("ids", "passed", "score", "reason"),
    [
        (["day-0009/lease", "day-0007", "day-0003/principal"], True, 1.0, "2 of 2 relevant days found"),
        (["day-0003/principal"] * 2, False, 0.5, "1 of 2 relevant days found, not 7"),
        ([], False, 0.0, "0 of 2 relevant days found, not 3, 7"),
    ],
)
def test_passages_pass_if_all_relevant_days_are_among_them(
    ids: list[str], passed: bool, score: float, reason: str
) -> None:
    verdict = days_verdict(question("a", 7, 3), ids)
    assert verdict is not None
    assert (verdict.passed, verdict.score, verdict.reason) == (passed, score, reason)
    assert verdict.passed is (found(asked("a", (7, 3), ids)).everything.system.recall.value == 1)


def test_there_is_no_verdict_by_days_where_they_are_unknown_or_finding_them_is_no_merit() -> None:
    assert days_verdict(question("a", 3), ["day-0003", None]) is None
    assert days_verdict(question("a", 3), ["notes.md"]) is None
    assert days_verdict(question("a", 3, forbidden_sessions=("lease",)), ["day-0003"]) is None


def test_little_that_was_handed_out_is_measured_against_all_that_there_is() -> None:
    means = found(asked("a", (1, 2, 3), ["day-0001"])).everything.system
    assert (means.recall.value, means.ndcg.value) == pytest.approx((1 / 3, 0.4693), abs=5e-5)
    assert means.ndcg_longmemeval.value == pytest.approx(0.3801, abs=5e-5)


def test_a_question_asked_twice_is_one_for_the_interval() -> None:
    evaluations = [asked("a", (1,), ["day-0001"]), asked("a", (1,), ["day-0001"]), asked("b", (2,), [])]
    recall = found(*evaluations).everything.system.recall
    assert (recall.n, recall.clusters) == (3, 2)


def test_all_alike_is_no_certainty_and_one_question_discriminates_nothing() -> None:
    right = [asked(f"q{day}", (day,), [f"day-{day:04}"]) for day in range(1, 7)]
    report = found(*right)
    recall = report.everything.system.recall
    assert recall.value == 1
    assert recall.low == pytest.approx(0.61, abs=0.001)
    assert report.everything.discriminates
    close = [asked(f"q{day}", (day,), [f"day-{day:04}"], tokens=3200) for day in range(1, 7)]
    near = found(*close).everything
    assert near.rows["random"].recall.value == pytest.approx(0.8, abs=0.1)
    assert near.discriminates is False
    alone = found(right[0])
    assert alone.everything.system.recall.low is None
    assert alone.untelling == ("factual-recall",)


def test_floors_hand_out_as_many_tokens_and_the_oracle_the_evidence() -> None:
    report = found(*(asked(f"q{day}", (day,), [f"day-{day:04}"]) for day in range(1, 41)))
    rows = report.everything.rows
    assert {name: one.recall.value for name, one in rows.items() if name != "random"} == {
        "memory": 1,
        "nothing": 0,
        "last": 2 / 40,
        "oracle": 1,
    }
    assert rows["random"].recall.value == pytest.approx(2 / 40, abs=0.02)
    assert {name: one.tokens.value for name, one in rows.items()} == {
        "memory": 200,
        "nothing": 0,
        "random": 200,
        "last": 200,
        "oracle": 100,
    }


def test_the_ceiling_is_within_the_budget_too_and_takes_one_part_of_each_day() -> None:
    report = found(asked("a", (3, 7, 9), ["day-0003"], tokens=60), units=TWENTY)
    assert report.everything.rows["oracle"].recall.value == 2 / 3


def test_the_full_context_is_there_where_it_fits() -> None:
    one = asked("a", (3,), ["day-0003"], tokens=1999), asked("b", (3,), ["day-0003"], tokens=1900)
    assert [found(each, units=TWENTY).everything.rows.get("full") is not None for each in one] == [True, False]
    both = found(*one, units=TWENTY)
    assert both.everything.rows["full"].recall.n == 1
    assert any(row[0] == "full (n 1)" for row in floor_rows(both))


def test_a_category_in_which_a_floor_finds_as_much_is_marked_and_not_left_out() -> None:
    recent = [asked(f"r{n}", (40 - n % 2,), [], category="recency-bias-resistance") for n in range(10)]
    right = [asked(f"f{n}", (n + 1,), [f"day-{n + 1:04}"]) for n in range(10)]
    report = found(*recent, *right)
    assert {name: one.discriminates for name, one in report.categories.items()} == {
        "factual-recall": True,
        "recency-bias-resistance": False,
    }
    assert report.everything.system.recall.value == 0.5
    assert headline(report).startswith("retrieval: 50.0 % (")
    assert " % and last 50.0 %), in 20 answers to 20 questions; MRR " in headline(report)
    assert [row[:2] for row in category_rows(report)] == [
        ("factual-recall", "10"),
        ("recency-bias-resistance: does not discriminate", "10"),
        ("all", "20"),
    ]
    assert "of the relevant days found, about what a floor finds (random " in headline(found(*recent))


def test_questions_that_cannot_tell_the_evidence_from_a_floor_are_left_out_alike_for_all_memories() -> None:
    # The last ten texts have all that is asked of here, so that no memory can find more than they.
    def recent(*ids: str | None) -> list[CheckpointTrial]:
        return [asked(f"r{n}", (40 - n % 2,), ids, category="recency-bias-resistance") for n in range(10)]

    def facts(right: int) -> list[CheckpointTrial]:
        ids = [[f"day-{n + 1:04}"] if n < right else [] for n in range(10)]
        return [asked(f"f{n}", (n + 1,), ids[n]) for n in range(10)]

    good, bad = found(*recent("day-0040"), *facts(10)), found(*recent(), *facts(1))
    lost = found(*recent(None), *facts(3))
    assert [one.untelling for one in (good, bad)] == [("recency-bias-resistance",)] * 2
    assert [one.categories["factual-recall"].discriminates for one in (good, bad)] == [True, False]
    others = [one.without(one.untelling) for one in (good, bad)]
    assert [one and (one.system.recall.value, one.system.recall.n) for one in others] == [(1, 10), (0.1, 10)]
    (told,) = (one for one in remarks(bad) if one.startswith("without"))
    assert told.startswith(f"without recency-bias-resistance, {INDISTINCT}: 10.0 % (")
    assert told.endswith(", in 10 answers to 10 questions")
    # Of what is not measurable, or was not answered, the questions are the same.
    assert (lost.untelling, found(*facts(3)).untelling) == ((), ())
    beside = found(*recent(None)[:9], asked("r9", (39,), [], category="recency-bias-resistance"), *facts(3))
    assert beside.untelling == good.untelling
    every = found(*recent())
    assert f"of each category: {INDISTINCT}" in remarks(every)
    plain = retrieval_section(bad).facts
    assert plain is not None
    assert plain["headline"] == plain["all"]
    assert plain["without"]["categories"] == ["recency-bias-resistance"]
    assert plain["without"]["rows"]["memory"]["recall"]["value"] == 0.1


def test_a_memory_that_hands_out_more_meets_higher_floors_and_leaves_out_the_same() -> None:
    def ran(tokens: int) -> RetrievalReport:
        return found(*(asked(f"q{day}", (day,), [f"day-{day:04}"], tokens=tokens) for day in range(1, 11)))

    few, many = ran(100), ran(3600)
    assert few.everything.discriminates
    assert many.everything.discriminates is False
    assert few.untelling == many.untelling == ()


@pytest.mark.parametrize("ids", [[None], ["day-0001", None], ["memory-17"], ["today-0001"]])
def test_passages_that_do_not_say_their_day_are_not_measurable_and_no_zero(ids: list[str | None]) -> None:
    report = found(asked("a", (1,), ids))
    assert (report.n, report.unmeasurable, report.everything.system.recall.value) == (0, 1, None)
    assert headline(report) == "retrieval not measurable"
    assert list(remarks(report)) == ["not measurable, since a passage does not say its day: 1 answer"]
    beside = found(asked("a", (1,), ids), asked("b", (1,), ["day-0001"]))
    assert (beside.n, beside.unmeasurable, beside.everything.system.recall.value) == (1, 1, 1)
    assert "not measurable, since a passage does not say its day: 1 answer" in list(remarks(beside))


def test_pictures_of_what_is_not_measurable_show_no_points() -> None:
    (stop,) = run_of({10: [Asked(id="a", score=(3, 2, 1))]}).stops
    asked = [one.with_facts(answered_by="passages", handed_out=HandedOut((None,), 9)) for one in stop.evaluations]
    run = replace(run_of({}), stops=(replace(stop, evaluations=tuple(asked), measured=False),))
    squares = heatmap(run)
    assert [cell.state for cell in (*squares.categories[0].cells, *squares.overall.cells)] == ["unmeasured"] * 2
    assert heatmap_svg(squares)
    assert sizes(run).days == ()
    assert sizes_svg(sizes(run))
    assert "<h1>Retrieval not measurable</h1>" in page(run, "out/questions.jsonl")


def test_a_memory_that_answers_without_passages_has_no_retrieval() -> None:
    one = evaluation(question("a", 1), 3, 2, 1, answered_by="memory")
    assert retrieval([AskedAfter("assistant", "3d", 3, [one], UNITS)]) is None


def test_what_must_not_be_told_is_no_merit() -> None:
    closed = asked("a", (1,), ["day-0001/lease"], forbidden_sessions=["lease"], expected_disclosure="refuse")
    report = found(closed, asked("b", (1,), ["day-0001"]))
    assert (report.n, report.closed) == (1, 1)


def test_the_session_that_a_question_names_counts_beside_the_day() -> None:
    one = asked("a", (3,), ["day-0003/principal"], query_session="lease")
    report = found(one, units=TWENTY)
    means = report.everything.system
    assert (means.recall.value, means.session.value) == (1, 0)
    assert report.everything.rows["oracle"].session.value == 1
    assert any(line.startswith("of the session that a question names, 0.0 %") for line in remarks(report))


@pytest.mark.parametrize("id", ["day-0003", "day-0003/2"])
def test_a_session_that_no_id_names_is_not_measured_and_not_zero(id: str) -> None:
    means = found(asked("a", (3,), [id], query_session="lease")).everything.system
    assert (means.recall.value, means.session.value) == (1, None)


def test_without_tokens_or_units_floors_are_unknown() -> None:
    right = asked("a", (1,), ["day-0001"], tokens=None), asked("b", (1,), ["day-0001"])
    for report in (found(right[0]), found(right[1], units=None)):
        assert list(report.everything.rows) == ["memory"]
        assert report.categories["factual-recall"].discriminates is None
        assert "random" not in headline(report)
        assert any(line.startswith("floors are not known") for line in remarks(report))


def test_a_run_that_says_only_where_each_passage_is_from_is_measured() -> None:
    one = evaluation(question("a", 1), 3, 2, 1, answered_by="passages", retrieval=[{"path": "day-0001/principal"}])
    report = found(one)
    assert (report.everything.system.recall.value, report.everything.system.tokens.value) == (1, None)
    cut = [{"path": "day-0001/principal"}] * 50
    many = evaluation(question("a", 1), 3, 2, 1, answered_by="passages", retrieval=cut)
    unknown = found(many)
    assert (unknown.n, list(remarks(unknown))) == (
        0,
        ["left out, since no file says all that was returned: 1 answer"],
    )


def test_parts_of_a_merged_run_that_were_told_the_same_days_count_them_once() -> None:
    one = asked("a", (3,), ["day-0003"], tokens=2000)
    stops = [AskedAfter("assistant", "10d", 10, [one], TWENTY[:20]), AskedAfter("assistant", "20d", 20, [one], TWENTY)]
    report = retrieval(stops)
    assert report is not None
    assert [found.rows["full"].passages.value for _, _, found in report.stops] == [20, 40]


def test_of_passages_a_question_passes_by_the_days_that_were_found() -> None:
    def run(*handed: str) -> PublishedRun:
        (stop,) = run_of({10: [Asked(id="a", score=(3, 2, 1)), Asked(id="b", score=(0, 0, 1))]}).stops
        asked = [one.with_facts(answered_by="passages", handed_out=HandedOut(handed, 9)) for one in stop.evaluations]
        return replace(run_of({}), stops=(replace(stop, evaluations=tuple(asked), measured=False),))

    found = [one.last for one in histories(run("day-0002"), run("day-0002", "day-0001"))]
    assert [(one.kinds, one.recall, one.points, one.before, one.change) for one in found] == [
        (("failing", "no day found"), 0, None, None, "worse")
    ] * 2
    (last, _) = (one.last for one in histories(run("day-0001")))
    assert (last.kinds, last.change) == (("passing", "all days found"), None)


def reported(capsys: pytest.CaptureFixture[str], *folders: str) -> Any:
    capsys.readouterr()
    assert main(["bench", "report", *folders, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_was_found_is_in_the_run_the_report_the_page_and_the_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path)
    assert main(["bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png", "--out", "out"]) == 0
    told = capsys.readouterr().out
    first = "100.0 % (75.8–100.0) of the relevant days found, about what a floor finds (random 95.0 % and last 90.0 %)"
    assert f"retrieval: {first}, in 30 answers to 12 questions; MRR " in told
    assert f"of each category: {INDISTINCT}" in told
    assert "lexical points" not in told
    plain = reported(capsys, "out")["runs"][0]
    found = plain["retrieval"]
    assert plain["all"]["points"]["n"] == 0
    assert [one["rows"]["memory"]["recall"]["n"] for one in found["checkpoints"]] == [3, 6, 9, 12]
    rows = found["all"]["rows"]
    assert (rows["memory"]["recall"]["value"], rows["oracle"]["recall"]["value"], found["closed"]) == (1, 1, 10)
    assert rows["nothing"]["recall"]["value"] == 0 < rows["last"]["recall"]["value"] < 1
    assert rows["memory"]["tokens"]["value"] >= rows["last"]["tokens"]["value"]
    run = read_run(Path("out"))
    squares = heatmap(run)
    assert (squares.most, [line.name for line in squares.beside]) == (
        1,
        ["nothing", "random", "last", "full", "oracle"],
    )
    assert [cell.value for cell in squares.overall.cells] == [1, 1, 1, 1]
    assert heatmap_svg(squares)
    assert sizes_svg(sizes(run))
    text = page(run, "out/questions.jsonl")
    assert f"<h1>{first}, in 30 answers</h1>" in text
    assert (
        "relevant days found",
        "100.0 % (75.8–100.0), in 30 answers to 12 questions; random 95.0 %; last 90.0 %",
    ) in (squares.facts)
    assert main(["view", "out", "--once"]) == 0
    assert f"{first}, in 30 answers" in capsys.readouterr().out.splitlines()
    assert "factual-recall: does not discriminate" in text
    assert main(["bench", "merge", "out", "out", "-o", "merged"]) == 0
    assert reported(capsys, "merged")["runs"][0]["retrieval"] == found
    assert main(["bench", "report", "out", "merged"]) == 0
    assert "recall of the relevant days, in 30 answers of both: +0.0 percentage points" in capsys.readouterr().out
