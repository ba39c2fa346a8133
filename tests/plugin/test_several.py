"""Several eval directories in one command: a state, a rubric and a journal for each, and one summary."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from pytest_recall.files.eval_directory import JOURNAL, Place
from pytest_recall.plugin import several
from pytest_recall.replay.exchange import Call
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.journal import Journal
from tests.helpers import command
from tests.helpers.project import DAY, ECHO, RECORDING, Checkout, Project, case, cases_yaml, failing
from tests.helpers.samples import header

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

    def run(*args: str, process: type = Started) -> tuple[int, list[str]]:
        monkeypatch.setattr(several, "subprocess", SimpleNamespace(Popen=process))
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
        ("--recall-record=tapes", "a folder for --record is about one run, and"),
        ("--recall-record=missing:tapes", "a folder for --record is about one run, and"),
        ("--recall-replay=tapes", "a folder for --replay is about one run, and"),
    ],
)
def test_what_is_about_one_run_is_refused(pytester: pytest.Pytester, option: str, said: str) -> None:
    checkout = TWO.with_files({"tapes/README.txt": ""}).at(pytester)
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


InTurn = Callable[[Callable[[Path | None], int]], Together]


@pytest.fixture
def in_turn(together: Together) -> InTurn:
    """Let a function stand for each pytest: it is given the eval directory, if there is one, and ends with a code."""

    def standing(run: Callable[[Path | None], int]) -> Together:
        class Started:
            def __init__(self, arguments: list[str], cwd: Path) -> None:
                given = dict(one.partition("=")[::2] for one in arguments)
                self._folder = Path(given["--recall-dir"]) if "--recall-dir" in given else None
                self._done = False
                print(f"budget: {given.get('--recall-budget')}")

            def wait(self) -> int:
                if self._done:
                    return 0  # It was interrupted, and is over now.
                self._done = True
                return run(self._folder)

        return partial(together, process=Started)

    return standing


def spending(usd: float, damage: str = "") -> Callable[[Path | None], int]:
    """Return what runs no case and writes a journal in which calls have cost so much."""

    def run(folder: Path | None) -> int:
        assert folder is not None
        new = Place(folder, folder).artifacts.new_run(datetime(2026, 3, 10))
        with Journal(new, header()) as journal:
            journal.spent([Call("agent", "live", cost=usd)])
            journal.end(0)
        if damage:
            (new / JOURNAL).write_text(damage, encoding="utf-8")
        return 0

    return run


@pytest.mark.parametrize(("budget", "second"), [("2.5", "1.0"), ("1.5", None)])
def test_what_one_has_left_of_the_budget_is_for_the_next(
    pytester: pytest.Pytester, in_turn: InTurn, budget: str, second: str | None
) -> None:
    TWO.at(pytester)
    code, lines = in_turn(spending(1.5))("svc_a", "svc_b", f"--recall-budget={budget}")
    begun = [line for line in lines if line.startswith("budget: ")]
    if second is None:
        assert begun == [f"budget: {budget}"]
        assert lines[-1] == "svc_b/eval: not run"
        assert "recall: the budget is spent" in lines
    else:
        assert begun == [f"budget: {budget}", f"budget: {second}"]
    assert code == (0 if second else 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--recall-budget=much",), "--budget: 'much' is not an amount of US dollars above 0"),
        (("--recall-record", "svc_a"), "--record takes `svc_a` for the folder of cassettes; write `svc_a --record`"),
    ],
)
def test_what_none_of_them_can_do_is_refused_before_the_first(
    pytester: pytest.Pytester, in_turn: InTurn, options: tuple[str, ...], said: str
) -> None:
    TWO.at(pytester)
    with pytest.raises(pytest.UsageError, match=re.escape(said)):
        in_turn(spending(0))("svc_a", "svc_b", *options)


def test_where_it_is_not_known_what_is_left_of_the_budget_no_other_is_run(
    pytester: pytest.Pytester, in_turn: InTurn
) -> None:
    TWO.at(pytester)
    code, lines = in_turn(spending(1.5, damage="nothing\n"))("svc_a", "svc_b", "--recall-budget=2")
    assert code == 2
    assert "recall: it is not known what is left of the budget" in lines
    assert lines[-1] == "svc_b/eval: not run"
    assert lines[-2].startswith("svc_a/eval: ")
    assert "trials.jsonl:1" in lines[-2]


def test_no_option_takes_the_path_of_a_run_for_its_value(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    TWO.at(pytester)
    given = ("svc_a", "svc_b", "--recall-record")
    config = pytester.parseconfig(*given)  # It puts an option of its own behind these.
    config.invocation_params = pytest.Config.InvocationParams(args=given, plugins=None, dir=pytester.path)
    begun: list[list[str]] = []

    class Started:
        def __init__(self, arguments: list[str], cwd: Path) -> None:
            begun.append(arguments[3:5])

        def wait(self) -> int:
            return 0

    monkeypatch.setattr(several, "subprocess", SimpleNamespace(Popen=Started))
    several.main(config)
    assert begun == [["svc_a", "--recall-record"], ["svc_b", "--recall-record"]]


def test_an_interrupt_ends_them_all(pytester: pytest.Pytester, in_turn: InTurn) -> None:
    TWO.with_files({"tests/test_c.py": "def test_c():\n    pass\n"}).at(pytester)

    def interrupted(folder: Path | None) -> int:
        raise KeyboardInterrupt

    code, lines = in_turn(interrupted)(".")
    assert code == pytest.ExitCode.INTERRUPTED
    assert lines[-3:] == [
        "svc_a/eval: no run; pytest ended with 2",
        "svc_b/eval: not run",
        "tests beside them: not run",
    ]


def test_how_the_tests_beside_them_ended_is_told(pytester: pytest.Pytester, in_turn: InTurn) -> None:
    TWO.with_files({"tests/test_c.py": "def test_c():\n    pass\n"}).at(pytester)
    code, lines = in_turn(lambda folder: 0 if folder else 1)(".")
    assert (code, lines[-1]) == (1, "tests beside them: pytest ended with 1")


def test_plugins_of_a_program_are_refused(pytester: pytest.Pytester) -> None:
    TWO.at(pytester)
    config = pytester.parseconfig("svc_a", "svc_b")
    config.invocation_params = pytest.Config.InvocationParams(args=(), plugins=[object()], dir=pytester.path)
    with pytest.raises(pytest.UsageError) as error:
        several.main(config)
    assert str(error.value) == (
        "`svc_a/eval` and `svc_b/eval` are run one by one, and not with plugins that a program has passed to pytest"
    )
