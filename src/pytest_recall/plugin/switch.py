"""Decide whether a session uses the plugin: import it plainly if so; if not, refuse what asks for it.

`-p recall` is the switch: on the command line, in `addopts`, in PYTEST_ADDOPTS or in PYTEST_PLUGINS; the ini
setting `recall = true` is the same. The plugin is installed for a whole environment, so that being loaded by
its entry point means nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

import pytest

NAMES = frozenset({"recall", "pytest_recall.plugin"})
HOW = "add `-p recall` to the command line or to `addopts`"
SHORT = frozenset(
    {
        "appellate-judge",
        "baselines",
        "budget",
        "dimensions",
        "judge",
        "memory",
        "model",
        "record",
        "replay",
        "reset-on-model-swap",
        "scenarios",
    }
)
"""The options that are spelled `--NAME`; all others, and in some projects these as well, are `--recall-NAME`."""
SETTING = "recall_short_options"
MARK = (
    "recall(case_id=<node id>, *, scenario='', dimension=''): run this test as an eval case, on the schedule of"
    " eval/recall.yaml; on a class or a module, each of its tests"
)
RUBRIC = "rubric.yaml"
"""The file that makes the case files in its folder and below ours."""


def add_settings(parser: pytest.Parser) -> None:
    """Add the ini settings, which are known whether the plugin is on or off."""
    parser.addini("recall", "switch the plugin on, as `-p recall` does: true or false (default: false)", type="bool")
    parser.addini("recall_concurrency", "how many cases run at once in each process (default: 1)")
    parser.addini("recall_dir", "the eval directory, relative to the ini file (default: found, else eval)")
    parser.addini("recall_files", "glob patterns of case files, beside the default ones", type="linelist")
    parser.addini(
        "recall_datasets",
        "glob patterns of files that name datasets and are run with the folder they are in; others are run where"
        " their path is given",
        type="linelist",
    )
    parser.addini("recall_progress", "seconds between the lines that say how far a run is; 0 for none (default: 60)")
    parser.addini(
        SETTING,
        "whether options are spelled --model, --record and the like; false spells all of them --recall-NAME, where"
        " another plugin or a conftest.py has such a name (default: true)",
        type="bool",
        default=True,
    )


def is_on(config: pytest.Config) -> bool:
    """Whether the plugin is switched on. It can be asked from `pytest_addoption` on. Raises pytest.UsageError."""
    given = (*config.known_args_namespace.plugins, *os.environ.get("PYTEST_PLUGINS", "").split(","))
    if not NAMES.isdisjoint(name.strip() for name in given):
        return True
    try:
        return bool(config.getini("recall"))
    except TypeError as error:  # pytest before 9.2, for what a TOML file has that is neither true nor false.
        raise pytest.UsageError(str(error)) from None
    except (ValueError, pytest.UsageError) as error:
        raise pytest.UsageError(f"recall: {error}; write true or false") from None


class OwnModules(MetaPathFinder):
    """Finds the modules of this package as Python does, before pytest takes them to rewrite their assert statements.

    pytest rewrites all modules of a distribution that has a plugin, for helpers that assert. There are none here, and
    reading the rewritten code of 130 modules takes a quarter of the instructions of a run of one case.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find a module of ours; other finders are asked for all others."""
        return PathFinder.find_spec(name, path, target) if name.startswith("pytest_recall.") else None


def import_plainly(config: pytest.Config) -> None:
    """Import the modules of this package without rewriting, until the session ends."""
    if any(isinstance(finder, OwnModules) for finder in sys.meta_path):
        return
    finder = OwnModules()
    sys.meta_path.insert(0, finder)
    # A test that puts back the list that it found may have taken it out.
    config.add_cleanup(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)


def is_option(argument: object) -> bool:
    """Whether a command-line argument has the form of an option of ours, in either spelling."""
    if not isinstance(argument, str):
        return False  # `pytest.main` takes paths as well.
    name = argument.partition("=")[0]
    return name.startswith("--recall-") or (name.startswith("--") and name[2:] in SHORT)


def refuse_options(parser: pytest.Parser, args: list[str]) -> None:
    """Refuse an option of ours while the plugin is off. Raises pytest.UsageError.

    An option that another plugin or a conftest has added is theirs.
    """
    if not any(map(is_option, args)):
        return
    _, unknown = parser.parse_known_and_unknown_args(args)
    ours = next(filter(is_option, unknown), None)
    if ours is not None:
        raise pytest.UsageError(f"{ours.partition('=')[0]}: an option of pytest-recall, which is off; {HOW}")


class Off:
    """The hooks of a session in which the plugin is off."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_sessionstart(self) -> None:
        """Refuse an eval directory or a case file that was named. Raises pytest.UsageError."""
        for shown, path in self._named():
            if _is_case_file(path) and any((folder / RUBRIC).is_file() for folder in path.parents):
                raise pytest.UsageError(f"{shown}: a case file of pytest-recall, which is off; {HOW}")
            if (path / RUBRIC).is_file() and any(map(_is_case_file, path.iterdir())):
                raise pytest.UsageError(f"{shown}: an eval directory of pytest-recall, which is off; {HOW}")

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Say what the plugin would do about a file that looks like a case file and that no other plugin collects."""
        try:
            return (yield)
        except pytest.UsageError as error:
            ours = next((shown for shown, path in self._named() if _is_case_file(path)), None)
            if ours is not None:
                raise pytest.UsageError(*error.args, f"{ours}: for pytest-recall, which is off; {HOW}") from None
            raise

    def _named(self) -> Iterator[tuple[str, Path]]:
        """Yield the arguments that name something, with the path that each is about."""
        if self._config.args_source is pytest.Config.ArgsSource.ARGS:
            for argument in self._config.args:
                path = Path(os.path.abspath(self._config.invocation_params.dir / argument.partition("::")[0]))  # noqa: PTH100
                yield argument, path


def _is_case_file(path: Path) -> bool:
    """Whether a file is called like one that holds cases, or names a dataset or a profile."""
    if path.suffix not in (".yaml", ".yml", ".jsonl"):
        return False
    from pytest_recall.files.eval_directory import DATASET_FILES, DEFAULT_PATTERNS, PROFILE_FILES, is_case_file

    return is_case_file(path, (*DEFAULT_PATTERNS, *DATASET_FILES, *PROFILE_FILES)) and path.is_file()
