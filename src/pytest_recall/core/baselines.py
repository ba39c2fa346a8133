"""Baselines: the agents that a run asks beside the one under test, and how a person names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pytest_recall.core.errors import RecallError, nearest
from pytest_recall.core.selector import KINDS, parse

SHIPPED: Mapping[str, str] = {
    "raw": "the whole conversation is sent to the model under test",
    "tail-window": "the newest turns that fit `baseline_window`; the older ones are dropped",
    "compaction": "the same, with a summary by the model in place of the older turns",
    "no-memory": "the last turn of the user alone",
}
"""What needs no product, and what each sends to the model under test."""
NONE = "none"
"""The name that stands for no baseline, where the rubric names some."""

Kind = Literal["fixture", "shipped", "model"]


class Baseline(NamedTuple):
    """A baseline by its `name`: a fixture of the user's, one of `SHIPPED`, or a model by its selector."""

    name: str
    kind: Kind

    @property
    def fixture(self) -> str:
        """The fixture that returns its agent, or the model under test; empty where none is needed."""
        return {"fixture": fixture_of(self.name), "shipped": "recall_model", "model": ""}[self.kind]


def fixture_of(name: str) -> str:
    """Return what the fixture of a baseline of the user's own is called."""
    return f"agent_{name.replace('-', '_')}"


def named(given: str, where: str) -> tuple[str, ...]:
    """Return the baselines that a person lists at `where`, as in `raw,no-memory`. Raises RecallError for an empty list.

    `none` is an empty one that is meant.
    """
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    if not names:
        raise RecallError(
            f"{where}: names nothing; give one or more, separated by commas, or `{NONE}` for none of the rubric's"
        )
    return () if names == (NONE,) else names


def check_names(names: Sequence[str], where: str) -> None:
    """Raise RecallError for a name that is given twice, or for what can only be a selector and is none."""
    problems = []
    seen: dict[str, str] = {}
    for name in names:
        key = name if ":" in name else fixture_of(name)
        if key in seen:
            also = "" if seen[key] == name else f", as `{seen[key]}`"
            problems.append(f"{where}: the baseline `{name}` is named twice{also}; name it once")
        seen[key] = name
        if not name.isprintable():
            problems.append(f"{where}: {name!r} is no name for a baseline; write it in one line")
        if ":" in name:
            try:
                parse(name)
            except RecallError as error:
                problems.append(f"{where}: {error}")
    if problems:
        raise RecallError(*problems)


def baseline_of(name: str, *, has_fixture: bool, fixtures: Iterable[str]) -> Baseline:
    """Return the baseline of this name; a fixture of the user's goes before what is shipped.

    `fixtures` are the names of known fixtures, for whoever made a typing mistake. Raises RecallError.
    """
    if ":" in name:
        return Baseline(name, "model")
    if has_fixture:
        return Baseline(name, "fixture")
    if name in SHIPPED:
        return Baseline(name, "shipped")
    if name in KINDS:
        parse(name)
        return Baseline(name, "model")
    own = [one.removeprefix("agent_") for one in fixtures if one.startswith("agent_")]
    raise RecallError(
        f"the baseline `{name}` is unknown{nearest(name, [*own, *SHIPPED])}; to add it, write a fixture"
        f" `{fixture_of(name)}`, or name a model by its selector"
    )


def item_name(case_id: str, baseline: str) -> str:
    """Return what a case is called when a baseline is asked."""
    return f"{case_id}[{baseline}]"


def case_and_baseline(name: str) -> tuple[str, str]:
    """Return the case and the baseline of an item by its name; the agent under test has none."""
    case_id, bracket, rest = name.partition("[")  # In no id of a case.
    return case_id, rest.removesuffix("]") if bracket else ""
