"""Replay the base commit, to tell parts of requests that vary by themselves, such as dates, from the change."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.files.git import Repository
from pytest_recall.files.wording import plural
from pytest_recall.plugin.replay_first import Tree, replayed, say
from pytest_recall.schedule.changes import Changes, ReplayState, Wanted
from pytest_recall.schedule.varying_text import learned

if TYPE_CHECKING:
    import pytest

    from pytest_recall.files.eval_directory import Place

ROUNDS = 3
"""How often the base is replayed at most: of a long text one difference is known at a time."""


def without_varying(
    config: pytest.Config,
    place: Place,
    tree: Tree,
    refs: Sequence[str],
    found: Changes,
    suspects: Mapping[str, Sequence[str]],
) -> Changes:
    """Return what was found without what the base does as well.

    `suspects` are a few cases for each difference that was found, by its key, which stand for all that have it.
    Raises RecallError where there is no base to compare with.
    """
    try:
        repository = Repository(place.root)
        base = repository.base_of(refs)
    except RecallError as error:
        say(config, f"the base is not replayed, since {error}")
        return found
    asked = [case_id for ids in suspects.values() for case_id in ids]
    say(config, f"replaying {plural(len(asked), 'case')} of {refs[0]} to see what differs by itself")
    with tempfile.TemporaryDirectory() as scratch:
        there = Path(scratch, "base").resolve()
        try:
            repository.check_out(base, there, Path(scratch, "index"))
            before = _learned(config, _moved(tree, repository.top.resolve(), there), asked)
        except RecallError as error:
            say(config, f"the base is not compared with: {error}")
            return found
    varying: dict[str, tuple[str, ...]] = {}
    lines: dict[str, tuple[str, ...]] = {}
    for key, ids in suspects.items():
        if all(case_id in before.patterns for case_id in ids):
            alike = found.with_key(key)
            known = (pattern for case_id in ids for pattern in before.patterns[case_id])
            varying |= dict.fromkeys(alike, tuple(dict.fromkeys(known)))
            lines |= dict.fromkeys(alike, before.first.found[ids[0]].lines)
    if varying:
        found = found.after(replayed(config, tree, 1, Wanted(varying)), lines)
    return found.against(before.end)


class Before(NamedTuple):
    """What the base does, at `first` and in the `end`, and `patterns` of what differs by itself, by case."""

    first: Changes
    end: Changes
    patterns: Mapping[str, tuple[str, ...]]


def _learned(config: pytest.Config, tree: Tree, asked: Sequence[str]) -> Before:
    """Return what the base does in the cases that are asked, at first and in the end, and what differs by itself.

    What was learned is tried: the last replay with it has to find the recording.
    """
    patterns: dict[str, tuple[str, ...]] = dict.fromkeys(asked, ())
    first = before = replayed(config, tree, 1, Wanted(patterns))
    for _ in range(1, ROUNDS):
        news = {
            case_id: more
            for case_id in before.ids(ReplayState.CHANGED, ReplayState.UNJUDGED)
            if (more := learned(before.found[case_id].lines))
        }
        if not news:
            break
        patterns.update({case_id: (*patterns[case_id], *more) for case_id, more in news.items()})
        before = replayed(config, tree, 1, Wanted(patterns))
    kept = {ReplayState.PROVEN, ReplayState.OTHER}
    tried = {case_id: one for case_id, one in patterns.items() if one and before.found[case_id].state in kept}
    return Before(first, before, tried)


def _moved(tree: Tree, top: Path, there: Path) -> Tree:
    """Return the tree of the base, whose files are `there`; its recordings are its own where it has some."""
    cwd, cassettes = tree.cwd.resolve(), tree.cassettes.resolve()
    own = there / cassettes.relative_to(top) if cassettes.is_relative_to(top) else cassettes
    inside = there / cwd.relative_to(top) if cwd.is_relative_to(top) else there
    return Tree(inside, own if own.is_dir() else cassettes, (top, there))
