"""A budget that rolls over holds what a change affects: the rest is deferred, told, and asked first at night."""

from __future__ import annotations

from datetime import date

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.account import Account
from pytest_recall.schedule.changes import Changes, ReplayFinding, ReplayState, to_text
from pytest_recall.schedule.state import current
from tests.helpers import kept
from tests.helpers.project import DAY, ECHOING, IN, WORKERS, Checkout, case, failing, row
from tests.helpers.replaying import DRY, NEAR, QUICK, near_run, quick_run
from tests.helpers.talking import agent, talking
from tests.helpers.upstream import Upstream

PRICE = "prices: {gpt-4o-mini: {input: 100000, output: 0}}\n"
"""By which a call costs one US dollar: each prompt has ten tokens to the upstream."""
AFFECTED = "owner: us\npolicy: affected\nslice_cases: 1\nnightly_cases: 3\n"
NAMES = ("a", "b", "c", "d")
CASES = [case(name, expected=f"SAY {name}".upper()) for name in NAMES]
SAID = "said.txt"
"""A file with what a dry run said."""
PULL = ("--recall-mode", "pr", "--recall-pr", "7", "--recall-seed", "s")


def source(prompt: str = "say") -> str:
    return agent(f"return plain_sync(f'echo {prompt} {{question}}').upper()")


def recorded(pytester: pytest.Pytester, upstream: Upstream, budget: str) -> Checkout:
    """Return a checkout of which everything is recorded, and whose prompt has changed since; `d` fell before."""
    files = {**QUICK, "eval/rubric.yaml": f"{AFFECTED}{PRICE}budget: {budget}\n"}
    rows = {name: row(3, due="2026-04-10", lapses=int(name == "d")) for name in NAMES}
    checkout = kept.recorded(pytester, talking(upstream, source()).with_cases(*CASES).with_files(files))
    talking(upstream, source("tell")).with_state(**rows).at(pytester)
    upstream.bodies.clear()
    return checkout


def dried(pytester: pytest.Pytester, upstream: Upstream) -> tuple[Checkout, list[str]]:
    """Return one with money for two cases after a dry run, and what that has said; made once for several tests."""

    def begin() -> Checkout:
        checkout = recorded(pytester, upstream, "{per_day: 2, carry_days: 1}")
        said = checkout.run("eval", *DRY, "--recall-pr", "7", "--recall-seed", "s").outlines
        (checkout.path / SAID).write_text("\n".join(said), encoding="utf-8")
        return checkout

    checkout = kept.after(pytester, f"dried {upstream.url}", begin)
    upstream.bodies.clear()
    return checkout, (checkout.path / SAID).read_text(encoding="utf-8").splitlines()


def account(checkout: Checkout) -> Account:
    return current(Place(checkout.path, checkout.path / "eval")).account


@WORKERS
def test_what_there_is_no_money_for_is_deferred_and_told(
    pytester: pytest.Pytester, lasting: Upstream, workers: tuple[str, ...]
) -> None:
    checkout, dry = dried(pytester, lasting)
    result = checkout.run("eval", *PULL, *NEAR, *workers)
    lines = [
        "budget: $2.00 of at most $2.00 in the bank; 4 affected cases would cost about $4.00: 2 asked, 2 deferred",
        "deferred: budget (2): *; the next night or run by batch asks them first",
        "what may be hidden, if none of the 2 asked fails: a break of 3 of 4: 2 runs exclude it at 95 %, *",
    ]
    pytest.LineMatcher(dry).fnmatch_lines(lines)
    assert [f"recall: {line}" for line in dry if line.startswith("deferred: ")] == [
        line for line in result.outlines if line.startswith("recall: deferred: ")
    ]
    result.stdout.fnmatch_lines(["recall: pr *: 2 of 4 cases (2 affected); not run: 2 deferred", *lines])
    assert len(lasting.prompts) == 2
    assert "echo tell d" in lasting.prompts  # It fell before.
    assert set(checkout.slice().values()) == {"affected"}
    left = [(one["id"], one["reason"], one["why"]) for one in checkout.today()["deferred"]]
    assert [reason for _, reason, _ in left] == ["deferred: budget"] * 2
    assert left[0][2].startswith("call 1: messages[0].content:")
    card = checkout.scorecard()
    assert [one["id"] for one in card["deferred"]] == [case_id for case_id, _, _ in left]
    assert card["complete"]
    assert "budget: $2.00 of at most" in (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")
    found = account(checkout)
    assert found.by_day == {date.fromisoformat(DAY): 2.0}
    assert found.deferred == {case_id: ("7",) for case_id, _, _ in left}


def test_the_next_night_asks_what_was_deferred_first_and_says_of_whom(
    pytester: pytest.Pytester, lasting: Upstream
) -> None:
    checkout = recorded(pytester, lasting, "{per_day: 1, carry_days: 2}\nstate: events")
    near_run(checkout, *PULL)
    left = account(checkout).deferred
    checkout.recall("state", "fold", "--keep-days", "0", "--date", DAY)
    assert account(checkout).deferred == left
    checkout.run("eval", "--recall-mode", "nightly", day=IN[1])
    assert {case_id for case_id, why in checkout.slice().items() if why == "deferred by #7"} == set(left)
    assert len(checkout.slice()) == 3
    assert {one.reason for one in checkout.journal().trials if one.case_id in left} == {"deferred by #7"}
    found = account(checkout)
    assert (found.deferred, sum(found.by_day.values())) == ({}, 2.0)  # A night is not paid from the bank.


def test_what_others_left_is_asked_alone_by_batch(pytester: pytest.Pytester, lasting: Upstream) -> None:
    checkout, _ = dried(pytester, lasting)
    checkout.run("eval", *PULL, *NEAR)
    left = account(checkout).deferred
    result = quick_run(checkout, *PULL, "--batch")
    assert checkout.slice() == dict.fromkeys(left, "deferred by #7"), result.outlines
    assert account(checkout).deferred == {}


def test_a_wide_change_stops_at_its_first_confirmed_regression(pytester: pytest.Pytester) -> None:
    names = [f"c{number}" for number in range(10, 72)]
    files = {
        "eval/rubric.yaml": f"{AFFECTED}confirm: 2of3\nbudget: {{per_day: 900, stop: first}}\n",
        "eval/_artifacts/changed.json": to_text(
            Changes(dict.fromkeys(names, ReplayFinding(ReplayState.CHANGED)), of=62), DAY
        ),
    }
    made = ECHOING.with_cases(*map(failing, names)).with_files(files)
    for workers in (("--recall-concurrency", "2"), ("-n", "2")):
        checkout = made.with_state(**dict.fromkeys(names, row(3))).at(pytester)
        result = checkout.run("eval", *PULL, *NEAR, *workers)
        assert result.ret == 1
        card, record = checkout.scorecard(), checkout.journal()
        asked = {one.case_id for one in record.trials}
        assert 1 <= len(asked) <= 62 - 10
        left = tuple((name, "a regression is confirmed") for name in names if name not in asked)
        assert record.header.deferred == left
        assert card["complete"]
        assert not card["no_verdict"]
        assert set(account(checkout).deferred) == set(names) - asked
        result.stdout.fnmatch_lines([f"deferred: a regression is confirmed ({62 - len(asked)}): *"])
        assert not list(checkout.artifacts.folder.glob(".regressed-*"))
