"""`recall state show` and `recall state fold`: where the state is, and how it is moved from one layout to the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.project import ECHOING, Checkout, case, failing, row
from tests.helpers.repository import Repository

RUBRIC = "# ours\nowner: ana  # until June\nmax_due_cases: 9\n"


@pytest.fixture
def checkout(pytester: pytest.Pytester) -> Checkout:
    """A project whose runs change rows."""
    project = ECHOING.with_cases(case("a"), failing("b")).with_files({"eval/rubric.yaml": RUBRIC})
    return project.with_state(a=row(2, 2), b=row(3, 3)).at(pytester)


def rubric(checkout: Checkout) -> str:
    """Return the text of the rubric."""
    return (checkout.path / "eval/rubric.yaml").read_text(encoding="utf-8")


def events(checkout: Checkout) -> list[Path]:
    """Return the event files."""
    return sorted((checkout.path / "eval/events").glob("*"))


def test_one_line_of_the_rubric_changes_and_back(checkout: Checkout) -> None:
    assert checkout.recall("state", "layout", "events", "--dry-run").ret == 0
    assert rubric(checkout) == RUBRIC
    done = checkout.recall("state", "layout", "events")
    assert done.outlines[0] == "eval/rubric.yaml: has `state: events`"
    assert rubric(checkout) == RUBRIC + "state: events\n"
    assert checkout.recall("state", "layout", "rows").ret == 0
    assert rubric(checkout) == RUBRIC + "state: rows\n"
    done = checkout.recall("state", "layout", "rows")
    assert done.outlines == ["eval/rubric.yaml: `state: rows` holds already; nothing to do"]


def test_a_comment_behind_the_line_stays(checkout: Checkout) -> None:
    path = checkout.path / "eval/rubric.yaml"
    path.write_text("state: 'rows' # for now\nowner: ana\n", encoding="utf-8")
    assert checkout.recall("state", "layout", "events").ret == 0
    assert rubric(checkout) == "state: events # for now\nowner: ana\n"


@pytest.mark.parametrize("text", ["{owner: ana}\n", "owner: ana\nthresholds:\n  exact: 1\n..."])
def test_a_form_without_a_place_for_a_line_is_left(checkout: Checkout, text: str) -> None:
    (checkout.path / "eval/rubric.yaml").write_text(text, encoding="utf-8")
    done = checkout.recall("state", "layout", "events")
    assert done.ret == 2
    assert done.errlines == [
        "recall: eval/rubric.yaml: its form leaves no place for a line; write `state: events` into it yourself"
    ]
    assert rubric(checkout) == text


def test_without_a_rubric(checkout: Checkout) -> None:
    (checkout.path / "eval/rubric.yaml").unlink()
    done = checkout.recall("state", "layout", "events")
    assert done.ret == 2
    assert "write one with `owner: <who answers for it>` and `state: events`" in done.errlines[0]


def test_runs_write_events_and_everybody_sees_them(checkout: Checkout) -> None:
    before = checkout.state_text()
    checkout.recall("state", "layout", "events")
    result = checkout.run_apart("-q", "-p", "recall", "eval", "--recall-pr", "7", "-n", "2")
    result.stdout.fnmatch_lines(["eval/events: 2 rows changed"])
    assert checkout.state_text() == before
    assert len(events(checkout)) == 1
    assert checkout.recall("state", "show").outlines == [
        "layout: events",
        "eval/recall.yaml: 2 rows",
        "eval/events: 1 event file newer than it, 2 verdicts",
    ]
    assert "last verdict was a fail (1): b" in checkout.recall("status", "--date", "2026-03-11").outlines
    assert checkout.recall("check").ret == 0
    # `b` is in box 1 by an event alone; `a` was promoted by one, and is not due.
    assert checkout.recall("schedule", "select", "--date", "2026-03-11", "--ids").outlines == ["b"]
    assert checkout.recall("state", "fold", "--date", "2026-03-11").outlines == [
        "eval/events: 0 event files folded into eval/recall.yaml, 0 rows changed; 1 left"
    ]
    assert checkout.recall("state", "fold", "--date", "2026-03-11", "--keep-days", "0", "--dry-run").ret == 0
    assert checkout.recall("state", "fold", "--date", "2026-03-11", "--keep-days", "0").outlines == [
        "eval/events: 1 event file folded into eval/recall.yaml, 2 rows changed; 0 left"
    ]
    assert checkout.boxes() == {"a": 3, "b": 1}
    assert events(checkout) == []


def test_rows_and_events_are_not_mixed(checkout: Checkout) -> None:
    checkout.recall("state", "layout", "events")
    checkout.run("-p", "recall", "eval")
    done = checkout.recall("state", "layout", "rows")
    assert done.ret == 2
    assert done.errlines[0].startswith(
        "recall: eval/events: 1 event file is not in eval/recall.yaml yet; run `recall state fold"
    )
    (checkout.path / "eval/rubric.yaml").write_text(RUBRIC, encoding="utf-8")
    result = checkout.run("-p", "recall", "eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert checkout.recall("state", "quarantine", "a").ret == 2
    assert len(events(checkout)) == 1


def test_quarantine_is_an_event(checkout: Checkout) -> None:
    before = checkout.state_text()
    checkout.recall("state", "layout", "events")
    assert checkout.recall("state", "quarantine", "a", "--owner", "bo").ret == 0
    assert checkout.state_text() == before
    assert checkout.recall("state", "quarantine").outlines[-1] == "1 case of 2 in quarantine"
    assert checkout.recall("state", "quarantine", "a", "--release").ret == 0
    assert checkout.recall("state", "quarantine").outlines == ["0 cases of 2 in quarantine"]


def test_the_state_in_a_commit_is_the_sum(checkout: Checkout) -> None:
    repository = Repository.at(checkout.path)
    checkout.recall("state", "layout", "events")
    checkout.run("-p", "recall", "eval")
    (checkout.path / ".gitignore").write_text("_artifacts\n", encoding="utf-8")
    repository.commit()
    base = checkout.recall("state", "show", "--at", "main")
    assert (base.ret, base.errlines) == (0, [])
    (checkout.path / "base.yaml").write_text("\n".join(base.outlines) + "\n", encoding="utf-8")
    checkout.run("-p", "recall", "eval", day="2026-03-11")
    slices = []
    for given in ("base.yaml", "base", None):
        if given == "base":
            repository.git("worktree", "add", "-q", "--detach", "base", "main")
            given = "base/eval"
        option = ("--base-state", given) if given else ()
        slices.append(checkout.recall("schedule", "select", "--date", "2026-03-12", *option).outlines)
    assert slices[0] == slices[1] != slices[2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("state", "layout", "row"), "recall state layout: argument layout: 'row' is unknown; did you mean `rows`?"),
        (("state", "show", "--dry-run"), "recall state show: unknown option `--dry-run`; known: --at"),
        (("state", "show", "--at", "none"), "recall: none: git knows no such revision"),
    ],
)
def test_mistakes_are_one_sentence(checkout: Checkout, arguments: tuple[str, ...], said: str) -> None:
    Repository.at(checkout.path)
    done = checkout.recall(*arguments)
    assert done.ret == 2
    (line,) = done.errlines
    assert line.startswith(said)


def test_fold_takes_days(checkout: Checkout) -> None:
    assert checkout.recall("state", "fold", "--keep-days", "x").ret == 2
    assert checkout.recall("state", "fold", "--date", "soon").ret == 2
