"""Profiles: files `*.profile.yaml`, whose questions are asked checkpoint by checkpoint, as cases of this session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_recall.plugin.stash import DECK, MODELS_OF_FILES, RUN

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case
    from pytest_recall.horizon.items import PointsJudge, ProfileCases
    from pytest_recall.memory.session import Memory
    from pytest_recall.models.model import Model
    from pytest_recall.replay.call import Kind
    from pytest_recall.runs.sources import Source
    from pytest_recall.trials.trial import Answer, Trial


def read_source(config: pytest.Config, path: Path, name: str) -> Source:
    """Return the cases of a file that names a dataset, or is a profile. Raises RecallError."""
    from pytest_recall.files.find import is_profile

    if is_profile(path):
        from pytest_recall.horizon.items import ProfileCases

        return ProfileCases(path, name, config.option.recall_memory)
    from pytest_recall.datasets.cases import read_bench

    return read_bench(path, name)


def source_of(config: pytest.Config, path: Path) -> ProfileCases | None:
    """Return the profile at `path`; None for any other file."""
    from pytest_recall.files.find import is_profile

    return cast("ProfileCases", config.stash[RUN].plan.files[path]) if is_profile(path) else None


def judges_of(config: pytest.Config, path: Path) -> Mapping[str, PointsJudge]:
    """Return the judges that a file brings along, by name: that of a profile. Raises RecallError.

    Without `models.judge` in the profile no model is asked. `--judge` is about other cases.
    """
    source = source_of(config, path)
    if source is None:
        return {}
    from pytest_recall.horizon.evaluation import JUDGE
    from pytest_recall.plugin.judging import is_asked_today
    from pytest_recall.replay import tape

    rubric = config.stash[RUN].plan.rubric
    judge = source.judge(
        lambda selector: _model(config, source, selector, "judge"),
        attempts=rubric.judge_attempts,
        preflight=is_asked_today(config) and rubric.preflight != "off",
    )
    judge.ready = tape.known_answers()(judge.ready)  # type: ignore[method-assign]
    return {JUDGE: judge}


def with_points(trial: Trial, judges: Mapping[str, PointsJudge]) -> Trial:
    """Return the trial of a profile's case with its points and its checkpoint."""
    from pytest_recall.horizon.evaluation import JUDGE

    return trial._replace(**judges[JUDGE].facts(trial))


def agent_of(config: pytest.Config, path: Path, case: Case, memory: Memory) -> Callable[[Any], Answer] | None:
    """Return who answers a case of a profile: the memory, or a model from what it finds; None for other files."""
    source = source_of(config, path)
    if source is None:
        return None
    selector = source.settings.answer
    answerer = None if selector is None else _model(config, source, selector, "agent")
    return lambda question: source.answered(case, memory.ask(case, source.seconds), answerer)


def _model(config: pytest.Config, source: ProfileCases, selector: str, kind: Kind) -> Model:
    """Return a model, the same one for all cases of the file in this process. Raises RecallError."""
    models = config.stash.setdefault(MODELS_OF_FILES, {})
    key = (str(source.path), kind, selector)
    if key not in models:
        from pytest_recall.models.resolve import model_of

        model = model_of(
            selector,
            kind,
            player=config.stash[DECK].player,
            root=source.root,
            say=config.stash[RUN].note,
            ready=not config.option.collectonly,
        )
        config.add_cleanup(model.close)
        models[key] = model
    return models[key]
