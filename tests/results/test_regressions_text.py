"""How a failed case is shown: the commands that repeat it, and what is put down to the change of a pull request."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.replay.exchange import Call
from pytest_recall.results.regressions_text import causes, commands, lines, markdown
from pytest_recall.results.scorecard import CaseText, LastPass, summarize
from pytest_recall.results.standing import BEHIND
from pytest_recall.trials.trial import Answer, EarlierRun
from tests.helpers.samples import FAILED, TODAY, header, row, trial

HERE = "pytest -p recall eval/cases.yaml::a"
ASKED = (Call("agent", "live"),)
KEPT = ["recall ci fetch --pr 7 --to recordings-7", f"{HERE} --replay=recordings-7"]


@pytest.mark.parametrize(
    ("of_trial", "of_header", "found"),
    [
        ({}, {}, [HERE]),
        ({"source": "mixed"}, {}, [HERE]),
        ({"source": "replayed"}, {}, [f"{HERE} --replay"]),
        ({"source": "replayed", "reason": "recorded answer"}, {"pr": "7", "ci_recordings": ("a",)}, KEPT),
        (
            {"source": "replayed", "reason": "recorded answer"},
            {"pr": "7", "ci_recordings": ("b",)},
            [f"{HERE} --replay"],
        ),
        ({"reason": "affected", "calls": ASKED}, {"pr": "7", "keeps_recordings": True}, KEPT),
        ({"reason": "affected", "calls": ASKED}, {"pr": "7"}, [HERE]),
        ({"reason": "due", "calls": ASKED}, {"pr": "7", "keeps_recordings": True}, KEPT),
        ({"reason": "due", "calls": ASKED}, {"pr": "7"}, [HERE]),
        ({"reason": "affected"}, {"pr": "7", "keeps_recordings": True}, [HERE]),
        ({"calls": (Call("judge", "live"),)}, {"pr": "7", "keeps_recordings": True}, [HERE]),
        ({"calls": ASKED}, {"pr": "7", "keeps_recordings": True, "live": ("agent",)}, [HERE]),
        ({"earlier": EarlierRun("r", "no")}, {"pr": "7", "keeps_recordings": True}, KEPT),
        ({"earlier": EarlierRun("r")}, {"pr": "7", "keeps_recordings": True}, [HERE]),
        ({"calls": ASKED, "unrecorded": "is no HTTP"}, {"pr": "7", "keeps_recordings": True}, [HERE]),
        ({"where": "eval/my cases.jsonl:3"}, {}, ["pytest -p recall 'eval/my cases.jsonl::a'"]),
        ({"where": "tests/test_it.py:3"}, {}, ["pytest -p recall tests/test_it.py"]),
        ({"where": ""}, {}, ["pytest -p recall eval"]),
    ],
)
def test_the_commands_that_repeat_a_case(of_trial: dict[str, Any], of_header: dict[str, Any], found: list[str]) -> None:
    one = trial("a", FAILED, **{"where": "eval/cases.yaml:7", **of_trial})
    card = summarize([one], [], 1, TODAY)
    assert commands(header(**of_header), card, card.results[0]) == found


def test_recordings_of_ci_are_those_of_the_eval_directory() -> None:
    one = trial("a", FAILED, where="svc/eval/cases.yaml:7", reason="affected", calls=ASKED)
    card = summarize([one], [], 1, TODAY)._replace(directory="svc/eval")
    fetch, _ = commands(header(pr="7", keeps_recordings=True), card, card.results[0])
    assert fetch == "recall ci fetch --dir svc/eval --pr 7 --to recordings-7"


def test_a_pull_request_is_not_named_as_the_suspect_in_its_own_comment() -> None:
    card = summarize([trial("a", FAILED, row=row(3))], [], 1, TODAY)._replace(suspects={"a": ("7",)})
    assert [line for line in causes(header(pr="7"), card, card.results[0]) if "suspect" in line] == []
    for known in (header(pr="8"), header(mode="nightly")):
        assert any("suspect: #7" in line for line in causes(known, card, card.results[0]))


def test_a_fail_outside_of_the_change_is_put_down_to_what_lies_behind_its_requests() -> None:
    card = summarize([trial("a", FAILED, reason="due", row=row(3))], [], 1, TODAY, by_change=True)
    assert list(causes(header(pr="7", knows_change=True), card, card.results[0])) == [f"cause: {BEHIND}"]


def test_question_and_answers_stay_text() -> None:
    card = summarize([trial("a", FAILED, row=row(3), answer=Answer(text="*no* [x](y)"))], [], 1, TODAY)
    card = card._replace(
        texts={"a": CaseText("<b>Is it</b> @open?", "| **yes** |")}, passes={"a": LastPass("*yes* [x](y)", "long ago")}
    )
    lines = list(markdown(header(), card, card.results[0], ""))
    assert "  - asked: &lt;b&gt;Is it&lt;/b&gt; @\u200bopen?" in lines
    assert r"  - expected: \| \*\*yes\*\* \|" in lines
    assert any(line.endswith(r", and now: ~~\*yes\*~~ **\*no\*** \[x\]\(y\)") for line in lines)


def test_a_confirmed_fail_of_an_affected_case_says_how_it_had_fared_and_is_no_flake() -> None:
    fails = [trial("a", FAILED, rule="fail 2of3", repeat=number, row=row(3, failed=1, tried=42)) for number in (1, 2)]
    card = summarize(fails, [], 1, TODAY)
    (tally,) = [line for line in lines(header(pr="7"), card, card.results[0]) if line.startswith("failed ")]
    assert tally == "failed 2 of 2 trials; it had passed 41 of 42"
    assert card.flaky == {}


def test_an_answer_that_is_on_record_is_repeated_from_there() -> None:
    card = summarize([trial("a", FAILED, where="eval/cases.yaml:7", calls=ASKED)], [], 1, TODAY)
    told = {
        on_record: list(markdown(header(), card._replace(on_record=on_record), card.results[0], ""))[-1]
        for on_record in (frozenset("a"), frozenset("b"))
    }
    assert told == {
        frozenset("a"): f"  - to repeat it without a call of a model: `{HERE} --replay`",
        frozenset("b"): f"  - to repeat it, which asks the model: `{HERE}`",
    }


def test_of_a_verdict_that_holds_it_is_told_what_is_known_of_its_trial() -> None:
    knows = trial("a", FAILED, row=row(3), source="earlier", earlier=EarlierRun("2026-03-10T080000", "no", "pff"))
    card = summarize([knows], [], 1, TODAY)._replace(passes={"a": LastPass("yes", "long ago")})
    told = list(markdown(header(pr="7"), card, card.results[0], ""))
    assert any(line.endswith(", and now: ~~yes~~ **no**") for line in told)
    assert "  - failed 2 of 3" in told
    assert any("2026-03-10T080000" in line for line in told)
    nothing = knows._replace(earlier=EarlierRun("2026-03-10T080000"))
    card = summarize([nothing], [], 1, TODAY)._replace(passes=card.passes)
    told = [*markdown(header(pr="7"), card, card.results[0], ""), *lines(header(pr="7"), card, card.results[0])]
    assert not any("~~" in line or "answered:" in line or "failed" in line for line in told)
    assert sum("yes" in line for line in told) == sum("2026-03-10T080000" in line for line in told) == 2
