"""Reports of long-horizon runs: as lines, as Markdown and as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from hypothesis import given

from pytest_recall.files.sections import report_lines, report_markdown
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.report_text import horizon_report
from pytest_recall.horizon.statistics import report
from tests.helpers.horizon_runs import RIGHT, SMALL, WRONG, Asked, Score, Stops, any_stops, run_of


def lines(*runs: PublishedRun) -> list[str]:
    return list(report_lines(horizon_report(runs).sections))


def as_json(*runs: PublishedRun) -> Any:
    return horizon_report(runs).facts


def test_a_report_reads_like_this() -> None:
    told = lines(run_of(SMALL))
    assert told[0] == "Run mine (A memory):"
    assert told[1] == "persona: someone; answers with points: 10, of 99 questions that there are"
    place = told.index("Scores:")
    assert told[place + 1].split("  ")[-1].strip() == "failing %"
    assert " ".join(told[place + 2].split()) == "all * 10 5 4.50 (3.16–5.84) 72.0 (46.6–97.4) 10.0 (1.2–50.7) 50.0 20.0"
    assert any(line.startswith("* of fewer than 10 distinct questions") for line in told)
    text = "\n".join(told)
    assert "second judge: asked 3 times; raised 2, lowered 1, left 0 as they were; 1 no longer failed, 2 times" in text
    assert "no points, and in no mean: 1 no answer in time" in text
    assert "boundaries:" not in text


def test_boundaries_without_a_verdict_are_unknown_and_not_unasked() -> None:
    def asked(id: str, expected: str, score: Score | None) -> Asked:
        return Asked(id=id, score=score, failure="judge", category="information-boundary", disclosure=expected)

    run = run_of({10: [asked("a", "refuse", None), asked("b", "answer", None), asked("c", "answer", WRONG)]})
    text = "\n".join(lines(run))
    assert "boundaries: leaks – (unknown of 1 answer), over-refusals 100.0" in text
    assert "% of 1 answer (1 unknown)" in text
    (plain,) = as_json(run)["runs"]
    assert [plain["disclosures"][name]["unknown"] for name in ("leak", "overRefusal")] == [1, 1]


def test_points_for_refusals_are_in_no_mean() -> None:
    def asked(id: str, expected: str, score: Score) -> Asked:
        answer = "That was never mentioned, so I cannot tell you."
        return Asked(id=id, score=score, answer=answer, category="information-boundary", disclosure=expected)

    refused = [asked("a", "refuse", RIGHT), asked("b", "refuse", RIGHT), asked("c", "answer", WRONG)]
    run = run_of({10: [*refused, Asked(id="d", score=WRONG)]})
    found = report(run)
    assert (found.everything.points.value, found.everything.points.n, list(found.categories)) == (
        1,
        1,
        ["factual-recall"],
    )
    text = "\n".join(lines(run))
    assert "in no points, since to refuse everything would get many: 3 answers about what may be told" in text
    assert "boundaries: leaks 0.0 (0.0–65.8) % of 2 answers, over-refusals 100.0 (20.7–100.0) % of 1 answer" in text


def test_two_runs_stand_side_by_side() -> None:
    one, two = run_of(SMALL), run_of({10: SMALL[10]})
    text = "\n".join(lines(one, two))
    assert "on 3 answers to 3 questions that both were asked after the same day: +0.00 points" in text
    assert "better 0, worse 0, equal 3" in text
    other = run_of({99: [Asked(id="q001", score=RIGHT)]})
    text = "\n".join(lines(one, other))
    assert "nothing that was measured was asked in both after the same day: the runs cannot be compared" in text
    assert "asked in both, but never after the same day, and left out: 1 question" in text


def test_runs_of_other_judges_are_not_put_side_by_side_in_silence() -> None:
    one, two = run_of(SMALL, judgeModel="lexical"), run_of(SMALL, judgeModel="azure:small", judgeMemoryWindow=1)
    told = lines(one, two)
    assert told[1].startswith("persona: someone; judge: lexical; ")
    assert any(line.startswith("persona: someone; judge: azure:small, with the days ±1; answers") for line in told)
    assert any(line.startswith("the runs were judged by different models") for line in told)
    assert as_json(one, two)["pairings"][0]["judgedAlike"] is False
    ours = replace(one, config={**one.config, "judgeVersion": "1"})
    assert as_json(one, ours)["pairings"][0]["judgedAlike"] is False
    again = lines(one, one)
    assert not any(line.startswith("the runs were judged") for line in again)


def test_a_run_that_is_not_over_says_so() -> None:
    run = run_of(SMALL, ranges=[{"label": f"{day}d", "days": day} for day in (10, 20, 30, 40)])
    assert "partial: 3 of 4 checkpoints were reached" in lines(run)
    assert as_json(run)["runs"][0]["over"] is False


def test_markdown_formats_nothing_that_comes_from_outside() -> None:
    run = replace(run_of(SMALL, judgeModel="_x_"), adapter="a*b|c<d>")
    text = report_markdown(horizon_report([run]))
    assert r"judge: \_x\_; answers" in text
    assert "## Run mine" in text
    assert r"a\*b\|c&lt;d&gt;" in text
    assert "| factual-recall \\* | 5 | 2 |" in text


@given(any_stops(), any_stops())
def test_any_run_is_told(one: Stops, two: Stops) -> None:
    found = horizon_report([run_of(one), run_of(two)])
    for text in ("\n".join(report_lines(found.sections)), report_markdown(found)):
        assert not {"None", "nan"} & set(re.findall(r"\w+", text))
    plain = found.facts
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    points = [sum(given.score) for asked in one.values() for given in asked if given.score is not None]
    assert plain["runs"][0]["all"]["points"]["n"] == len(points)
