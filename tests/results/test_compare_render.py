"""The comparison as terminal lines, Markdown and JSON: what is said, and what is not claimed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from pytest_recall.files.sections import report_lines, report_markdown
from pytest_recall.judges.calibration import Calibration, JudgeKey
from pytest_recall.metrics.agreement import Confusion
from pytest_recall.replay.exchange import Call
from pytest_recall.results.comparison import Comparison, compare
from pytest_recall.results.comparison_text import MAX_SHOWN, comparison_report, comparison_sections
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Judgement, Trial, Verdict, Vote
from tests.helpers.samples import ERROR, FAILED, PASSED, WEAK, header, some_text, trial, unhurried


def record(*trials: Trial, exit_code: int | None = 0, **more: Any) -> Record:
    """Return the record of a run of all cases."""
    return Record(header=header(**{"mode": "all", **more}), trials=trials, exit_code=exit_code)


def cases(passed: int, of: int, **more: Any) -> list[Trial]:
    """Return trials of which the first so many pass."""
    return [trial(f"c{i:03}", PASSED if i < passed else FAILED, **more) for i in range(of)]


def compared(base: list[Trial], head: list[Trial], **more: Any) -> Comparison:
    """Return the comparison of two runs by their trials."""
    return compare(record(*base, run="one", model="small"), record(*head, run="two", model="large"), **more)


def text(found: Comparison) -> str:
    """Return all that the terminal shows."""
    return "\n".join(report_lines(comparison_report(found).sections))


def markdown(found: Comparison) -> str:
    """Return the comparison as a page."""
    return report_markdown(comparison_report(found))


def as_json(found: Comparison) -> Any:
    """Return the comparison as plain JSON types."""
    return comparison_report(found).facts


def flipped(found: Comparison, title: str) -> Sequence[tuple[str, ...]]:
    """Return the rows of the section of cases that flipped in one way."""
    (section,) = [one for one in comparison_sections(found) if one.title == title]
    return section.tables[0].rows


def test_a_title_names_the_model_of_the_replies() -> None:
    found = compared(*(cases(9, 9, calls=(Call("agent", "live", model),)) for model in ("small-1", "large-2")))
    assert text(found).splitlines()[:2] == [
        "BASE one: all cases, 2026-03-10, seed 7, model small-1",
        "HEAD two: all cases, 2026-03-10, seed 7, model large-2",
    ]
    assert [as_json(found)[name]["model"] for name in ("base", "head")] == ["small-1", "large-2"]


def test_a_drop_is_shown() -> None:
    assert text(compared(cases(40, 40), cases(30, 40))).splitlines()[:8] == [
        "BASE one: all cases, 2026-03-10, seed 7",
        "HEAD two: all cases, 2026-03-10, seed 7",
        "40 cases with a verdict in both",
        "",
        "BASE  40 of 40 passed: 100.0 % (99 %: 85.8 to 100.0 %)",
        "HEAD  30 of 40 passed: 75.0 % (99 %: 54.7 to 88.2 %)",
        "difference -25.0 points (99 %: -45.3 to -7.2), 10 passed and fail now, 0 failed and pass now,"
        " McNemar's exact p 0.002",
        "A drop is shown: had nothing changed, 40 cases would look so different in at most 1 % of all comparisons.",
    ]


def test_what_could_be_chance_says_what_could_be_shown() -> None:
    told = text(compared(cases(40, 40), cases(36, 40)))
    assert "Could be chance: with as many flips, 40 cases can show a drop of 24.5 points or more" in told
    assert "is shown" not in told


def test_cases_that_are_tried_several_times() -> None:
    def tried(case_id: str, passed: int) -> list[Trial]:
        return [trial(case_id, PASSED if n <= passed else FAILED, repeat=n, rule="pass 3of5") for n in range(1, 6)]

    found = compared([*tried("a", 5), *tried("b", 4), *cases(2, 2)], [*tried("a", 4), *tried("b", 1), *cases(2, 2)])
    told = text(found).splitlines()
    assert told[4:7] == [
        "BASE  3.8 of 4 passed: 95.0 % (99 %: 34.0 to 99.9 %)",
        "HEAD  3.0 of 4 passed: 75.0 % (99 %: 21.8 to 97.0 %)",
        "difference -20.0 points (99 %: -75.4 to +54.9), 2 pass less often now, 0 more often, p by sign flips 0.5",
    ]
    assert flipped(found, "passed in BASE, fails in HEAD (1)")[0][:2] == ("b (4 → 1 of 5)", "contains: no “one pound”")
    assert flipped(found, "passes less often in HEAD (1)")[0][0] == "a (5 → 4 of 5)"
    assert "2 of 4 pairs are compared by how often they passed, on as many trials of both runs, the first ones." in told
    assert r"| b \(4 → 1 of 5\) | contains: no “one pound” |" in markdown(found)
    plain = as_json(found)
    assert [one["tried"] for one in (*plain["lost"], *plain["fell"])] == [
        {"base": 4, "head": 1, "of": 5},
        {"base": 5, "head": 4, "of": 5},
    ]
    assert (plain["overall"]["test"], plain["overall"]["fell"], plain["overall"]["p"]) == ("sign flips", 2, 0.5)


def test_fails_that_nobody_has_to_believe_are_counted_apart() -> None:
    found = compared(cases(3, 3), [*cases(2, 2), trial("c002", FAILED, unproven=(WEAK,))])
    told = text(found)
    assert (
        "2 cases with a verdict in both; not compared: 1 failed only by judges that have not been shown to agree with"
        " people"
    ) in told
    assert "A fail by a judge below `min_kappa` is no verdict: c002; `recall judges calibrate` shows" in told
    assert as_json(found)["not_compared"]["unproven"] == ["c002"]


def test_few_cases_can_show_nothing() -> None:
    told = text(compared(cases(3, 3), cases(0, 3)))
    assert "Could be chance: 3 cases cannot show even that all of them fail; at this level it takes more." in told


def test_a_rise_is_shown() -> None:
    found = compared(cases(20, 40), cases(40, 40))
    assert "A rise is shown" in text(found)
    assert markdown(found).startswith("# Recall comparison: a rise is shown\n")


def test_flips_are_listed_with_their_reasons_lost_ones_first() -> None:
    found = compared([trial("a", PASSED), trial("b", FAILED)], [trial("a", FAILED), trial("b", PASSED)])
    titles = [one.title for one in comparison_sections(found) if "HEAD" in one.title]
    assert titles == ["passed in BASE, fails in HEAD (1)", "failed in BASE, passes in HEAD (1)"]
    assert flipped(found, titles[0])[0][:2] == ("a", "contains: no “one pound”")
    assert flipped(found, titles[1])[0][0] == "b"


def test_many_flips_are_cut() -> None:
    found = compared(cases(150, 150), cases(0, 150))
    assert f"{150 - MAX_SHOWN} more with --json" in text(found).splitlines()
    assert len(as_json(found)["lost"]) == 150


def test_what_is_not_compared_is_counted() -> None:
    base = [trial("a"), trial("b", ERROR), trial("c", fingerprint="1"), trial("only")]
    head = [trial("a"), trial("b"), trial("c", fingerprint="2"), trial("new"), trial("newer")]
    told = text(compared(base, head))
    assert (
        "1 case with a verdict in both; not compared: 1 only in BASE, 2 only in HEAD,"
        " 1 without a verdict in one of them, 1 whose text or judges changed\n"
    ) in told
    assert "Changed between the runs, and so not the same question: c; --include-changed compares them." in told


def test_groups() -> None:
    base = [*cases(20, 20, scenario="fees"), trial("x", scenario="")]
    head = [*cases(8, 20, scenario="fees"), trial("x", scenario="")]
    told = text(compared(base, head)).splitlines()
    start = told.index(next(line for line in told if line.startswith("scenario")))
    assert told[start : start + 5] == [
        "scenario  cases     BASE     HEAD  difference       p, Holm  drop it can show",
        "(none)        1  100.0 %  100.0 %        +0.0       too few              none",
        "fees         20  100.0 %   40.0 %       -60.0  0.00049 drop       55.1 points",
        "",
        "p is adjusted for 1 test, of the scenarios and dimensions together (Holm).",
    ]


def test_a_drop_in_a_part_is_not_said_of_all() -> None:
    rest = [trial(f"r{i}", PASSED if i < 10 else FAILED, scenario="rest") for i in range(20)]
    back = [trial(f"r{i}", FAILED if i < 10 else PASSED, scenario="rest") for i in range(20)]
    found = compared([*cases(12, 12, scenario="fees"), *rest], [*cases(0, 12, scenario="fees"), *back])
    assert "Over all cases it could be chance, but a drop is shown in scenario fees." in text(found)
    assert markdown(found).startswith("# Recall comparison: a drop is shown \\(scenario fees\\)\n")


def test_a_rise_does_not_hide_a_drop_in_a_part() -> None:
    rest = [trial(f"r{i:02}", FAILED, scenario="rest") for i in range(60)]
    back = [one._replace(outcome=PASSED, verdicts=()) for one in rest]
    found = compared([*cases(12, 12, scenario="fees"), *rest], [*cases(0, 12, scenario="fees"), *back])
    assert "A rise is shown: had nothing changed" in text(found)
    assert " A drop is shown in scenario fees." in text(found)
    assert markdown(found).startswith("# Recall comparison: a drop is shown \\(scenario fees\\)\n")


def unfair() -> Comparison:
    """Return the comparison of a run with the schedule's retest of what failed in it."""
    base = record(*cases(20, 40), state="1", started="2026-03-10T12:00:00+00:00")
    retest = [one._replace(outcome=PASSED, verdicts=()) for one in cases(20, 40)[20:]]
    return compare(base, record(*retest, mode="pr", state="2", started="2026-03-11T12:00:00+00:00"))


def test_a_retest_of_what_failed_shows_nothing() -> None:
    told = text(unfair())
    assert "The rates of both runs are not compared: the schedule chose the cases of the later run" in told
    assert "and left out 20 cases." in told
    assert "is shown" not in told
    assert markdown(unfair()).startswith("# Recall comparison: nothing is shown\n")
    found = as_json(unfair())
    assert (found["shown"], found["overall"]["shown"], len(found["chosen_after"])) == ("nothing", "nothing", 20)


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (("replayed",) * 4, "Every pair is of two replayed answers: they compare the code around the model"),
        (("replayed", "live", "replayed", "live"), "1 of 2 pairs are of two replayed answers, which compare the code"),
        (("replayed", "live", "live", "live"), "1 of 2 pairs are of a replayed answer and one that is not."),
        (("live",) * 4, ""),
    ],
)
def test_replays_are_said(sources: tuple[str, ...], said: str) -> None:
    base = [trial("a", source=sources[0]), trial("b", source=sources[1])]
    head = [trial("a", source=sources[2]), trial("b", source=sources[3])]
    told = text(compared(base, head))
    assert said in told
    assert ("replayed" in told) == bool(said)


def test_what_is_beside_the_verdicts() -> None:
    def answers(score: float, seconds: float, cost: float | None) -> list[Trial]:
        call = Call("agent", "live", cost=cost)
        more = {"seconds": seconds, "calls": (call,)}
        judged = [(Verdict(passed=True, score=score if i else 0.5, judge="f1"),) for i in range(12)]
        return [trial(f"c{i:02}", PASSED, verdicts=verdicts, **more) for i, verdicts in enumerate(judged)]

    told = text(compared(answers(0.5, 1.0, 0.25), answers(0.75, 2.5, None))).splitlines()
    assert "mean score of f1: 0.500 → 0.729, +0.229 (99 %: +0.146 to +0.250, bootstrap), 12 cases" in told
    assert "median time of the agent: 1.00 s → 2.50 s, 12 cases live in both" in told
    assert "cost of these cases at list price: $3.00 (12 calls) → unknown (12 calls)" in told


def test_what_is_unknown_is_not_zero() -> None:
    found = compared([trial("a")], [trial("a", calls=(Call("agent", "live", cost=0.5),))])
    assert "cost of these cases at list price: unknown → $0.50 (1 call)" in text(found)
    plain = as_json(found)
    assert (plain["seconds"], plain["cost"]["base"], plain["cost"]["head"]["record"]["usd"]) == (None, None, 0.5)
    nothing = text(compared([trial("a")], [trial("a")]))
    assert "No case flipped: 1 case cannot show even that all of them fail" in nothing
    assert not any(word in nothing for word in ("cost", "time", "score"))


def test_a_run_that_was_cut_off_is_called_so() -> None:
    found = compare(record(trial("a"), exit_code=None), record(trial("a")))
    assert "model" not in text(found).splitlines()[0]
    assert text(found).splitlines()[0].endswith("(cut off before its end)")
    assert as_json(found)["base"]["cut_off"] is True


def test_json_is_plain_and_whole() -> None:
    found = as_json(compared(cases(40, 40, scenario="fees"), cases(30, 40, scenario="fees"), alpha=0.05))
    assert json.loads(json.dumps(found, allow_nan=False))["version"] == 1
    assert (found["alpha"], found["shown"], found["drops"]) == (0.05, "drop", ["all cases"])
    assert found["overall"]["p"] == pytest.approx(2 / 1024)
    assert found["lost"][0] == {
        "id": "c030",
        "scenario": "fees",
        "dimension": "",
        "base": "passed",
        "head": "failed",
        "tried": None,
        "note": "contains: no “one pound”",
        "where": None,
    }


@given(some_text, some_text)
@unhurried
def test_text_from_outside_cannot_break_out(note: str, scenario: str) -> None:
    verdicts = (Verdict(passed=False, reason=note, judge="j"),)
    base = [trial("a", scenario=scenario), trial("b", scenario="other")]
    head = [trial("a", FAILED, verdicts=verdicts, scenario=scenario), trial("b", scenario="other")]
    found = compared(base, head)
    (row,) = [line for line in markdown(found).splitlines() if line.startswith("| a |")]
    assert row.replace("\\|", "").count("|") == 4
    assert not any(ord(c) < 32 for line in text(found).splitlines() for c in line)


def by_model(passed: int, of: int, model: str) -> list[Trial]:
    """Return trials of which a model passed the first so many."""

    def said(ok: bool) -> Verdict:
        judgement = Judgement((Vote(model=model, passed=ok),))
        return Verdict(passed=ok, judge="rubric", model=model, version="v", reason="so so", judgement=judgement)

    return [trial(f"c{i:03}", PASSED if i < passed else FAILED, verdicts=(said(i < passed),)) for i in range(of)]


def test_different_judges_are_told_before_any_figure_and_beside_what_is_shown() -> None:
    found = compared(by_model(40, 40, "m"), by_model(25, 40, "n"))
    warning = (
        "The runs were judged by different judges: in BASE rubric, m, version v, and in HEAD rubric, n, version v."
        " The difference may be theirs."
    )
    told = text(found).splitlines()
    assert told[3:5] == [warning, ""]
    (shown,) = [line for line in told if line.startswith("A drop is shown")]
    assert shown.endswith(" The judges are not the same in both, so that the difference may be theirs.")
    page = markdown(found).splitlines()
    assert page[0] == r"# Recall comparison: a drop is shown by different judges \(all cases\)"
    assert page.index(f"- {warning}") < next(i for i, line in enumerate(page) if "exact p" in line)
    assert comparison_sections(found)[0].lines[3] == warning
    assert as_json(found)["other_judges"] == {
        "base": ("rubric, m, version v",),
        "head": ("rubric, n, version v",),
        "cases": 40,
    }


def test_where_some_cases_have_different_judges_they_are_counted() -> None:
    found = compared([*by_model(3, 3, "m"), trial("x")], [*by_model(2, 2, "m"), by_model(3, 3, "n")[2], trial("x")])
    assert "1 of 4 cases were judged by different judges: in BASE rubric, m, version v, and in HEAD" in text(found)


def test_the_same_judges_are_nothing_to_tell() -> None:
    found = compared(by_model(40, 40, "m"), by_model(25, 40, "m"))
    for told in (text(found), markdown(found)):
        assert "different judges" not in told
        assert "not the same in both" not in told
    assert as_json(found)["other_judges"] is None


def test_many_judges_are_named_in_part() -> None:
    base = [by_model(n + 1, n + 1, f"m{n}")[-1] for n in range(5)]
    head = [by_model(n + 1, n + 1, f"n{n}")[-1] for n in range(5)]
    told = text(compared(base, head))
    assert "version v; rubric, m2, version v; and 2 more, and in HEAD rubric, n0" in told


def test_rates_of_judges_with_their_errors_taken_out() -> None:
    key = JudgeKey("rubric", "m", "v")
    known = {key: Calibration(0.66, 120, labels=Confusion(55, 12, 45, 8))}
    found = compared(by_model(30, 40, "m"), by_model(20, 40, "n"), calibrations=known)
    told = text(found).splitlines()
    place = next(i for i, line in enumerate(told) if line.startswith("difference"))
    assert told[place + 1].startswith(
        "BASE  judge rubric, m, version v passes 75.0 % of 40 answers; with its errors taken out 71.7 % (99 %: "
    )
    assert told[place + 2] == "not corrected for a judge's errors: rubric, n (no labels)"
    plain = as_json(found)["judged_rates"]
    assert (plain["base"][0]["corrected"], plain["head"][0]["corrected"]) == (pytest.approx(0.75 - 4 / 120), None)


def test_only_compared_cases_are_in_the_rates() -> None:
    found = compared(by_model(2, 3, "m"), [*by_model(1, 2, "m"), trial("new")], calibrations={})
    assert [[one.answers for one in rates] for rates in found.rates] == [[2], [2]]


def test_without_calibrations_nothing_is_said_of_them() -> None:
    assert "not corrected" not in text(compared(by_model(30, 40, "m"), by_model(20, 40, "m")))
