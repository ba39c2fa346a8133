"""Where a change begins, in real repositories, and what of the base applies to it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs.base import (
    HELD,
    NO_BASE,
    Base,
    base_of,
    held_to,
    judges_altered,
    lacks_default,
    targets,
)
from pytest_recall.runs.job import NO_JOB, Job
from pytest_recall.schedule.state_file import State
from pytest_recall.trials.record import NotCompared
from pytest_recall.trials.trial import Row
from tests.helpers.jobs import job_of
from tests.helpers.repository import Repository, write
from tests.helpers.samples import failing, row

RUBRIC = "owner: us\n"


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git find no repository around the folder of the test."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


@pytest.fixture
def repo(place: Place) -> Repository:
    """A repository whose main branch has a state with a case that passes, and a rubric."""
    made = Repository.at(place.root)
    remember(place, {"a": row()})
    place.rubric.write_text(RUBRIC, encoding="utf-8")
    made.commit()
    return made


def remember(place: Place, rows: Mapping[str, Row]) -> None:
    place.state.write_text(State({}, "").updated(rows), encoding="utf-8")


def head(repo: Repository) -> str:
    return repo.git("rev-parse", "HEAD").strip()


def branched(repo: Repository, name: str = "feature") -> str:
    """Make a branch with a commit of its own; return where it began."""
    began = head(repo)
    repo.git("switch", "-qc", name)
    write(repo.path, {f"{name}.py": "edited"})
    repo.commit()
    return began


def found(place: Place, *refs: str, **env: str) -> Base:
    return base_of(place, refs, job_of({**os.environ, **env}))


# Who names the base


EVENT = {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-0123abcd"}


@pytest.mark.parametrize(
    ("given", "env", "expected"),
    [
        (None, {}, ()),
        ("v1", {"GITHUB_BASE_REF": "main"}, ("v1", "origin/v1")),
        (None, {"GITHUB_BASE_REF": "rel/1"}, ("origin/rel/1", "rel/1")),
        (None, {"GITLAB_CI": "true", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "abc"}, ("abc",)),
        (None, EVENT, ("origin/main", "main")),
        (None, {**EVENT, "GITHUB_REF": "refs/heads/gh-readonly-queue/rel/1/pr-12-ff"}, ("origin/rel/1", "rel/1")),
        (None, {**EVENT, "GITHUB_REF": "refs/heads/other"}, ()),
        (None, {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": EVENT["GITHUB_REF"]}, ()),
    ],
)  # fmt: skip
def test_what_names_the_target(given: str | None, env: dict[str, str], expected: tuple[str, ...]) -> None:
    assert targets(given, job_of(env)) == expected


@pytest.mark.parametrize(
    ("event", "first"),
    [
        ({"merge_group": {"base_sha": "c0ffee"}}, ("c0ffee",)),
        ({"merge_group": {"base_sha": 7}}, ()),
        ({"merge_group": None}, ()),
        ([], ()),
    ],
)
def test_the_event_of_a_queue_names_the_commit_it_builds_on(
    tmp_path: Path, event: object, first: tuple[str, ...]
) -> None:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event), encoding="utf-8")
    env = {**EVENT, "GITHUB_EVENT_PATH": str(path)}
    assert targets(None, job_of(env)) == (*first, "origin/main", "main")


# Where it is


def test_a_feature_branch_is_held_to_the_commit_at_which_it_left(place: Place, repo: Repository) -> None:
    began = branched(repo)
    remember(place, {"a": failing()})
    repo.commit("A run of the branch")
    repo.git("switch", "-q", "main")
    remember(place, {"a": row(2, 2), "later": row()})
    repo.commit("Main goes on")
    repo.git("switch", "-q", "feature")
    for base in (found(place), found(place, "main")):
        assert (base.commit, base.is_change, base.not_compared, base.rows) == (began, True, None, {"a": row()})
        assert base.settings == Settings(owner="us")


def test_a_merge_commit_of_a_pull_request_is_held_to_the_tip_it_was_merged_with(place: Place, repo: Repository) -> None:
    """As actions/checkout has it: `refs/pull/7/merge`, a commit alone, and the target as `origin/main`."""
    branched(repo)
    repo.git("switch", "-q", "main")
    remember(place, {"a": failing()})
    tip = repo.commit("Main goes on")
    repo.git("update-ref", "refs/remotes/origin/main", tip)
    assert repo.merge("feature")
    repo.git("update-ref", "refs/remotes/pull/7/merge", head(repo))
    repo.git("switch", "-q", "--detach", "refs/remotes/pull/7/merge")
    repo.git("branch", "-D", "main", "feature")
    for base in (found(place, "origin/main", "main"), found(place)):
        assert (base.commit, base.is_change, base.rows) == (tip, True, {"a": failing()})


def test_a_queue_is_held_to_what_it_builds_on(place: Place, repo: Repository) -> None:
    """The pull requests before it in the queue are not its own change."""
    branched(repo, "before-it")
    remember(place, {"a": row(), "b": failing()})
    ahead = repo.commit()
    branched(repo, "queued")
    assert found(place, ahead, "origin/main", "main").commit == ahead
    assert found(place, ahead, "origin/main", "main").rows == {"a": row(), "b": failing()}


def test_a_change_of_a_release_branch_is_held_to_that(place: Place, repo: Repository) -> None:
    branched(repo, "release/1")
    remember(place, {"a": failing()})
    began = repo.commit()
    branched(repo, "mend")
    base = found(place, *targets(None, job_of({"GITHUB_BASE_REF": "release/1"})))
    assert (base.commit, base.rows) == (began, {"a": failing()})
    assert found(place, "main").rows == {"a": row()}


@pytest.mark.parametrize("edit", [False, True])
def test_the_default_branch_is_its_own_base(place: Place, repo: Repository, *, edit: bool) -> None:
    if edit:
        remember(place, {"a": failing()})  # A run here wrote it; the next one is not excused by it.
    base = found(place)
    assert (base.name, base.commit, base.is_change) == ("main", head(repo), False)
    assert (base.rows, base.settings) == ({"a": row()}, None)


def test_a_default_branch_of_another_name_is_what_the_remote_says(
    place: Place, repo: Repository, tmp_path: Path
) -> None:
    repo.git("branch", "-m", "main", "trunk")
    repo.git("update-ref", "refs/remotes/origin/trunk", "HEAD")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    assert found(place) == Base("trunk", head(repo), rows={"a": row()})
    began = branched(repo)
    assert (found(place).commit, found(place).is_change) == (began, True)


def test_a_branch_without_a_commit_of_its_own_is_no_change(place: Place, repo: Repository) -> None:
    repo.git("switch", "-qc", "feature")
    assert (found(place).is_change, found(place).rows) == (False, {"a": row()})
    assert found(place, "main").is_change, "unless someone says so, as a pull request does"


# A push to another branch than the default one


def pushed(place: Place, before: str, ref: str = "refs/heads/release/1") -> Base:
    """Return the base of a job that such a push has started."""
    event = place.root / "event.json"
    event.write_text(json.dumps({"before": before, "repository": {"default_branch": "main"}}), encoding="utf-8")
    return found(place, GITHUB_EVENT_NAME="push", GITHUB_REF=ref, GITHUB_EVENT_PATH=str(event))


def test_a_push_is_a_change_of_what_its_branch_was_before(place: Place, repo: Repository) -> None:
    """And not of the default branch, from which a release went its own way; the settings that it brings apply."""
    branched(repo, "release/1")
    remember(place, {"a": failing()})
    before = repo.commit()
    write(repo.path, {"eval/rubric.yaml": "owner: them\nblocks: never\n"})
    repo.commit()
    base = pushed(place, before)
    assert (base.name, base.commit, base.is_change, base.rows) == (before, before, True, {"a": failing()})
    assert (base.not_compared, held_to(OWN, base)) == (None, (OWN, base))


def test_a_push_whose_branch_was_not_there_or_is_not_known_has_no_base(place: Place, repo: Repository) -> None:
    branched(repo, "release/1")
    for before in (40 * "0", 40 * "c", ""):
        assert pushed(place, before) == NO_BASE


def test_a_push_of_another_branch_says_nothing_of_what_is_checked_out(place: Place, repo: Repository) -> None:
    began = branched(repo, "release/1")
    assert pushed(place, 40 * "c", "refs/heads/other").commit == began
    repo.git("switch", "-q", "main")
    assert pushed(place, began, "refs/heads/main") == Base("main", head(repo), rows={"a": row()})


# What cannot be found


def test_a_named_target_that_is_not_there_is_a_problem(place: Place, repo: Repository) -> None:
    branched(repo)
    base = found(place, "origin/release", "release")
    assert (base.name, base.commit, base.is_change, base.rows) == ("origin/release", "", True, None)
    assert base.not_compared == NotCompared("no-commit", "origin/release")


def test_a_clone_without_the_commit_in_common_is_a_problem(place: Place, repo: Repository) -> None:
    repo.git("switch", "-q", "--orphan", "elsewhere")
    write(place.root, {"eval/x": "x"})
    repo.commit()
    assert found(place, "main").not_compared == NotCompared("no-common-commit", "main")
    assert found(place) == NO_BASE, "where no one has named a target there is none"


def test_without_git_there_is_no_base(place: Place) -> None:
    assert base_of(place, (), NO_JOB) == NO_BASE
    base = base_of(place, ("origin/main", "main"), NO_JOB)
    assert (base.name, base.not_compared) == ("origin/main", NotCompared("no-repository"))


def test_without_a_commit_or_the_default_branch_there_is_none(place: Place) -> None:
    repo = Repository.at(place.root)
    assert found(place) == NO_BASE
    repo.git("switch", "-qc", "own")
    repo.commit()
    assert found(place) == NO_BASE


def unknown_default(repo: Repository) -> None:
    repo.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")


def test_where_no_one_says_which_branch_is_the_default_one_a_checkout_is_no_change(
    place: Place, repo: Repository
) -> None:
    unknown_default(repo)
    branched(repo)
    assert found(place) == Base("feature", head(repo), rows={"a": row()}, lacks_default=True)
    named = found(place, "main")
    assert (named.is_change, named.lacks_default) == (True, True)
    repo.git("switch", "-q", "--detach")
    assert found(place) == Base("", head(repo), rows={"a": row()}, lacks_default=True)


def test_a_default_branch_is_lacking_where_there_are_several_and_none_is_said_to_be(
    place: Place, repo: Repository
) -> None:
    assert not lacks_default(place.root, NO_JOB)
    unknown_default(repo)
    assert not lacks_default(place.root, NO_JOB), "there is one branch"
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert not lacks_default(place.root, NO_JOB), "there is one branch"
    branched(repo)
    assert lacks_default(place.root, NO_JOB)
    assert not lacks_default(place.root, Job(default_branch="main"))
    assert not lacks_default(place.root, Job(number=7))
    assert not lacks_default(place.root.parent, NO_JOB)


# What was known there


def test_no_state_at_the_base_is_known_as_none(place: Place) -> None:
    repo = Repository.at(place.root)
    write(place.root, {"README": "x"})
    repo.commit()
    branched(repo)
    remember(place, {"a": row()})
    repo.commit()
    assert (found(place).rows, found(place).settings, found(place).is_change) == (None, None, True)


def test_a_state_at_the_base_that_cannot_be_read_is_refused(place: Place, repo: Repository) -> None:
    place.state.write_text("version: 9\ncases:\n", encoding="utf-8")
    repo.commit()
    branched(repo)
    with pytest.raises(RecallError, match=r"eval/recall\.yaml:1: version 9 is unknown"):
        found(place)


def test_a_rubric_at_the_base_that_cannot_be_read_is_said(place: Place, repo: Repository) -> None:
    place.rubric.write_text("blocks: sometimes\n", encoding="utf-8")
    repo.commit()
    branched(repo)
    base = found(place, "main")
    assert base.settings is None
    assert base.unreadable.startswith("main:eval/rubric.yaml:1: ")
    assert held_to(DEFAULT_SETTINGS, base) == (DEFAULT_SETTINGS, base)


# What applies to the change


OWN = Settings(
    owner="them",
    blocks="never",
    budget=100.0,
    recording="off",
    volatile=("body.user.id",),
    max_due_cases=3,
    confirm="2of3",
)


def test_a_change_does_not_judge_itself() -> None:
    base = Base("main", "c", is_change=True, settings=Settings(owner="us"))
    rubric, of_change = held_to(OWN, base)
    assert of_change == base._replace(held_settings=("blocks", "budget", "recording", "volatile"))
    for name in HELD:
        assert getattr(rubric, name) == getattr(base.settings, name)
    assert (rubric.owner, rubric.max_due_cases, rubric.confirm) == (OWN.owner, 3, OWN.confirm)


def test_each_setting_is_held_to_the_base_or_one_that_a_change_may_bring() -> None:
    own = {
        *("owner", "model_primary", "thresholds", "prices", "rate_limits", "confirm", "judge", "baselines", "memory"),
        *("max_due_cases", "box_1_cases", "new_traffic_sample", "nightly_cases", "quarantine_lapses", "gates"),
        *("publish_answers", "keep_headers", "secrets"),
    }
    assert own.isdisjoint(HELD)
    assert own | set(HELD) == set(Settings.model_fields)


@pytest.mark.parametrize(
    "base",
    [NO_BASE, Base("main", "c", settings=Settings(owner="us")), Base("main", "c", is_change=True)],
    ids=["no base", "no change", "no rubric at the base"],
)
def test_without_a_change_or_a_rubric_of_the_base_the_own_one_applies(base: Base) -> None:
    assert held_to(OWN, base) == (OWN, base)


# The code of judges

JUDGE = "LIMIT = 1\n\n\ndef judge_own():\n    return lambda answer, case: (len(answer.text) > LIMIT, '')\n"


def judged(place: Place, repo: Repository, path: str, before: str | None, after: str | None) -> dict[str, str]:
    """Return the judges that a change of one file alters, whose text it is `before` and `after` it; None is no file."""
    for text in (before, after):
        if text is None:
            (repo.path / path).unlink(missing_ok=True)
        else:
            write(repo.path, {path: text})
        if text is before:
            repo.commit()
            branched(repo)
    repo.commit()
    return judges_altered(place, found(place, "main"))


@pytest.mark.parametrize(
    ("before", "after", "altered"),
    [
        (JUDGE, JUDGE.replace("LIMIT = 1", "LIMIT = 2"), True),
        (JUDGE, JUDGE.replace("> LIMIT", ">= LIMIT"), True),
        (JUDGE, f"# More.\n{JUDGE}\n\ndef other():\n    return 2\n", False),
        (None, JUDGE, True),
        (JUDGE, None, True),
        (JUDGE, "def judge_own(:\n", True),
    ],
)
def test_a_change_alters_the_code_of_a_judge(
    place: Place, repo: Repository, before: str | None, after: str | None, altered: bool
) -> None:
    told = judged(place, repo, "eval/conftest.py", before, after)
    assert told == ({"own": "eval/conftest.py"} if altered else {})


def test_what_is_no_change_alters_no_judge(place: Place, repo: Repository) -> None:
    write(repo.path, {"eval/conftest.py": JUDGE})
    repo.commit()
    assert judges_altered(place, NO_BASE) == {}


def test_a_python_file_of_another_encoding_is_no_obstacle(place: Place, repo: Repository) -> None:
    branched(repo)
    (repo.path / "old.py").write_bytes(b"# -*- coding: latin-1 -*-\n# caf\xe9\n")
    write(repo.path, {"eval/conftest.py": JUDGE})
    repo.commit()
    assert judges_altered(place, found(place, "main")) == {"own": "eval/conftest.py"}
