"""Which cases are near a change, in real repositories, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.settings import Settings
from pytest_recall.files.disk import write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs.context import CommandLine, Filters, resolve, sources
from pytest_recall.runs.plan import Plan, make_plan
from tests.helpers.project import case, cases_yaml
from tests.helpers.repository import commit, git, write
from tests.helpers.samples import TODAY

CASES = [case("fee-1", tags=["fees"]), case("fee-2", tags=["fees"]), case("hour-1", tags=["hours"]), case("bare")]
NEAR = {"fees": ("src/fees/",), "hours": ("src/hours/",)}


def rubric(**knobs: Any) -> Settings:
    """Return a rubric with the lottery."""
    return Settings(owner="us", policy="lottery", **{"near": NEAR, **knobs})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An eval directory in a repository, on a branch that has changed nothing yet."""
    write(tmp_path, {"eval/cases.yaml": cases_yaml(*CASES), "src/fees/a.py": "a", "src/hours/b.py": "b"})
    commit(tmp_path, "Begin")
    git(tmp_path, "switch", "-qc", "feature")
    return Place(tmp_path, tmp_path / "eval")


def plan_of(
    place: Place,
    *given: str,
    env: dict[str, str] | None = None,
    knobs: Settings | None = None,
    wanted: Filters = Filters(),  # noqa: B008 - frozen
    **asked: str,
) -> Plan:
    """Return the plan of a run for which this is `given` as near."""
    knobs = rubric() if knobs is None else knobs
    context = resolve(CommandLine(**{"seed": "1", **asked}), {}, knobs, TODAY)
    near = sources(given, env or {}, place.root)
    return make_plan(place, [place.eval_dir / "cases.yaml"], context, knobs, wanted, complete=True, near=near)


def near(plan: Plan) -> list[str]:
    """Return the ids that are near, sorted."""
    return sorted(plan.near.ids)


def test_tags_are_named(place: Place) -> None:
    plan = plan_of(place, "fees")
    assert near(plan) == ["fee-1", "fee-2"]
    assert plan.near.told == "2 of 4 cases (2 tagged fees)"
    assert plan.reasons == {"fee-1": "near", "fee-2": "near", "hour-1": "new", "bare": "new"}


def test_a_ref_that_is_not_there_is_told_where_a_replay_may_need_it(place: Place) -> None:
    with pytest.raises(RecallError, match=r"^--recall-near git:nope: "):
        plan_of(place, "git:nope", knobs=Settings.model_validate({"owner": "us", "policy": "affected"}))


def test_changed_files_touch_the_tags_that_the_rubric_maps_them_to(place: Place) -> None:
    write(place.root, {"src/fees/a.py": "new"})
    commit(place.root)
    write(place.root, {"src/hours/c.py": "untracked"})
    plan = plan_of(place, "git:main")
    assert near(plan) == ["fee-1", "fee-2", "hour-1"]
    assert plan.near.told == "3 of 4 cases (3 tagged fees, hours), by 2 files changed since main"


def test_an_edited_row_is_near_and_a_note_is_no_edit(place: Place) -> None:
    changed = [{**CASES[0], "notes": "why"}, {**CASES[1], "expected": "other"}, *CASES[2:], case("late")]
    write_text(place.eval_dir / "cases.yaml", cases_yaml(*changed))
    plan = plan_of(place, "git:main")
    assert near(plan) == ["fee-2", "late"]
    assert plan.near.told == "2 of 5 cases (2 with an edited row), by 1 file changed since main"


def test_a_row_that_moved_to_another_file_is_the_same_row(place: Place) -> None:
    write_text(place.eval_dir / "cases.yaml", cases_yaml(*CASES[2:], case("late")))
    write_text(place.eval_dir / "fees.cases.yaml", cases_yaml(*CASES[:2]))
    knobs = rubric()
    context = resolve(CommandLine(seed="1"), {}, knobs, TODAY)
    paths = [place.eval_dir / "cases.yaml", place.eval_dir / "fees.cases.yaml"]
    wanted = sources(["git:main"], {}, place.root)
    assert near(make_plan(place, paths, context, knobs, Filters(), complete=True, near=wanted)) == ["late"]


def test_a_case_file_that_is_new_or_was_broken_is_all_edited(place: Place) -> None:
    git(place.root, "switch", "-q", "main")
    write_text(place.eval_dir / "cases.yaml", "- id: [\n")
    commit(place.root)
    git(place.root, "switch", "-qc", "late")
    write_text(place.eval_dir / "cases.yaml", cases_yaml(*CASES))
    assert len(near(plan_of(place, "git:main"))) == 4


@pytest.mark.parametrize(
    ("name", "text"), [("list.txt", "bare\n\nfee-1\n"), ("changed.json", '{"changed": ["bare", "fee-1"]}')]
)
def test_a_list_names_cases(place: Place, name: str, text: str) -> None:
    write_text(place.root / name, text)
    plan = plan_of(place, f"file:{name}")
    assert near(plan) == ["bare", "fee-1"]
    assert plan.near.told == f"2 of 4 cases (2 listed in {name})"


def test_sources_come_together(place: Place) -> None:
    write(place.root, {"src/fees/a.py": "new", "list.txt": "bare\ngone\n"})
    plan = plan_of(place, "git:main", "hours", "file:list.txt")
    assert near(plan) == ["bare", "fee-1", "fee-2", "gone", "hour-1"]
    assert plan.near.told == (
        "4 of 4 cases (2 tagged fees; 1 tagged hours; 1 listed in list.txt), by 2 files changed since main;"
        " list.txt lists ids that no case file has: gone"
    )


def test_a_change_that_touches_everything_is_said(place: Place) -> None:
    write(place.root, {"prompt.md": "new"})
    plan = plan_of(place, "git:main", knobs=rubric(slice_cases=2, near={"fees": ["*.md"], "hours": ["*.md"]}))
    assert "touches all" not in plan.near.told
    write_text(place.root / "all.txt", "bare\n")
    plan = plan_of(
        place, "git:main", "file:all.txt", knobs=rubric(slice_cases=2, near={"fees": ["*.md"], "hours": ["*.md"]})
    )
    assert plan.near.told.endswith("; the change touches all 4 cases: a slice of 2 is a sample")
    assert (len(plan.picks), plan.left.near) == (2, 2)


def test_no_map_and_tags_of_no_case_are_said(place: Place) -> None:
    write(place.root, {"src/fees/a.py": "new"})
    assert plan_of(place, "git:main", knobs=Settings(owner="us", policy="lottery")).near.told == (
        "0 of 4 cases, by 1 file changed since main; `near` in rubric.yaml maps no path to a tag"
    )
    assert plan_of(place, "git:main", knobs=rubric(near={"feee": ["src/"]})).near.told.endswith(
        "; `near` in rubric.yaml names tags of no case: feee"
    )


def test_ci_names_the_base(place: Place) -> None:
    write(place.root, {"src/fees/a.py": "new"})
    base = commit(place.root)
    write(place.root, {"src/hours/b.py": "new"})
    assert near(plan_of(place, env={"GITHUB_BASE_REF": "main"})) == ["fee-1", "fee-2", "hour-1"]
    assert near(plan_of(place, env={"CI_MERGE_REQUEST_DIFF_BASE_SHA": base})) == ["hour-1"]
    assert near(plan_of(place, "fees", env={"GITHUB_BASE_REF": "main"})) == ["fee-1", "fee-2"]


def test_a_base_that_ci_names_and_that_is_not_there_is_said(place: Place) -> None:
    plan = plan_of(place, env={"GITHUB_BASE_REF": "develop"})
    assert near(plan) == []
    assert plan.near.told == (
        "off, since `origin/develop` is no commit in this clone; correct it or fetch it"
        " (with actions/checkout: `fetch-depth: 0`)"
    )


def test_off_is_said(place: Place) -> None:
    assert plan_of(place).near.told == (
        "off, since no base is known to compare with; --recall-near names one, tags or cases"
    )
    assert plan_of(place, "off", env={"GITHUB_BASE_REF": "main"}).near.told == "off, by --recall-near"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "git:nowhere",
            "--recall-near git:nowhere: `nowhere` is no commit in this clone; correct it or fetch it"
            " (with actions/checkout: `fetch-depth: 0`)",
        ),
        ("fee", "--recall-near: `fee` is the tag of no case; did you mean `fees`?; for a git ref write git:fee"),
        ("main", "--recall-near: `main` is the tag of no case; known: fees, hours; for a git ref write git:main"),
        ("file:none.txt", "none.txt: cannot be read (No such file or directory); check that it is there and readable"),
        (
            "file:broken.json",
            "broken.json: has no list `changed` of ids; write it by"
            " `pytest -p recall --record=missing --recall-dry-run`",
        ),
    ],
)
def test_what_is_asked_for_and_cannot_be_is_refused(place: Place, given: str, said: str) -> None:
    write_text(place.root / "broken.json", '{"changed": [1]}')
    with pytest.raises(RecallError) as caught:
        plan_of(place, given)
    assert str(caught.value) == said


def test_what_has_no_effect_is_refused_and_what_ci_names_is_not(place: Place) -> None:
    literal = Settings(owner="us")
    with pytest.raises(RecallError, match="--recall-near has no effect without `policy: lottery` or `affected`"):
        plan_of(place, "fees", knobs=literal)
    with pytest.raises(RecallError, match="--recall-near is about pull requests, and this is mode nightly"):
        plan_of(place, "fees", mode="nightly")
    assert plan_of(place, env={"GITHUB_BASE_REF": "main"}, knobs=literal).near.told == ""
    assert plan_of(place, env={"GITHUB_BASE_REF": "main"}, mode="nightly").near.told == ""
    assert plan_of(place, "fees", wanted=Filters(explicit="-k")).near.told == ""
