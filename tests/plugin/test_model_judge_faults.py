"""What a run shows of a judging model that cannot judge, and that no box moves by it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.project import Project, case, row
from tests.helpers.scripted import AUDITED_CASE, asks, judged, model, times_asked
from tests.helpers.upstream import Upstream
from tests.helpers.waiting import no_wait

WRONG_BUT = "python:judge.py:generous misjudged 2 of 4 known answers of the judge `rubric`, and 1 may be"
SAID = {
    "refusing": "asked 3 times, and the reply is a refusal to judge",
    "prose": "asked 3 times, and the reply is not one JSON object and nothing else*",
    "slow": "slow: no reply within 60 s; try again later",
    "limited": "limited: the provider answered 429; ask less often",
}


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    no_wait(monkeypatch)


@pytest.mark.parametrize(("fault", "workers"), [("prose", ("-n1",)), ("slow", ())], ids=["prose-n1", "slow"])
def test_a_judge_that_cannot_judge_moves_no_box(
    pytester: pytest.Pytester, fault: str, workers: tuple[str, ...]
) -> None:
    project = judged(asks("a", "right"), asks("b", "wrong"), case("c"), judge=fault, preflight="off")
    checkout = project.with_state(a=row(3), b=row(1, 0)).at(pytester)
    before = checkout.state()
    result = checkout.run("eval", *workers)
    result.assert_outcomes(passed=1, errors=2)
    assert result.ret == 1
    assert {name: found for name, found in checkout.state().items() if name != "c"} == before
    result.stdout.fnmatch_lines(["no verdict (2), no box moved:", f"  error: a: *: judge rubric: *{SAID[fault]}"])


@pytest.mark.parametrize("fault", ["prose", "limited"])
def test_a_fail_whose_appeal_comes_to_nothing_is_no_verdict(pytester: pytest.Pytester, fault: str) -> None:
    project = judged(asks("a", "wrong"), appellate=fault, preflight="off")
    checkout = project.with_state(a=row(3)).at(pytester)
    result = checkout.run("eval")
    result.assert_outcomes(errors=1)
    assert checkout.boxes() == {"a": 3}
    (told,) = checkout.scorecard()["no_verdict"]
    assert told["note"].startswith(f"judge rubric: {model('oracle')} failed it (requirement 0 of 1, 1 needed: oracle")
    assert "and the appeal gave no verdict: " in told["note"]
    assert fault == "prose" or "the provider answered 429" in result.stdout.str()


def test_a_pass_whose_audit_comes_to_nothing_stands(pytester: pytest.Pytester) -> None:
    checkout = judged(asks(AUDITED_CASE, "right"), appellate="limited", preflight="off").at(pytester)
    result = checkout.run("eval", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["audited passes: 1 asked, 0 overturned, 1 came to nothing; *"])
    assert checkout.boxes() == {AUDITED_CASE: 1}


class TestPreflight:
    """Known answers come before anything else is spent."""

    CASES = (asks("a", "right"), asks("b", "wrong"), asks("c", "right too"))

    def generous(self, **rubric: str | int) -> Project:
        return judged(*self.CASES, judge="generous", **rubric)

    def test_a_judge_that_is_wrong_about_them_stops_the_run(self, pytester: pytest.Pytester) -> None:
        checkout = self.generous().with_state(a=row(1)).at(pytester)
        result = checkout.run("eval", "-n1")
        result.stdout.fnmatch_lines(
            [f"preflight: {WRONG_BUT} (*); choose another judge, or write `judge: {{preflight: warn}}`*"]
        )
        assert result.ret == 4
        assert checkout.asked() == []
        assert checkout.boxes() == {"a": 1}

    @pytest.mark.parametrize(("fault", "said"), [("refusing", "misjudged"), ("limited", "could not be asked about")])
    def test_so_does_one_that_does_not_judge_them(self, pytester: pytest.Pytester, fault: str, said: str) -> None:
        checkout = judged(*self.CASES, judge=fault).at(pytester)
        result = checkout.run("eval")
        why = SAID[fault].removeprefix("limited: ")
        result.stdout.fnmatch_lines([f"preflight: {model(fault)} {said} 2 of 2 known answers*{why}*"])
        assert (result.ret, checkout.asked()) == (4, [])

    def test_a_warning_is_in_the_scorecard(self, pytester: pytest.Pytester) -> None:
        checkout = self.generous(preflight="warn").at(pytester)
        result = checkout.run("eval", "-v")
        result.assert_outcomes(passed=3)
        line = f"rubric, {model('generous')}: * of them wrong, and * may be: trust its verdicts little"
        result.stdout.fnmatch_lines(["preflight: * known answers judged right", line])
        assert result.ret == 0

    def test_off_asks_nothing(self, pytester: pytest.Pytester) -> None:
        checkout = judged(*self.CASES, preflight="off").at(pytester)
        checkout.run("eval")
        assert times_asked(checkout) == ["oracle"] * 3

    def test_only_judges_that_are_used_are_tried_and_only_once(self, pytester: pytest.Pytester) -> None:
        checkout = judged(*self.CASES).at(pytester)
        checkout.run("eval")
        assert times_asked(checkout) == ["oracle"] * (6 + 3)
        none = judged(case("z"), judge="generous").at(pytester)
        none.run("eval").assert_outcomes(passed=1)


CALLING = """\
import httpx


class Calling(Judge):
    def ask(self, ask):
        body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": ask.messages[-1].content}]}
        httpx.post(URL + "/v1/chat/completions", json=body).raise_for_status()
        return super().ask(ask)


calling = Calling("calling")
"""


def calling(upstream: Upstream, **rubric: Any) -> Project:
    """Return a project whose judge asks over HTTP, and whose agent does not."""
    project = judged(asks("a", "right"), asks("b", "right too"), **rubric)
    source = project.files["judge.py"] + CALLING
    rubric_yaml = project.files["eval/rubric.yaml"].replace(":oracle", ":calling")
    return project.with_files({"judge.py": source.replace("URL", repr(upstream.url)), "eval/rubric.yaml": rubric_yaml})


LIVE = ("--recall-live", "judge")


def test_live_judges_are_asked_in_a_replay(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = calling(upstream).at(pytester)
    checkout.run("eval", "--record", *LIVE).assert_outcomes(passed=2)
    checkout.run("eval", "--replay", *LIVE, "--recall-mode", "all").assert_outcomes(passed=2)
    assert upstream.count == 2 * (6 + 2)
    calls = [call for trial in checkout.journal().trials for call in trial.calls]
    assert [(call.kind, call.source) for call in calls] == [("judge", "live")] * (6 + 2)


def test_judges_are_tried_as_they_are_recorded_and_not_as_they_are_replayed(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = calling(upstream).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=2)
    calls = {trial.case_id: trial.calls for trial in checkout.journal().trials}
    assert sorted(len(made) for made in calls.values()) == [1, 6 + 1], "those of the preflight are counted"
    assert {call.kind for made in calls.values() for call in made} == {"judge"}
    recorded = [path.read_text(encoding="utf-8") for path in sorted(pytester.path.glob("eval/cassettes/**/*.ndjson"))]
    assert [text.count('"request"') for text in recorded] == [1, 1]
    upstream.close()
    for option in ("--replay", "--record=missing"):
        checkout.run("eval", option, "--recall-mode", "all").assert_outcomes(passed=2)
    assert upstream.count == 6 + 2


def test_a_secret_that_a_judge_quotes_is_written_nowhere(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_WORD", "sesame-4711")
    checkout = judged(
        asks("a", "wrong"), judge="quoting", appellate="oracle", preflight="off", secrets=["SHOP_WORD"]
    ).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(failed=1)
    (vote,) = checkout.journal().trials[0].verdicts[0].judgement.votes  # type: ignore[union-attr]
    assert vote.passed is False
    assert "sesame-4711" not in (checkout.artifacts.runs()[-1] / "trials.jsonl").read_text()
