"""Misnamed: files of the eval directory whose names are near those that a run reads, and that it would pass over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_recall.files.find import find_files, meant_for
from pytest_recall.plugin import options
from pytest_recall.plugin.switch import RUBRIC

OTHERS = ("cassettes", "events", "_artifacts")
"""Folders of the eval directory that hold no case files of people."""


def refuse(config: pytest.Config) -> None:
    """Refuse such files where pytest is about to look for cases. Raises pytest.UsageError with a sentence for each."""
    if found := list(_sentences(config)):
        raise pytest.UsageError(*found)


def _sentences(config: pytest.Config) -> Iterator[str]:
    from pytest_recall.plugin.options import place_of, usage_errors

    with usage_errors():
        place = place_of(config)
    folder = place.eval_dir
    named = [options.argument_path(config, argument) for argument in config.args]
    if not any(root == folder or root in folder.parents or folder in root.parents for root in named):
        return
    # A folder of that name may be another tool's, unless a setting says that it is ours.
    given = config.args_source is not pytest.Config.ArgsSource.INVOCATION_DIR and folder in named
    if not (given or (folder / RUBRIC).is_file() or options.given_dir(config) == folder):
        return
    patterns = options.patterns(config)
    skipped = (*config.getini("norecursedirs"), *OTHERS)
    for path in find_files(folder, lambda path: bool(meant_for(path, folder, patterns)), skipped):
        meant = meant_for(path, folder, patterns)
        both = (path.parent / meant).exists()
        what = f"move what is in it into {meant}, and delete it" if both else f"rename it to {meant}"
        yield f"{place.name(path)}: no run reads a file of this name; {what}, or give it a name less near to that"
