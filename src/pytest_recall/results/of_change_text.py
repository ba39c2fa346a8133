"""Say what a change does to the measure that it is held to, and what is not kept of it: read below its verdict."""

from __future__ import annotations

from pytest_recall.cases.changes import Alteration
from pytest_recall.files.sections import Section, TextTable
from pytest_recall.results.scorecard import Scorecard
from pytest_recall.trials.record import Header

_SHOWN = 20
SKIPPED = Alteration.SKIPPED.value


def of_change_section(header: Header, card: Scorecard) -> Section:
    """Return what is to be known of a change; of most changes there is nothing."""
    altered, unrecorded = _altered(header), _unrecorded(card)
    because = {case_id: _UNRECORDED.get(cause, cause) for case_id, cause in unrecorded.items()}
    named = (("cases of the base that this change alters", altered), (NOT_RECORDED, because))
    tables = [
        TextTable(f"{told} ({len(cases):,})", ("case", "how"), list(cases.items())[:_SHOWN], texts=2)
        for told, cases in named
        if cases
    ]
    more = [len(cases) - _SHOWN for _, cases in named if len(cases) > _SHOWN]
    facts = {
        "held_settings": list(header.held_settings),
        "altered": [{"id": case_id, "how": how} for case_id, how in altered.items()],
        "unrecorded": [{"id": case_id, "cause": cause} for case_id, cause in unrecorded.items()],
    }
    lines = [_held(header)] if header.held_settings else []
    return Section("", tables, [f"and {count:,} more in scorecard.json" for count in more], lines, facts=facts)


NOT_RECORDED = "not recorded, so that the next run asks again"
_UNRECORDED = {
    "secret": "a call holds what looks like a key",
    "size": "an answer is too large to be searched for secrets",
    "encoding": "an answer is in an encoding that cannot be searched for secrets",
    "credential": "a call differs from another by its credential alone",
}
_ALTERED = {"expected": "expected answer"}
"""What is altered of a case, where the text has another word for it than the journal."""


def _altered(header: Header) -> dict[str, str]:
    """Return the cases of the base that the change alters, each with how."""
    code_of: dict[str, list[str]] = {}
    for case_id, judge, path in header.judge_code:
        code_of.setdefault(case_id, []).append(f"code of judge {judge} altered in {path}")
    told = {}
    for case_id, now, every in header.altered:
        parts = [_ALTERED.get(part, part) for part in every if part != SKIPPED]
        told[case_id] = ", ".join(
            [
                *(["missing"] if not now else []),
                *([f"renamed to {now}"] if now not in (case_id, "") else []),
                *([f"{' and '.join(parts)} altered"] if parts else []),
                *([" and ".join(code_of[now])] if now in code_of else []),
                *([SKIPPED] if SKIPPED in every else []),
            ]
        )
    return told


def _held(header: Header) -> str:
    names = ", ".join(f"`{name}`" for name in header.held_settings)
    return f"this change alters {names} in the rubric; until it is merged, what its base has applies"


def _unrecorded(card: Scorecard) -> dict[str, str]:
    """Return the cases of which a call was not written down, each with the cause."""
    return {one.trial.case_id: one.trial.unrecorded for one in card.results if one.trial.unrecorded}
