"""Say what a change does to the measure that it is held to, and what is not kept of it: read below its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recall.files.wording import code, listed, prose
from pytest_recall.results.scorecard import Scorecard
from pytest_recall.trials.record import Header

_SHOWN = 20


def of_change_lines(header: Header, card: Scorecard) -> Iterator[str]:
    """Yield what is to be known of a change for a terminal, a sentence each; of most changes there is nothing."""
    if header.held_settings:
        yield _held(header)
    for told, cases in _of_cases(header, card):
        yield f"{told} ({len(cases)}): {listed((f'{case_id} ({how})' for case_id, how in cases.items()), _SHOWN)}"


def of_change_markdown(header: Header, card: Scorecard) -> Iterator[str]:
    """Yield the same as Markdown, with a line for each case."""
    if header.held_settings:
        yield from (f"{_capital(prose(_held(header)))}.", "")
    for told, cases in _of_cases(header, card):
        yield from (f"{_capital(prose(told))} ({len(cases)}):", "")
        yield from [f"- {code(case_id)}: {prose(how)}" for case_id, how in cases.items()][:_SHOWN]
        if len(cases) > _SHOWN:
            yield f"- and {len(cases) - _SHOWN:,} more in scorecard.json"
        yield ""


def of_change_json(header: Header, card: Scorecard) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    return {
        "held_settings": list(header.held_settings),
        "altered": [{"id": case_id, "how": how} for case_id, how in header.altered],
        "unrecorded": [{"id": case_id, "why": why} for case_id, why in _unrecorded(card).items()],
    }


def _of_cases(header: Header, card: Scorecard) -> Iterator[tuple[str, Mapping[str, str]]]:
    if header.altered:
        yield "cases of the base that this change alters", dict(header.altered)
    if unrecorded := _unrecorded(card):
        yield "not recorded, so that the next run asks again", unrecorded


def _held(header: Header) -> str:
    names = ", ".join(f"`{name}`" for name in header.held_settings)
    return f"this change alters {names} in the rubric; until it is merged, what its base has applies"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _unrecorded(card: Scorecard) -> dict[str, str]:
    """Return the cases of which a call was not written down, each with why."""
    return {one.trial.case_id: one.trial.unrecorded for one in card.results if one.trial.unrecorded}
