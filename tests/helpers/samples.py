"""Sample cases, rows and trials, varied by keyword; and hypothesis strategies for them."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, get_args

from hypothesis import settings
from hypothesis import strategies as st

from pytest_recall.cases.case import Case
from pytest_recall.models.outage import Outage, OutageKind
from pytest_recall.replay.exchange import KINDS, Call, Tokens
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import (
    Answer,
    AtCheckpoint,
    EarlierRun,
    Judgement,
    Outcome,
    Passage,
    Preflight,
    Row,
    Trial,
    TrialStep,
    Verdict,
    Vote,
    WeakJudge,
)

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
"""What a clone without `git lfs pull` has in the place of a file that Git LFS keeps."""
TODAY = date(2026, 3, 10)
# A slow machine is not a failed property.
unhurried = settings(deadline=None, database=None)
# An example takes long, so that a third of them has to do in each run.
costly = settings(unhurried, max_examples=unhurried.max_examples // 3)


def printed_alike(program: str) -> str:
    """Return what a program prints, which has to be the same under two hash seeds, and so in any order of sets."""
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(program, {})
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert here.getvalue() == there
    return there


def cuts(data: bytes, *, every: int) -> list[int]:
    """Return where to cut `data` off: at each `every`th byte, and at, before and behind each end of a line."""
    ends = [place for place, byte in enumerate(data) if byte == 0x0A]
    near = {place + step for place in ends for step in (-1, 0, 1, 2)}
    return sorted(place for place in near | {*range(0, len(data), every)} if 0 <= place < len(data))


def days(count: int) -> timedelta:
    """Return so many days."""
    return timedelta(days=count)


def case(**given: Any) -> Case:
    """Return a small valid case with the `given` fields in place of its own."""
    plain: dict[str, Any] = {
        "id": "late-fee",
        "scenario": "fees",
        "dimension": "facts",
        "input": "What does a late return cost?",
        "expected": "One pound a day.",
        "judges": ["exact"],
    }
    return Case.model_validate({key: value for key, value in {**plain, **given}.items() if value is not ...})


def row(box: int = 1, streak: int = 1, *, due: date = TODAY, tested: date | None = None, **more: Any) -> Row:
    """Return a row that is due today unless `due` says otherwise."""
    return Row(box, streak, tested or TODAY - days(30), due, **more)


def failing(**more: Any) -> Row:
    """Return the row of a case whose last verdict was a fail."""
    return row(1, 0, **{"failure_note": "contains: no “one pound”", **more})


WEAK = WeakJudge("rubric", "m", "v1", 0.6)
"""A judge without a calibration."""


def trial(case_id: str = "a", outcome: Outcome = Outcome.PASSED, **more: Any) -> Trial:
    """Return a trial; a fail comes with a verdict and a crash with an error."""
    if outcome is Outcome.FAILED:
        more.setdefault("verdicts", (Verdict(passed=False, score=0.0, reason="no “one pound”", judge="contains"),))
    if outcome in (Outcome.ERROR, Outcome.SKIPPED):
        more.setdefault("error", "agent: TimeoutError: no answer")
    return Trial(case_id=case_id, outcome=outcome, **more)


def header(*picks: tuple[str, str], **more: Any) -> Header:
    """Return the header of a scheduled run that chose `picks`."""
    given: dict[str, Any] = {
        "run": "2026-03-10T120000",
        "date": TODAY.isoformat(),
        "mode": "pr",
        "seed": "7",
        "started": "2026-03-10T12:00:00+00:00",
        "scheduled": True,
        "writes": True,
        "total": 40,
        "whole": True,
        "picks": picks,
    }
    return Header(**{**given, **more})


PASSED, FAILED, ERROR, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED

dates = st.dates(min_value=date(2026, 1, 1), max_value=date(2026, 12, 31))
outcomes = st.sampled_from(Outcome)
case_ids = st.text("abcdefgh0123456789-", min_size=1, max_size=6)
texts = st.text(st.characters(codec="utf-8"), max_size=30)
some_text = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
maybe_text = st.none() | some_text
scores = st.floats(0, 1)
extras = st.sampled_from(["", ", team: anna", ', seen: 3, why: "a, b"'])


changes = st.sampled_from(("1", "2", "12", "15", "9f86d081884c", "123456789012", "012345678901", 'x], ["y": z'))
"""Pull requests and commits, as rows name what has touched a case."""


# Made once: what is made within a draw is looked through and checked in each of them.
_MAYBE_DATES = st.none() | dates
_MAYBE = st.booleans()
_TOUCHED = st.lists(changes, max_size=8, unique=True)
_EVIDENCE = st.just(1.0) | st.integers(101, 10**6).map(lambda hundredths: hundredths / 100)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Draw a row that some history could have left."""
    box = draw(st.integers(1, 5))
    tested = draw(dates)
    return Row(
        box,
        draw(st.integers(0, 9)),
        tested,
        tested + days(draw(st.integers(1, 30))),
        draw(maybe_text),
        draw(maybe_text),
        draw(maybe_text),
        draw(maybe_text),
        draw(st.integers(0, 9)),
        since := draw(_MAYBE_DATES),
        since + days(30) if since and draw(_MAYBE) else None,
        draw(maybe_text),
        draw(extras),
        draw(maybe_text),
        tuple(draw(_TOUCHED)),
        draw(maybe_text),
        draw(_EVIDENCE),
        failed := draw(st.integers(0, 3)),
        failed + draw(st.integers(0, 99)),
    )


row_maps: st.SearchStrategy[Mapping[str, Row]] = st.dictionaries(case_ids, rows(), max_size=40)

passages = st.builds(Passage, text=some_text, source=maybe_text, score=st.none() | st.floats(-100, 100))
answers = st.builds(
    Answer,
    text=texts,
    passages=st.lists(passages, max_size=3).map(tuple),
    usage=st.dictionaries(some_text, st.integers(0, 10**6) | st.floats(0, 10), max_size=3),
    by=texts,
)
votes = st.builds(
    Vote,
    model=texts,
    passed=st.none() | st.booleans(),
    score=st.none() | scores,
    reason=texts,
    scores=st.dictionaries(some_text, st.integers(0, 9), max_size=3),
    replied=maybe_text,
    retried=st.integers(0, 9),
    flips=st.integers(0, 1),
    ignored=st.lists(some_text, max_size=2).map(tuple),
    error=texts,
)
judgements = st.builds(
    lambda votes, appeal, cause, *more: Judgement(votes, appeal, cause if appeal else "", *more),
    st.lists(votes, max_size=3).map(tuple),
    st.none() | votes,
    some_text,
    st.dictionaries(some_text, st.builds(Preflight, *[st.integers(0, 9)] * 3), max_size=2),
    st.booleans(),
)
verdicts = st.builds(
    Verdict,
    passed=st.none() | st.booleans(),
    score=st.none() | scores,
    reason=texts,
    judge=texts,
    model=texts,
    version=texts,
    judgement=st.none() | judgements,
    panel=texts,
    asked=texts,
)
counts = st.none() | st.integers(0, 10**6)
calls = st.builds(
    Call,
    kind=st.sampled_from(KINDS),
    source=st.sampled_from(("live", "replayed")),
    model=st.none() | some_text,
    provider=st.none() | some_text,
    tokens=st.none() | st.builds(Tokens, counts, counts, counts, counts),
    cost=st.none() | st.floats(0, 10**4),
    seconds=st.floats(0, 10**4),
)
trials = st.builds(
    Trial,
    case_id=case_ids,
    outcome=outcomes,
    reason=texts,
    scenario=texts,
    dimension=texts,
    verdicts=st.lists(verdicts, max_size=3).map(tuple),
    answer=st.none() | answers,
    error=texts,
    seconds=st.none() | st.floats(0, 10**4),
    attempt=st.integers(1, 9),
    source=some_text,
    fingerprint=texts,
    where=texts,
    pr=maybe_text,
    model=maybe_text,
    row=st.none() | rows(),
    calls=st.lists(calls, max_size=3).map(tuple),
    counts_for_schedule=st.booleans(),
    repeat=st.just(1),
    unproven=st.lists(
        st.builds(WeakJudge, texts, texts, texts, st.floats(0, 1), st.none() | st.floats(-1, 1)), max_size=2
    ).map(tuple),
    weighed=st.none(),
    earlier=st.none() | st.builds(EarlierRun, some_text, st.none() | texts, texts),
    rule=st.just(""),
    arm=st.just(""),
    measures=st.none() | st.dictionaries(texts, st.none() | st.floats(0, 1), max_size=3),
    stage=texts,
    outage=st.none() | st.builds(Outage, st.sampled_from(get_args(OutageKind)), texts, texts),
    ended=texts,
    checkpoint=st.none() | st.builds(AtCheckpoint, label=some_text, day=st.none() | st.integers(1, 1000)),
    steps=st.lists(st.builds(TrialStep, some_text, st.dictionaries(some_text, texts, max_size=2)), max_size=2).map(
        tuple
    ),
)
