"""Reports of runs that were never made, with a case of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.results.comparison import compare
from pytest_recall.results.report import CaseStep, RecordedCalls, RunReport, Upstream, WrittenCase, fold
from pytest_recall.results.scorecard import LastPass, summarize
from pytest_recall.schedule.forecast import forecast
from pytest_recall.trials.record import Header, Record, SetApart
from pytest_recall.trials.trial import Answer, Judgement, Outcome, Passage, Row, Trial, Verdict, Vote
from tests.helpers.samples import FAILED, TODAY, header, trial

JOURNAL = "eval/_artifacts/2026-03-10T120000/trials.jsonl"
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\">"
    "<script>document.title='owned'</script></script><!-- ]]> {{ 7*7 }} "
    "\0\x1b[31m \u202eright to left\u202c \ud800 & &amp; 'quotes' \"more\" `ticks` ${x} </pre></dialog>"
)
"""What no page may take for anything but text."""


def written(asked: str = "What does a late return cost?", **more: Any) -> WrittenCase:
    """Return a case as its file has it."""
    given = {"reference": "One pound a day.", "scenario": "fees", "dimension": "facts", "criteria": ("contains: x",)}
    return WrittenCase(asked=asked, **{**given, **more})


def answered(case_id: str, outcome: Outcome = Outcome.PASSED, text: str = "One pound.", **more: Any) -> Trial:
    """Return a trial with an answer."""
    return trial(case_id, outcome, answer=Answer(text=text), **{"scenario": "fees", "dimension": "facts", **more})


def report_of(
    trials: Iterable[Trial], *, head: Header | None = None, base: Iterable[Trial] = (), **more: Any
) -> RunReport:
    """Return the report of a run of these trials, compared with one of the trials `base` if there are any."""
    every = list(trials)
    head = head or header(*((one.case_id, one.reason) for one in every), total=40)
    record = Record(head, tuple(every), 1)
    passes: Mapping[str, LastPass] = more.pop("passes", {})
    card = summarize(every, head.picks, head.total, date.fromisoformat(head.date))._replace(passes=passes)
    before = tuple(base)
    earlier = head._replace(run="2026-03-09T120000", date="2026-03-09")
    against = compare(Record(earlier, before, 0), record) if before else None
    given: dict[str, Any] = {"written": {}, "steps": {}, "taped": {}, **more}
    return fold(record, card, against=against, **given)


def sample(**more: Any) -> RunReport:
    """Return a report with a case of each kind: a regression, passes, fails, cases without a verdict, one not run."""
    row = Row(3, 2, date(2026, 3, 2), TODAY)
    judged = Verdict(
        passed=False,
        score=0.25,
        reason="It names no price.",
        judge="rubric",
        model="openai:small",
        version="v7",
        judgement=Judgement((Vote("openai:small", False, 0.25, "It names no price.", {"correct": 1}),)),
    )
    worse = trial(
        "late-fee",
        FAILED,
        reason="due",
        scenario="fees",
        dimension="facts",
        row=row,
        verdicts=(judged, Verdict(passed=True, judge="contains")),
        answer=Answer(
            text="A late return costs nothing.",
            passages=(Passage(text="Late tools cost one pound a day.", source="fees.md", score=3.5),),
            usage={"input_tokens": 250},
        ),
        seconds=1.5,
        source="replayed",
        where="eval/cases.yaml:3",
        calls=(Call("agent", "replayed", "small", "openai", Tokens(250, 10), 0.002, 1.5),),
    )
    others = (
        answered("refund", reason="box 1", row=Row(1, 0, date(2026, 3, 9), TODAY, failure_note="was wrong")),
        answered("opening-hours", scenario="hours", dimension="tone", text="We open at nine.", source="live"),
        answered("still-wrong", FAILED, text="No one knows.", row=Row(1, 0, TODAY, TODAY, failure_note="as before")),
        answered("flaky", FAILED, text="Heads.", row=Row(1, 0, TODAY, TODAY, quarantined=TODAY, owner="anna")),
        trial("crashed", Outcome.ERROR, scenario="hours", error="agent: TimeoutError: no answer in 30 s"),
        trial("no-key", Outcome.SKIPPED, scenario="hours", error="no key"),
        answered(HOSTILE, FAILED, text=HOSTILE, scenario="odd/sc<e>nario", verdicts=(replace(judged, reason=HOSTILE),)),
        answered("long", text="word " * 40_000),
    )
    trials = (worse, *others)
    picks = [*((one.case_id, one.reason) for one in trials), ("left-out", "due")]
    steps = {
        "late-fee": [
            CaseStep("2026-03-01T120000", "2026-03-01", Outcome.PASSED, 1, 2),
            CaseStep("2026-03-02T120000", "2026-03-02", Outcome.PASSED, 2, 3),
            CaseStep("2026-03-10T120000", "2026-03-10", FAILED, 3, 1, "replayed"),
        ]
    }
    call = Upstream("agent", "POST https://api.example.org/v1/chat", "200", 1.5, "What is the fee?", "Nothing at all.")
    cases = {
        "late-fee": written(tags=("money", "urgent")),
        "opening-hours": written("When do you open?", tags=("time",), scenario="hours", dimension="tone"),
        HOSTILE: written(HOSTILE, reference=HOSTILE, notes=HOSTILE, criteria=(HOSTILE,), edited=True),
    }
    given: dict[str, Any] = {
        "head": header(*picks, total=40, quarantined=(SetApart("flaky", "2026-03-10", owner="anna", lapses=2),)),
        "written": cases,
        "steps": steps,
        "taped": {"late-fee": RecordedCalls("eval/cassettes/fees/late-fee.ndjson", "2026-03-02", (call,))},
        "standing": forecast(list(cases), {"late-fee": row}, TODAY, 30),
        "passes": {"late-fee": LastPass("A late return costs one pound.", run="2026-03-02T120000")},
        **more,
    }
    return report_of(trials, **given)
