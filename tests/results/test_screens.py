"""The screens that people read: a comment, an issue, a terminal and annotations, each whole, here and nowhere else.

After a change of what they say, `python -m tests.results.test_screens` writes them again: read the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recall.forge.comment import Detail, Verdicts, decide
from pytest_recall.forge.post import Posting, standing, waiting
from pytest_recall.replay.exchange import Call, Tokens
from pytest_recall.results import regressions_text
from pytest_recall.results.scorecard import CaseText, LastPass, Scorecard
from pytest_recall.results.scorecard_markdown import markdown, refusal
from pytest_recall.results.scorecard_text import annotation_lines, terminal
from pytest_recall.trials.record import Record, ReplaySummary
from pytest_recall.trials.trial import Answer, Trial
from tests.helpers.samples import ERROR, FAILED, PASSED, row
from tests.results.runs import graded, run

SCREENS = Path(__file__).parent / "screens"
BLOB = "https://github.com/museum/desk/blob/"
LINKS = f"{BLOB}c0ffee"
TEXTS = {
    "late-fee": CaseText("What does a late return cost?", "One pound a day."),
    "parking": CaseText("Where can I park?", "In Mill Lane."),
}
PASSES = {"late-fee": LastPass("A late return costs one pound a day.", run="2026-03-09T080000")}
ASKED = (Call("agent", "live", model="gpt-5.2", provider="openai", tokens=Tokens(410, 38), cost=0.0013),)
RULE = "evidence 70 from 1.00, 1 of 42 failed"


def three_fails(reason: str = "affected") -> list[Trial]:
    """Return the trials of a case that was asked until it was sure that it fails."""
    known = row(3, 3, failed=1, tried=42, passed_under="system=aaaaaa dialogue=bbbbbb")
    under = "system=cccccc dialogue=bbbbbb"
    return [
        graded(
            "late-fee",
            FAILED,
            reason,
            known,
            where="eval/cases.yaml:12",
            rule=RULE,
            repeat=number,
            under=under,
            calls=ASKED,
            answer=Answer(text="A late return costs @nobody anything, see https://example.org."),
        )
        for number in (1, 2, 3)
    ]


def of_a_change() -> tuple[Record, Scorecard]:
    """Return a run of a pull request that breaks a case and leaves two open.

    It has met two fails that are not of it, one of them of what its base has not recorded.
    """
    trials = [
        *three_fails(),
        graded(
            "opening",
            FAILED,
            "recorded answer",
            where="eval/cases.yaml:20",
            source="replayed",
            counts_for_schedule=False,
        ),
        graded("fine", PASSED, "affected", row(2, 2)),
        graded("crash", ERROR, "affected", row(4, 4), where="eval/cases.yaml:30"),
        graded("drift", FAILED, "due", row(2, 2), where="eval/cases.yaml:40", calls=ASKED),
        graded(
            "parking",
            FAILED,
            "affected",
            row(2, 2),
            where="eval/cases.yaml:50",
            calls=ASKED,
            asked=("k",),
            answer=Answer(text="Nowhere near."),
        ),
    ]
    record, card = run(
        trials,
        pr="41",
        knows_change=True,
        unaffected=35,
        held_settings=("blocks",),
        own_recordings=1,
        behind=("parking",),
        as_base=(("parking", ("k",)),),
        unaffordable=("tickets",),
        budget=0.5,
        keeps_recordings=True,
        replayed=ReplaySummary(of=40, cases=40, affected=4, states={"changed": 3, "recorded": 1, "unaffected": 36}),
    )
    return record, card._replace(texts=TEXTS, passes=PASSES)


def of_a_good_change() -> tuple[Record, Scorecard]:
    """Return a run of a pull request that breaks nothing."""
    trials = [graded(f"case-{number:02}", PASSED, "affected", row(2, 2)) for number in range(12)]
    return run(trials, exit_code=0, pr="41", knows_change=True, unaffected=28, verdicts=40, passing=40)


def comment() -> str:
    """Return the comment on the pull request."""
    return Posting("recall", markdown(*of_a_change(), LINKS), "b" * 40, "https://ci.test/5", BLOB).page()


def issue() -> str:
    """Return the text of the issue after a night in which one case fell, and another was not asked."""
    record, card = run([*three_fails("due"), graded("fine", PASSED, "due", row(2, 2))], mode="nightly")
    card = card._replace(texts=TEXTS, passes=PASSES, suspects={"late-fee": ("12",)})
    verdicts = Verdicts(
        passed=frozenset({"fine"}),
        failed=frozenset({"late-fee"}),
        day="2026-03-10",
        details={
            one.trial.case_id: Detail("\n".join(regressions_text.markdown(record.header, card, one, LINKS)))
            for one in card.results
            if one.trial.outcome is FAILED
        },
    )
    sheet = Posting("recall", markdown(record, card, LINKS), "b" * 40, "https://ci.test/5", BLOB)
    return sheet.page(above=standing(decide(None, verdicts), verdicts))


def on_terminal(made: Callable[[], tuple[Record, Scorecard]], verbosity: int) -> Callable[[], str]:
    """Return what gives the lines of the summary of a run."""
    return lambda: "\n".join(terminal(*made(), verbosity))


def annotated() -> str:
    """Return the annotations of a build."""
    record, card = of_a_change()
    return "\n".join(annotation_lines(record.header, card))


ALL: dict[str, Callable[[], str]] = {
    "comment.md": comment,
    "comment-good.md": lambda: Posting("recall", markdown(*of_a_good_change()), "b" * 40).page(),
    "comment-refused.md": lambda: Posting("recall", refusal(["eval/rubric.yaml:3: bloks: unknown field"])).page(),
    "comment-waits.md": lambda: Posting("recall", waiting("eval-waivers")).page(),
    "issue.md": issue,
    "terminal-quiet.txt": on_terminal(of_a_change, -1),
    "terminal.txt": on_terminal(of_a_change, 0),
    "terminal-verbose.txt": on_terminal(of_a_change, 1),
    "terminal-good.txt": on_terminal(of_a_good_change, 0),
    "annotations.txt": annotated,
}


@pytest.mark.parametrize("name", ALL)
def test_the_screen_is_as_it_was_read(name: str) -> None:
    assert ALL[name]() + "\n" == (SCREENS / name).read_text(encoding="utf-8")


def test_a_run_in_which_nothing_fails_takes_a_dozen_lines_with_what_the_plugin_adds() -> None:
    assert len(list(terminal(*of_a_good_change()))) <= 10


@pytest.mark.parametrize("word", ["judged replay", "proven", "over the cap", "evidence "])
def test_no_screen_has_a_word_of_ours_that_is_not_explained(word: str) -> None:
    assert [name for name, made in ALL.items() if word in made()] == []


def main() -> None:
    """Write all screens."""
    SCREENS.mkdir(exist_ok=True)
    for name, made in ALL.items():
        (SCREENS / name).write_text(made() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
