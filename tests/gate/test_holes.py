"""No change that breaks a case is green: the check names a broken case, or says that it was not evaluated."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.gate.conftest import Worlds
from tests.gate.holes import HOLES, Hole
from tests.gate.model import KEY, good_answer
from tests.gate.project import question, run
from tests.gate.world import Install, Pull, Verdict, World


class WronglyGreenError(AssertionError):
    """A change that breaks cases is green."""


def parameters() -> list[object]:
    """Return the holes with their marks."""
    cases: list[object] = []
    for hole in HOLES:
        marks = [] if hole.quick else [pytest.mark.all]
        if hole.known:
            marks.append(pytest.mark.xfail(strict=True, raises=WronglyGreenError, reason=hole.known))
        cases.append(pytest.param(hole, id=hole.name, marks=marks))
    return cases


def installs(package: str, site: Path) -> Install:
    """Return what installs a folder of a checkout: it is copied to where all processes import from."""

    def install(checkout: Path) -> None:
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(checkout / package, site)

    return install


def recorded_by_developer(world: World, pull: Pull, old: str, new: str) -> None:
    """Record a change, put a text in the place of an `old` one, if there is one, and push the recordings."""
    env = world.programs.env(LLM_URL=world.model.url, OPENAI_API_KEY=KEY)
    run(world.dev, "pytest -q -p recall eval --record=missing --recall-date 2026-11-21", env)
    for path in (world.dev / "eval" / "runs").glob("*.ndjson") if old else ():
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    for path in (world.dev / "eval" / "runs").glob("*.yaml"):
        path.unlink()
    world.git(world.dev, "add", "--all")
    world.git(world.dev, "commit", "--quiet", "--message", "Record it")
    world.push_dev(pull.branch)


@pytest.mark.parametrize("hole", parameters())
def test_only_a_change_that_breaks_nothing_is_green(hole: Hole, worlds: Worlds, tmp_path: Path) -> None:
    variables = dict(hole.variables)
    install = None
    if hole.package:
        site = tmp_path / "site"
        install = installs(hole.package, site)
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    if hole.cache:
        variables["CACHE"] = str(tmp_path / "answers.json")
        (tmp_path / "answers.json").write_text(json.dumps({question(item): good_answer(item) for item in range(1, 13)}))
    world = worlds(*hole.setup, fresh=hole.fresh, install=install, variables=variables)
    if hole.merged:
        world.commit("main", *hole.merged)
    pull = world.open("change", *hole.change)
    if hole.recorded_on or hole.recorded_as[0]:
        world.model.mode = hole.recorded_on or world.model.mode
        recorded_by_developer(world, pull, *hole.recorded_as)
    world.model.mode = hole.mode
    check = world.check(pull, "opened")
    print(check, check.report, sep="\n")
    assert "Traceback" not in check.output, check.output
    assert (check.verdict is Verdict.ENDED_EARLY) is hole.ends_early, check.output
    if not hole.broken:
        assert check.verdict is Verdict.GREEN, check
    elif hole.says:
        assert hole.says in f"{check.report}\n{check.output}", check
    else:
        if check.verdict is Verdict.GREEN:
            raise WronglyGreenError(f"{check}\n{check.output}")
        if check.verdict is Verdict.RED:
            assert check.named(hole.broken), check.report
