"""The facts of a run: the command line first, then the environment; the model may be the rubric's."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from pytest_recall.cases.settings import Settings
from pytest_recall.files.errors import RecallError
from pytest_recall.runs.context import CommandLine, Context, parse_date, parse_mode, resolve, today_in
from tests.helpers.jobs import job_of
from tests.helpers.samples import TODAY

PULL_REQUEST = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_REF": "refs/pull/41/merge"}
SCHEDULE = {"GITHUB_EVENT_NAME": "schedule", "GITHUB_REF": "refs/heads/main"}
PUSH = {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main"}


def resolved(env: dict[str, str] | None = None, rubric: dict[str, Any] | None = None, **asked: str) -> Context:
    """Return the context of a run on the sample day."""
    return resolve(CommandLine(**asked), job_of(env or {}), Settings(owner="x", **(rubric or {})), TODAY)


def test_on_a_laptop() -> None:
    assert resolved() == Context(date=TODAY, seed="2026-03-10", mode="pr", pr=None, model=None)


def test_the_command_line_beats_everything() -> None:
    rubric = {"model_primary": "m1"}
    asked = {"date": "2026-01-31", "seed": "9", "mode": "nightly", "pr": "12", "model": "m2"}
    assert resolved(PULL_REQUEST, rubric, **asked) == Context(
        date=date(2026, 1, 31), seed="9", mode="nightly", pr="12", model="m2"
    )


def test_in_a_pull_request() -> None:
    context = resolved(PULL_REQUEST)
    assert (context.pr, context.mode, context.seed) == ("41", "pr", "41")


def test_in_a_scheduled_workflow() -> None:
    context = resolved(SCHEDULE)
    assert (context.pr, context.mode, context.seed) == (None, "nightly", "2026-03-10")


def test_in_any_other_workflow_a_run_is_that_of_a_pull_request() -> None:
    assert resolved(PUSH).mode == resolved({}).mode == "pr"


def test_the_seed_is_the_pull_request_else_the_date() -> None:
    assert resolved(pr="12").seed == "12"
    assert resolved(date="2026-01-31").seed == "2026-01-31"
    assert resolved(PULL_REQUEST, date="2026-01-31").seed == "41"
    assert resolved(seed="x", pr="12").seed == "x"


@pytest.mark.parametrize(
    ("ref", "pr"),
    [
        ("refs/pull/41/merge", "41"),
        ("refs/pull/41/head", "41"),
        ("refs/heads/main", None),
        ("refs/heads/refs/pull/41/merge", None),
        ("refs/pull/x/merge", None),
        ("refs/pull/41/merge\n", None),
        ("", None),
    ],
)
def test_the_pull_request_is_in_the_ref(ref: str, pr: str | None) -> None:
    assert resolved({"GITHUB_REF": ref}).pr == pr


def test_the_model_is_that_of_the_rubric() -> None:
    assert resolved(rubric={"model_primary": "m1"}).model == "m1"
    assert resolved(rubric={"model_primary": "m1"}, model="m2").model == "m2"


def test_what_a_workflow_leaves_empty_is_not_asked() -> None:
    context = resolved(PULL_REQUEST, {"model_primary": "m1"}, date="", seed="", pr="", model="")
    assert (context.date, context.seed, context.pr, context.model) == (TODAY, "41", "41", "m1")


def test_the_environment_names_the_date_where_the_command_line_does_not() -> None:
    assert today_in({"RECALL_DATE": "2027-05-06"}, TODAY) == date(2027, 5, 6)
    assert today_in({}, TODAY) == TODAY
    assert resolved(date="2028-01-02").date == date(2028, 1, 2)
    with pytest.raises(RecallError, match="RECALL_DATE: 'soon' is not a date; write it like 2026-01-31"):
        today_in({"RECALL_DATE": "soon"}, TODAY)


@pytest.mark.parametrize("bad", ["tomorrow", "2026-02-30", "31.01.2026", "2026-1-1", " "])
def test_what_is_no_date(bad: str) -> None:
    with pytest.raises(RecallError) as caught:
        parse_date(bad)
    assert str(caught.value) == f"date: {bad!r} is not a date; write it like 2026-01-31"
    with pytest.raises(RecallError):
        resolved(date=bad)


@pytest.mark.parametrize("day", ["9999-12-31", "9989-12-24", "0001-01-01", "0011-01-08"])
def test_a_date_without_room_for_a_schedule_is_no_mistyped_one(day: str) -> None:
    with pytest.raises(RecallError) as caught:
        parse_date(day, "RECALL_DATE")
    assert str(caught.value) == (
        f"RECALL_DATE: {day} leaves a schedule no room, which counts 3660 days back and ahead; give a day from"
        " 0011-01-09 to 9989-12-23"
    )


@pytest.mark.parametrize("day", ["9989-12-23", "0011-01-09"])
def test_the_first_and_the_last_date(day: str) -> None:
    assert parse_date(day).isoformat() == day


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("nigthly", "; did you mean `nightly`?"),
        ("weekly", "; known: all, main, nightly, observe, pr"),
        ("explicit", "; known: all, main, nightly, observe, pr"),
        ("", "; known: all, main, nightly, observe, pr"),
        ("PR", "; known: all, main, nightly, observe, pr"),
    ],
)
def test_what_is_no_mode(bad: str, said: str) -> None:
    with pytest.raises(RecallError) as caught:
        parse_mode(bad)
    assert str(caught.value) == f"mode: {bad!r} is unknown{said}"
    with pytest.raises(RecallError):
        resolved(mode=bad)


def test_in_a_scheduled_pipeline_of_gitlab() -> None:
    context = resolved({"GITLAB_CI": "true", "CI_PIPELINE_SOURCE": "schedule"})
    assert (context.pr, context.mode) == (None, "nightly")


def test_in_a_merge_request_of_gitlab() -> None:
    context = resolved({"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7"})
    assert (context.pr, context.mode, context.seed) == ("7", "pr", "7")
