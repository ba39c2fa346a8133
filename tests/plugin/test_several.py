"""Several eval directories in one command: a state, a rubric and a journal for each, and one summary."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from pytest_recall.plugin import several
from pytest_recall.schedule.state_file import read_state
from tests.helpers import command
from tests.helpers.project import DAY, ECHO, RECORDING, Checkout, Project, case, cases_yaml, failing

Together = Callable[..., tuple[int, list[str]]]

MARKED = """\
import pytest


@pytest.mark.recall("of-a")
def test_it():
    pass


def test_plain():
    pass
"""


def service(name: str, *cases: dict[str, object], rubric: str = "owner: us\nblocks: failure\n") -> dict[str, str]:
    """Return the files of a service with an eval directory."""
    folder = f"{name}/eval"
    return {
        f"{folder}/rubric.yaml": rubric,
        f"{folder}/cases.yaml": cases_yaml(*cases),
        f"{folder}/conftest.py": RECORDING + ECHO,
    }


TWO = Project(
    {
        "pytest.ini": "[pytest]\n",
        **service("svc_a", case("one"), case("two")),
        **service("svc_b", case("one"), failing("other"), rubric="owner: others\nblocks: failure\n"),
        "svc_a/tests/test_a.py": MARKED,
    }
)


def boxes(checkout: Checkout, name: str) -> dict[str, int]:
    """Return the box of each case in the state of a service."""
    state = read_state(Path(checkout.path, name, "eval", "recall.yaml"), name)
    return {case_id: found.box for case_id, found in state.rows.items()}


@pytest.fixture
def together(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Together:
    """Run several directories from this process, each in one that has imported pytest; return exit code and lines."""

    class Started:
        def __init__(self, arguments: list[str], cwd: Path) -> None:
            self._done = command.apart(cwd, *arguments[2:], env=os.environ)

        def wait(self) -> int:
            return self._done.code

    def run(*args: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(several, "subprocess", SimpleNamespace(Popen=Started))
        capsys.readouterr()
        code = several.main(pytester.parseconfig(*args, f"--recall-date={DAY}"))
        return code, capsys.readouterr().out.splitlines()

    return run


def assert_each_has_its_own(checkout: Checkout, lines: list[str], of_a: dict[str, int]) -> None:
    """Assert what the run came to, with the boxes that the first service has then."""
    assert boxes(checkout, "svc_a") == of_a
    assert boxes(checkout, "svc_b") == {"one": 1, "other": 1}
    assert sorted(checkout.path.rglob("recall.yaml")) == [
        checkout.path / name / "eval" / "recall.yaml" for name in ("svc_a", "svc_b")
    ]
    at = next(at for at, line in enumerate(lines) if "recall: all eval directories" in line)
    told = [line.partition(";")[0] for line in lines[at + 1 :]]
    assert told == [
        f"svc_a/eval: no regression, {len(of_a)} passed",
        "svc_b/eval: no regression, 1 new failure, 1 passed",
    ]


def test_each_has_its_own_state_and_ids(pytester: pytest.Pytester) -> None:
    checkout = TWO.at(pytester)
    result = checkout.run_apart(".")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert_each_has_its_own(checkout, result.outlines, {"one": 1, "two": 1, "of-a": 1})


@pytest.mark.parametrize("named", [("svc_a", "svc_b"), ("svc_a/eval", "svc_b/eval")], ids=["services", "folders"])
def test_so_it_has_if_each_is_named(pytester: pytest.Pytester, together: Together, named: tuple[str, ...]) -> None:
    checkout = TWO.at(pytester)
    code, lines = together(*named)
    assert code == pytest.ExitCode.TESTS_FAILED
    of_a = {"one": 1, "two": 1} | ({} if named[0].endswith("eval") else {"of-a": 1})
    assert_each_has_its_own(checkout, lines, of_a)


def test_one_service_goes_by_its_own_eval_directory(pytester: pytest.Pytester) -> None:
    checkout = TWO.at(pytester)
    assert checkout.run("svc_a").ret == 0
    assert boxes(checkout, "svc_a") == {"one": 1, "two": 1, "of-a": 1}
    assert not (checkout.path / "svc_b/eval/recall.yaml").exists()


def test_tests_beside_them_run_once_and_one_report_has_all(pytester: pytest.Pytester, together: Together) -> None:
    checkout = TWO.with_files({"tests/test_c.py": "def test_c():\n    pass\n"}).at(pytester)
    code, _ = together(".", "--junitxml=report.xml", "-n1")
    assert code == pytest.ExitCode.TESTS_FAILED
    cases = ElementTree.parse(checkout.path / "report.xml").getroot().iter("testcase")
    assert sorted(str(one.get("name")) for one in cases) == [
        *("one", "one", "other", "test_c", "test_it", "test_plain", "two")
    ]


def test_one_within_another_is_left_to_itself(pytester: pytest.Pytester, together: Together) -> None:
    files = {
        **service("svc", case("one")),
        **{
            f"svc/eval/deep/{name}": text
            for name, text in (("rubric.yaml", "owner: us\n"), ("deep.cases.yaml", cases_yaml(case("one"))))
        },
    }
    checkout = Project({"pytest.ini": "[pytest]\n", **files}).at(pytester)
    code, _ = together("svc")
    assert code == 0
    assert boxes(checkout, "svc") == {"one": 1}
    assert set(read_state(checkout.path / "svc/eval/deep/recall.yaml", "deep").rows) == {"one"}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--recall-resume", "--recall-resume is about one run, and `svc_a/eval` and `svc_b/eval` are run one by one"),
        ("--recall-base-state=x.yaml", "--recall-base-state is about one run, and"),
    ],
)
def test_what_is_about_one_run_is_refused(pytester: pytest.Pytester, option: str, said: str) -> None:
    checkout = TWO.at(pytester)
    result = checkout.run("svc_a", "svc_b", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any(said in line for line in result.errlines), result.errlines
    assert not list(checkout.path.rglob("_artifacts"))


def test_a_broken_one_does_not_hide_the_others(pytester: pytest.Pytester, together: Together) -> None:
    checkout = TWO.with_files({"svc_a/eval/cases.yaml": "- id: 1\n"}).at(pytester)
    code, lines = together("svc_a", "svc_b")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert boxes(checkout, "svc_b") == {"one": 1, "other": 1}
    assert "svc_a/eval: no run; pytest ended with 4" in lines
