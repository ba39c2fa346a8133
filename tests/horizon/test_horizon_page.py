"""The page of a long-horizon run as text: the figures of `recall bench report`, what is missing, its size."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from pytest_recall.horizon.page import page, verdict
from pytest_recall.horizon.published import PublishedRun
from pytest_recall.horizon.report_text import horizon_report
from pytest_recall.horizon.statistics import pairing, report
from tests.helpers.horizon_runs import RIGHT, SMALL, WRONG, Asked, Stops, any_stops, run_of
from tests.results.report_page.test_frame import unpacked

pytest.importorskip("jinja2")
JOURNAL = "runs/mine/questions.jsonl"


def data_of(text: str) -> dict[str, Any]:
    """Return what a page's script reads."""
    found = re.search(r'<script id="data"[^>]*>([^<]*)</script>', text)
    assert found is not None
    plain: dict[str, Any] = unpacked(found[1])
    return plain


def chart(text: str, title: str) -> list[dict[str, Any]]:
    (found,) = (one for one in data_of(text)["charts"] if one["title"] == title)
    points: list[dict[str, Any]] = found["points"]
    return points


def figures(plain: dict[str, Any]) -> tuple[float | None, ...]:
    return plain["value"], plain["low"], plain["high"]


def with_boundaries() -> PublishedRun:
    boundary = "information-boundary"
    leaked = Asked(id="q006", score=(1, 1, 0), disclosure="refuse", category=boundary)
    shy = Asked(id="q007", score=WRONG, answer="I do not know.", disclosure="answer", category=boundary)
    kept = Asked(id="q008", score=RIGHT, disclosure="refuse", category=boundary)
    return run_of({**SMALL, 40: [leaked, shy, kept]}, groupsEnabled=True, judgeModel="azure:small")


def test_its_figures_are_those_of_the_report() -> None:
    run = with_boundaries()
    text = page(run, JOURNAL)
    (plain,) = horizon_report([run]).facts["runs"]
    assert {one["name"]: figures(one) for one in chart(text, "Points by category")} == {
        name: figures(scores["points"]) for name, scores in plain["categories"].items()
    }
    for title, name in (("Points against days", "points"), ("Hallucination against days", "hallucination")):
        assert {one["day"]: figures(one) for one in chart(text, title)} == {
            one["days"]: figures(one[name]) for one in plain["checkpoints"] if one[name]["n"]
        }
    assert {one["name"]: figures(one) for one in chart(text, "Shares of answers")} == {
        "all points": figures(plain["all"]["perfect"]),
        "failing": figures(plain["all"]["failing"]),
        "hallucination": figures(plain["all"]["hallucination"]),
        "leaks": figures(plain["disclosures"]["leak"]),
        "over-refusals": figures(plain["disclosures"]["overRefusal"]),
    }
    overall = {one["column"]: one["value"] for one in chart(text, "Points by category and checkpoint")[-4:]}
    assert overall == pytest.approx({one["label"]: one["points"]["value"] for one in plain["checkpoints"]})
    apart = chart(text, "Leaks and over-refusals by checkpoint")
    assert [(one["name"], one["value"]) for one in apart if one["column"] == "40d"] == [
        ("leaks", 0.5),
        ("over-refusals", 1),
    ]
    points = plain["all"]["points"]
    assert verdict(report(run)) == (
        f"{points['value']:.2f} of 6 points (95 %: {points['low']:.2f} to {points['high']:.2f}),"
        " 1 answer without points"
    )
    assert f"with 100 more days, on the same questions: {plain['slope']['value']:+.2f} (" in text


def test_two_runs_are_compared_as_the_report_does() -> None:
    before, now = run_of(SMALL, judgeModel="a"), replace(with_boundaries(), name="other")
    text = page(now, JOURNAL, before)
    both = pairing(before, now)
    assert f"on {both.pairs} answers to {both.questions} questions that both were asked" in text
    assert "judged by different models" in text
    assert '<option value="equal">' not in text, "all of them are equal, so that there is nothing to choose"


def test_what_is_missing_is_said_at_the_top() -> None:
    run = run_of(
        SMALL, ranges=[{"label": f"{day}d", "days": day} for day in (10, 20, 30, 40)], stop={"cause": "interrupted"}
    )
    head = page(run, JOURNAL).partition("</header>")[0]
    assert "Partial: 3 of 4 checkpoints were reached, since interrupted." in head
    assert "No points, and in no mean: 1 no answer in time." in head
    assert "1 no points" in head
    assert "not measured" not in head
    blind = replace(run, stops=tuple(replace(stop, measured=False) for stop in run.stops))
    text = page(blind, JOURNAL)
    assert "Hallucination is not measured" in text.partition("</header>")[0]
    assert [one["title"] for one in data_of(text)["charts"] if "Halluc" in one["title"]] == []


def test_a_cost_that_is_not_known_is_not_nothing() -> None:
    run = run_of({10: [Asked(id="a", score=RIGHT)], 20: [Asked(id="a", score=RIGHT)]})
    paid, unknown = run.stops
    paid = replace(paid, evaluations=(paid.evaluations[0].with_facts(usd=0.125),))
    text = page(replace(run, stops=(paid, unknown)), JOURNAL)
    rows = re.findall(r'<tr><th scope="row"><bdi>(\d+d) \*</bdi></th>.*<td class="n">([^<]*)</td></tr>', text)
    assert rows == [("10d", "$0.1250"), ("20d", "unknown")]


def test_a_run_without_points_has_a_page() -> None:
    text = page(run_of({10: [Asked(id="a", score=None)]}), JOURNAL)
    assert "<h1>No answer has points, 1 answer without points</h1>" in text
    assert "Points against days" not in text


def test_markup_from_a_run_is_text() -> None:
    run = replace(run_of({10: [Asked(id="<b>x", score=None)]}), adapter="<i>", name="</title>")
    text = page(run, JOURNAL)
    for markup in ("<b>x", "<i>", "<title></title>"):
        assert markup not in text
    assert 'href="#case=%3Cb%3Ex"' in text


def test_a_thousand_questions_take_less_than_two_megabytes() -> None:
    luck = random.Random(1)

    def prose(words: int) -> str:
        return " ".join(f"{luck.getrandbits(24):x}" for _ in range(words))

    run = run_of({30: [Asked(id=f"q{number:04}", score=RIGHT, answer=prose(360)) for number in range(1000)]})
    text = page(run, JOURNAL)
    assert len(text.encode()) < 2_000_000
    assert f"to keep this page small; {JOURNAL} has all of them" in text


@settings(max_examples=15, deadline=None)
@given(any_stops(), any_stops())
def test_any_run_has_a_page(one: Stops, two: Stops) -> None:
    run, base = run_of(one), run_of(two)
    found = data_of(page(run, JOURNAL, base))
    assert len(found["questions"]) == len({each.question.id for each in run.evaluations})
