"""Define the stash keys of the plugin's objects, and recognise two kinds of report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_recall.judges.calibration import Calibration, JudgeKey
    from pytest_recall.judges.panel import Panel
    from pytest_recall.models.model import Model
    from pytest_recall.replay.tape import Tape
    from pytest_recall.replay.watch import Watch
    from pytest_recall.trials.baseline_agents import PlainModel
    from pytest_recall.trials.execution import Result
    from pytest_recall.trials.run_stop import RunStop
    from pytest_recall.trials.trial import Answer, Outcome, Trial

# What is `Any` here is of a class whose module imports this one; `session.run_of` returns the run with its type.
RUN: pytest.StashKey[Any] = pytest.StashKey()
"""On the config: the run, as soon as there is a case."""
FOREIGN: pytest.StashKey[list[Path]] = pytest.StashKey()
"""On the config: files that are called like case files and are not this project's."""
CASE_ID: pytest.StashKey[str] = pytest.StashKey()
"""On an item: the case that it runs; absent on tests that are none of ours."""
RESULT: pytest.StashKey[Result] = pytest.StashKey()
"""On an item: what its last call came to, if it got as far as a verdict."""
ANSWER: pytest.StashKey[Answer] = pytest.StashKey()
"""On an item: the answer of its last call, as soon as there is one, also if no judge came to a verdict on it."""
OUTCOME: pytest.StashKey[Outcome] = pytest.StashKey()
"""On an item: what it came to when it last ran; an error until that is known."""
SUBTESTS: pytest.StashKey[list[tuple[Outcome, str]]] = pytest.StashKey()
"""On an item while it is called, and until its call is reported: its subtests that did not pass, and why."""
CALLED: pytest.StashKey[bool] = pytest.StashKey()
"""On an item: whether it is being called, so that what is reported of it is a subtest."""
OUTCOMES: pytest.StashKey[list[Outcome]] = pytest.StashKey()
"""On an item whose case is asked several times: what its trials came to so far."""
ATTACHED: pytest.StashKey[tuple[str, list[Trial]]] = pytest.StashKey()
"""What was attached to the last report: its text, and the trials in it if these are of this report alone."""
UNTOLD: pytest.StashKey[list[str]] = pytest.StashKey()
"""On an item: its trials, as JSON, that are on no report yet that pytest has shown."""
UNREPORTED: pytest.StashKey[BaseException | None] = pytest.StashKey()
"""On an item whose call has ended, until a report is made of it: what it raised, None if nothing."""
REPORTED: pytest.StashKey[str] = pytest.StashKey()
"""On an item: the outcome on the report of its call when the trial was put there; absent without a trial."""
IMPOSED: pytest.StashKey[list[BaseException]] = pytest.StashKey()
"""On an item: what pytest or a plugin has failed its last call with, and not the test itself."""
CURRENT: pytest.StashKey[pytest.Item] = pytest.StashKey()
"""On the config: the case that is run in this process, or that was run last."""
UNPROVEN: pytest.StashKey[str] = pytest.StashKey()
"""On an item: why its last fail counts for nothing, empty if it counts."""
WATCH: pytest.StashKey[Watch] = pytest.StashKey()
"""On the config: what stands before the clients of a replay, from before the conftest files on."""
LATER: pytest.StashKey[bool] = pytest.StashKey()
"""On the config: whether the clock of this process is set ahead."""
CASSETTES: pytest.StashKey[Any] = pytest.StashKey()
"""On the config: the cassettes, if calls are recorded or replayed."""
LOOPS: pytest.StashKey[Any] = pytest.StashKey()
"""On the config: the event loops of other plugins, as soon as there is an async fixture."""
PANEL: pytest.StashKey[Panel] = pytest.StashKey()
"""On the config: the models that judge, as soon as a judge asks one."""
MODELS: pytest.StashKey[dict[str, PlainModel]] = pytest.StashKey()
"""On the config: the models that are asked as agents, by selector."""
MODELS_OF_FILES: pytest.StashKey[dict[tuple[str, str, str], Model]] = pytest.StashKey()
"""On the config: the models that files name themselves, by file, kind of call and selector."""
CALIBRATIONS: pytest.StashKey[Mapping[JudgeKey, Calibration]] = pytest.StashKey()
"""On the config: the calibrations that verdicts are held to, as soon as one is."""
TAPE: pytest.StashKey[Tape] = pytest.StashKey()
"""On an item: the cassette that was open while it last ran."""
MISSED: pytest.StashKey[bool] = pytest.StashKey()
"""On an item that asks a baseline: whether a trial of its series asked for what is not recorded."""
BATCHED: pytest.StashKey[Counter[str]] = pytest.StashKey()
"""On the config: what calls went through batch APIs in workers, and what went directly."""
UNPAID: pytest.StashKey[bool] = pytest.StashKey()
"""On an item: whether there was no money for it."""
UNASKED: pytest.StashKey[RunStop] = pytest.StashKey()
"""On an item: why its provider was not asked any more; absent if it was."""
AHEAD: pytest.StashKey[Any] = pytest.StashKey()
"""On an item: what was begun before its turn, with --recall-concurrency, from then to its end."""
RERUN: str = "rerun"
"""The outcome, to pytest, of a trial that is not the last of its series: the one that report plugins know."""
CRASHED = "???"
"""When, by the report that xdist makes up, an item ended whose worker died."""
