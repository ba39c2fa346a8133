"""What fails in a run and is not a case: it is in the journal, and turns the check red."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, case, cases_yaml, failing

RUBRIC = {"eval/rubric.yaml": "owner: us\nblocks: regression\n"}
TESTS = """
import pytest


@pytest.fixture
def broken():
    raise ValueError("no")


@pytest.fixture
def messy():
    yield
    raise ValueError("no")


def test_fine():
    pass


def test_fails():
    assert 0


def test_setup(broken):
    pass


def test_teardown(messy):
    pass


@pytest.mark.xfail
def test_expected():
    assert 0


@pytest.mark.recall("marked", scenario="s", dimension="d")
def test_marked():
    assert 0
"""


def test_tests_that_are_no_cases_are_told(pytester: pytest.Pytester) -> None:
    project = ECHOING.with_files({**RUBRIC, "eval/test_x.py": TESTS}).with_cases(case("a"), failing("b")).at(pytester)
    assert project.run("eval", "-n", "1").ret == pytest.ExitCode.TESTS_FAILED
    assert sorted(project.journal().also) == [
        ("eval/test_x.py::test_fails", "call"),
        ("eval/test_x.py::test_setup", "setup"),
        ("eval/test_x.py::test_teardown", "teardown"),
    ]
    done = project.recall("score", "latest")
    assert done.ret == 1
    done.stderr.fnmatch_lines(["recall: this run blocks: beside the cases: eval/test_x.py::test_*"])


@pytest.mark.parametrize("workers", [(), ("-n2",), ("-x",)], ids=["alone", "workers", "first"])
def test_a_case_file_that_cannot_be_collected_is_why_none_was_run(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    project = ECHOING.with_cases(case("a", judges=["nobody"]), case("b", judges=["none"])).at(pytester)
    result = project.run("eval", *workers)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    stop = project.journal().stop
    assert stop is not None
    assert (stop.cause, stop.files) == ("uncollected", ("eval/cases.yaml",))
    assert stop.detail.startswith("eval/cases.yaml:1: judges: unknown judge `nobody`; ")
    assert result.stdout.str().count("partial: 2 of 2 chosen cases not run: eval/cases.yaml:1: ") == 1


@pytest.mark.parametrize(
    ("cases", "files"), [((), ("eval/test_x.py",)), (("nobody",), ("eval/cases.yaml", "eval/test_x.py"))]
)
def test_so_is_another_file(pytester: pytest.Pytester, cases: tuple[str, ...], files: tuple[str, ...]) -> None:
    broken = {"eval/test_x.py": "import no_such_module\n"}
    checkout = ECHOING.with_files(broken).with_cases(case("a", judges=[*cases, "exact"])).at(pytester)
    checkout.run("eval")
    stop = checkout.journal().stop
    assert stop is not None
    assert (stop.cause, stop.files, bool(stop.detail)) == ("uncollected", files, bool(cases))


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
@pytest.mark.parametrize("broken", ["eval/other.cases.yaml", "eval/test_x.py"])
def test_beside_a_file_that_cannot_be_collected_no_case_is_asked_unless_that_is_wanted(
    pytester: pytest.Pytester, broken: str, workers: tuple[str, ...]
) -> None:
    text = "import no_such_module\n" if broken.endswith(".py") else cases_yaml(case("b", judges=["nobody"]))
    project = ECHOING.with_cases(case("a")).with_files({broken: text}).at(pytester)
    assert project.run("eval", "--recall-mode=all", *workers).ret == pytest.ExitCode.INTERRUPTED
    assert project.outcomes() == {}
    wanted = project.run("eval", "--recall-mode=all", "--continue-on-collection-errors", *workers)
    assert wanted.ret == pytest.ExitCode.TESTS_FAILED
    assert project.outcomes() == {"a": "passed"}
    stop = project.journal().stop
    assert stop is not None
    assert (stop.cause, stop.files) == ("uncollected", (broken,))


@pytest.mark.parametrize(("workers", "code"), [((), 1), (("-n2",), 2)], ids=["alone", "workers"])
def test_a_run_that_has_nothing_left_when_it_is_stopped_has_not_ended_early(
    pytester: pytest.Pytester, workers: tuple[str, ...], code: int
) -> None:
    names = ("a", "b") if workers else ("a",)
    project = ECHOING.with_cases(*(case(name, input="crash") for name in names)).at(pytester)
    assert project.run("eval", "-x", *workers).ret == code
    assert project.outcomes() == dict.fromkeys(names, "error")
    assert project.journal().stop is None


def test_a_file_that_cannot_be_collected_is_told(pytester: pytest.Pytester) -> None:
    files = {**RUBRIC, "eval/test_x.py": "import no_such_module\n"}
    project = ECHOING.with_files(files).with_cases(case("a")).at(pytester)
    project.run("eval", "--continue-on-collection-errors").assert_outcomes(passed=1, errors=1)
    assert project.journal().also == (("eval/test_x.py", "collect"),)
