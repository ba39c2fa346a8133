"""Worlds in which a change is checked: one model for all tests, as recordings have its address."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import pytest

from tests.gate import project
from tests.gate.model import Mode, ScriptedModel
from tests.gate.project import Change, Programs
from tests.gate.world import Install, World
from tests.helpers.github import GitHub

NOTHING: Mapping[str, str] = MappingProxyType({})
FRESH = "RECALL_GATE_FRESH"
"""The variable by which every process is a new one of the installation."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes too long for each run, unless `-m` asks for marks."""
    if config.option.markexpr:
        return
    folder = Path(__file__).parent
    long = [item for item in items if item.path.is_relative_to(folder) and item.get_closest_marker("all")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session")
def _lasting() -> Iterator[ScriptedModel]:
    served = ScriptedModel()
    yield served
    served.close()


@pytest.fixture
def model(_lasting: ScriptedModel) -> ScriptedModel:
    """The scripted model on a good day."""
    _lasting.mode = Mode()
    _lasting.calls.clear()
    return _lasting


@pytest.fixture
def host() -> Iterator[GitHub]:
    """GitHub's API."""
    served = GitHub()
    yield served
    served.close()


class Worlds(Protocol):
    """Makes a world of a recorded project."""

    def __call__(
        self,
        *changes: Change,
        cases: int = 12,
        fresh: bool = False,
        record: bool = True,
        install: Install | None = None,
        variables: Mapping[str, str] = NOTHING,
    ) -> World:
        """Return the world.

        `changes` are to what the project begins with, before it is recorded, and `install` does what a job does before
        it runs anything. The `variables` are those of all processes; those of the developer as well, which records it.
        """


@pytest.fixture(scope="session")
def _recorded(
    tmp_path_factory: pytest.TempPathFactory, _lasting: ScriptedModel
) -> Callable[[int, bool, Programs], Path]:
    origins: dict[tuple[int, bool], Path] = {}

    def recorded(cases: int, record: bool, programs: Programs) -> Path:
        if (cases, record) not in origins:
            folder = tmp_path_factory.mktemp("gate") / "desk"
            env = programs.env(LLM_URL=_lasting.url)
            origins[cases, record] = project.make(folder, cases, (), env, record=record)
        return origins[cases, record]

    return recorded


@pytest.fixture
def worlds(
    tmp_path: Path, model: ScriptedModel, host: GitHub, _recorded: Callable[[int, bool, Programs], Path]
) -> Worlds:
    """A world, of a project with some changes that is recorded for it alone; the plain one is recorded once."""

    def make(
        *changes: Change,
        cases: int = 12,
        fresh: bool = False,
        record: bool = True,
        install: Install | None = None,
        variables: Mapping[str, str] = NOTHING,
    ) -> World:
        programs = Programs(fresh or bool(os.environ.get(FRESH)))
        if changes or install or variables:
            env = {**programs.env(LLM_URL=model.url), **variables}
            origin = project.make(tmp_path / "desk", cases, changes, env, record=record, install=install)
        else:
            origin = shutil.copytree(_recorded(cases, record, programs), tmp_path / "desk.git")
        model.calls.clear()
        world = World(tmp_path, origin, model, host, programs)
        world.variables = dict(variables)
        world.install = install or world.install
        return world

    return make
