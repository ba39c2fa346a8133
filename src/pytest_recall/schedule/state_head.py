"""Read and write what stands above the rows of `recall.yaml`, so that other keys and comments stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.selection import Unanswered

VERSION = 1
HEADER = f"""\
# What pytest-recall knows of each eval case. Written by runs; commit it, do not edit it.
# `recall status` prints a summary. A case that is gone keeps its row until you delete it.
version: {VERSION}
cases:
"""
KEYS = frozenset({"version", "rows", "unanswered", "behind", "folded", "cases"})
"""The keys of a state file that this version knows; all others are left alone."""
RESTORE = "restore the file from git"
"""What to do about a damaged file that only runs write."""
PLAIN = r"[A-Za-z][\w./@+-]*"
"""Text that every reader of YAML takes for itself, but for a few words."""
WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Those words, in lower case."""

_SAFE = re.compile(PLAIN)
# What a run writes above the rows; all else that stands there is left alone.
_WRITTEN = re.compile(r"^(?:rows|unanswered|behind|folded):.*\n(?:[ -].*\n)*", re.MULTILINE)


def without_written(head: str) -> str:
    """Return the text above the rows without what runs write there: comments, and keys of other versions."""
    return _WRITTEN.sub("", head)


def check_version(value: Any, text: str, name: str) -> None:
    if not isinstance(value, dict) or value.get("version") is None:
        raise RecallError(f"{name}:1: not a state file: `version: {VERSION}` is missing; restore it from git")
    version = value["version"]
    if type(version) is not int or version != VERSION:
        line = strict_yaml.lines(text, name)[("version",)]
        raise RecallError(
            f"{name}:{line}: version {version!r} is unknown, this pytest-recall reads {VERSION}; upgrade it"
        )


def folded_in(value: Mapping[str, Any], text: str, name: str) -> tuple[str, ...]:
    """Return the names of the runs that are folded into the state."""
    names = value.get("folded") or []
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        line = strict_yaml.lines(text, name)[("folded",)]
        raise RecallError(f"{name}:{line}: folded: must be a list of names; {RESTORE}")
    return tuple(names)


def unanswered_in(value: Mapping[str, Any], text: str, name: str) -> dict[str, Unanswered]:
    """Return the cases that came to no verdict when they were asked last."""
    given = value.get("unanswered") or {}
    try:
        return {
            case_id: Unanswered(
                date_of(one["last_asked"], "last_asked"), count_of(one["days"], "days"), str(one.get("waived", ""))
            )
            for case_id, one in sorted(given.items())
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        line = strict_yaml.lines(text, name)[("unanswered",)]
        raise RecallError(f"{name}:{line}: unanswered: {why}; {RESTORE}") from None


def behind_in(value: Mapping[str, Any], text: str, name: str) -> dict[str, str]:
    """Return the cases of which the default branch asks something that is not recorded, with the key of that."""
    given = value.get("behind") or {}
    if not isinstance(given, dict) or not all(isinstance(one, str) and one for one in given.values()):
        line = strict_yaml.lines(text, name)[("behind",)]
        raise RecallError(f"{name}:{line}: behind: must name the request of each case; {RESTORE}")
    return dict(sorted(given.items()))


def with_written(
    head: str, count: int, unanswered: Mapping[str, Unanswered], behind: Mapping[str, str], folded: Iterable[str]
) -> str:
    """Return the text above the rows with what runs write there."""
    rest = _WRITTEN.sub("", head).removesuffix("cases:\n")
    lines = "".join(
        f"  {quoted(case_id)}:\n    {{last_asked: {one.last_asked}, days: {one.days}{_waived(one)}}}\n"
        for case_id, one in sorted(unanswered.items())
    )
    requests = "".join(f"  {quoted(case_id)}: {quoted(request)}\n" for case_id, request in sorted(behind.items()))
    names = "".join(f"  - {quoted(one)}\n" for one in folded)
    return "".join(
        (
            f"{rest}rows: {count}\n",
            f"unanswered:\n{lines}" if lines else "",
            f"behind:\n{requests}" if requests else "",
            f"folded:\n{names}" if names else "",
            "cases:\n",
        )
    )


def _waived(one: Unanswered) -> str:
    return f", waived: {quoted(one.waived)}" if one.waived else ""


def quoted(text: str) -> str:
    """Return `text` bare where every reader takes it for this text, else in double quotes."""
    if _SAFE.fullmatch(text) and text.lower() not in WORDS:
        return text
    return strict_yaml.flow(text)


def count_of(value: object, key: str) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{key}: must be a count, not {value!r}")
    return value


def date_of(value: object, key: str) -> date:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{key}: {value!r} is not a date like 2026-01-31") from None
