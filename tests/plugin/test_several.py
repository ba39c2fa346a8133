"""Several eval directories in one command: a state, a rubric and a journal for each, and one summary."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from pytest_recall.files.eval_directory import JOURNAL, Place
from pytest_recall.files.wording import plural
from pytest_recall.plugin import several
from pytest_recall.replay.exchange import Call
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.journal import Journal
from tests.helpers import command
from tests.helpers.project import DAY, ECHO, RECORDING, Checkout, Project, case, cases_yaml, failing
from tests.helpers.running import wait_until
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


KILLED = """\
@pytest.fixture
def agent():
    def answer(question):
        if question == "two" and pathlib.Path(__file__).with_name("die").exists():
            os.kill(os.getpid(), 9)
        return question

    return answer
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
        def __init__(self, arguments: list[str], cwd: Path, env: dict[str, str]) -> None:
            self._done = command.apart(cwd, *arguments[2:], env=env)

        def wait(self, timeout: float | None) -> int:
            return self._done.code

    def run(*args: str, process: type = Started) -> tuple[int, list[str]]:
        monkeypatch.setattr(
            several, "subprocess", SimpleNamespace(Popen=process, TimeoutExpired=subprocess.TimeoutExpired)
        )
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
        f"svc_a/eval: No regression: {plural(len(of_a), 'case')} {'passes' if len(of_a) == 1 else 'pass'}",
        "svc_b/eval: No regression: 1 of 2 cases pass",
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


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_the_one_that_is_named_by_an_option_leaves_the_others_alone(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    checkout = TWO.at(pytester)
    result = checkout.run("--recall-dir=svc_a/eval", "--ignore=svc_a/tests", *workers)
    result.assert_outcomes(passed=2)
    assert boxes(checkout, "svc_a") == {"one": 1, "two": 1}
    told = "recall: not run, as --recall-dir names another eval directory: svc_b/eval/cases.yaml"
    assert told in checkout.run("--recall-dir=svc_a/eval", "-q").outlines + result.outlines


def test_each_file_that_is_passed_over_is_named_with_its_reason(pytester: pytest.Pytester) -> None:
    checkout = TWO.with_files({"notes/x.cases.yaml": "not: ours\n"}).at(pytester)
    result = checkout.run("--recall-dir=svc_a/eval", "--ignore=svc_a/tests")
    told = [line.partition("; ")[0] for line in result.outlines if line.startswith("recall: not run")]
    assert told == [
        "recall: not run, as --recall-dir names another eval directory: svc_b/eval/cases.yaml",
        "recall: not run, as no rubric.yaml is in a folder above: notes/x.cases.yaml",
    ]


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
        ("--recall-record=tapes", "a folder for --record is about one run, and"),
        ("--recall-record=missing:tapes", "a folder for --record is about one run, and"),
        ("--recall-replay=tapes", "a folder for --replay is about one run, and"),
        ("--stepwise", "--stepwise is about one run, and"),
    ],
)
def test_what_is_about_one_run_is_refused(pytester: pytest.Pytester, option: str, said: str) -> None:
    checkout = TWO.with_files({"tapes/README.txt": ""}).at(pytester)
    result = checkout.run("svc_a", "svc_b", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any(said in line for line in result.errlines), result.errlines
    assert not list(checkout.path.rglob("_artifacts"))


def test_what_only_its_runs_are_given_is_no_option_for_people(pytester: pytest.Pytester) -> None:
    TWO.at(pytester)
    result = pytester.runpytest("svc_a/eval", "--recall-one-of-several=svc_b", "--scenarios=one")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = "ERROR: --recall-one-of-several: is for the runs of several eval directories alone; leave it out"
    assert said in result.errlines


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
            def __init__(self, arguments: list[str], cwd: Path, env: dict[str, str]) -> None:
                given = dict(one.partition("=")[::2] for one in arguments)
                self._folder = Path(given["--recall-dir"]) if "--recall-dir" in given else None
                self._done = False
                print(f"budget: {given.get('--recall-budget')}")

            def wait(self, timeout: float | None) -> int:
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
    assert "recall: the rest of the budget is not known" in lines
    assert lines[-1] == "svc_b/eval: not run"
    assert lines[-2].startswith("svc_a/eval: ")
    assert "trials.jsonl:1" in lines[-2]


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


class Begun(list[list[str]]):
    """The commands that were begun, in place of which nothing is run, and the codes with which they end."""

    def __init__(self, config: pytest.Config, monkeypatch: pytest.MonkeyPatch, codes: tuple[int, ...] = ()) -> None:
        super().__init__()
        left = [*codes]

        def begin(command: list[str], cwd: Path, env: dict[str, str]) -> SimpleNamespace:
            self.append(command[3:])
            assert "PYTEST_ADDOPTS" not in env
            return SimpleNamespace(wait=lambda timeout: left.pop(0) if left else 0)

        replaced = SimpleNamespace(Popen=begin, TimeoutExpired=subprocess.TimeoutExpired)
        monkeypatch.setattr(several, "subprocess", replaced)
        self.code = several.main(config)


def configured(pytester: pytest.Pytester, *given: str) -> pytest.Config:
    """Return the configuration of pytest with these arguments, in their order."""
    # It puts an option of its own behind these, which a `--` would make a path.
    config = pytester.parseconfig(*(one for one in given if one != "--"))
    config.invocation_params = pytest.Config.InvocationParams(args=given, plugins=None, dir=pytester.path)
    return config


def test_no_option_takes_the_path_of_a_run_for_its_value(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    TWO.at(pytester)
    begun = Begun(configured(pytester, "svc_a", "svc_b", "--recall-record"), monkeypatch)
    assert [one[:2] for one in begun] == [["svc_a", "--recall-record"], ["svc_b", "--recall-record"]]


def test_paths_are_told_from_values_of_options_wherever_they_are_given(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = TWO.with_files({"pytest.ini": "[pytest]\naddopts = svc_a --tb short\n", "more": "svc_b/eval\n"})
    checkout.at(pytester)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly svc_b")
    begun = Begun(configured(pytester, "--deselect", "svc_a", "@more", "-q", "--", "svc_a"), monkeypatch)
    given = ["--tb", "short", "-p", "no:randomly", "--deselect", "svc_a", "-q", "-o", "addopts="]
    paths = [["svc_a", "svc_a"], ["svc_b", "svc_b/eval"]]
    assert [one[: one.index("addopts=") + 1] for one in begun] == [[*own, *given] for own in paths]


def test_each_adds_to_what_the_one_before_has_written(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    TWO.at(pytester)
    first, second = Begun(configured(pytester, "svc_a", "svc_b", "--cache-clear", "--log-file=x.log"), monkeypatch)
    assert ("--cache-clear" in first, "--cache-clear" in second) == (True, False)
    assert ("--log-file-mode=a" in first, "--log-file-mode=a" in second) == (False, True)


def test_a_run_that_a_signal_ends_is_no_success(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    TWO.at(pytester)
    begun = Begun(configured(pytester, "svc_a", "svc_b"), monkeypatch, (-9, -60))
    assert begun.code == 128 + 60
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "svc_a/eval: no run; pytest was ended by SIGKILL",
        "svc_b/eval: no run; pytest was ended by signal 60",
    ]


def test_one_that_was_killed_is_resumed_by_the_command_that_is_told(
    pytester: pytest.Pytester, together: Together
) -> None:
    files = {"svc_a/eval/conftest.py": "import os\n" + RECORDING + KILLED, "svc_a/eval/die": ""}
    checkout = TWO.with_files(files).at(pytester)
    code, lines = together("svc_a", "svc_b")
    assert code == 128 + 9
    (line,) = [line for line in lines if line.startswith("svc_a/eval: ")]
    (checkout.path / "svc_a/eval/die").unlink()
    told = line.split("`pytest ")[1].split("`")[0]
    assert line.endswith("` with the same options and --recall-resume asks the rest")
    assert checkout.run(*shlex.split(told), "--recall-resume").ret == 0
    assert boxes(checkout, "svc_a") == {"one": 1, "two": 1, "of-a": 1}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 128 + 15), (signal.SIGINT, 2)])
def test_a_signal_to_the_command_alone_reaches_what_it_runs(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    monkeypatch.setattr(several, "PATIENCE", 0.1)
    TWO.at(pytester)
    ready = "import pathlib, time; pathlib.Path('ready').touch(); time.sleep(60)"
    begun: list[subprocess.Popen[bytes]] = []

    def begin(command: list[str], cwd: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
        begun.append(subprocess.Popen([sys.executable, "-c", ready], cwd=cwd, env=env, stderr=subprocess.DEVNULL))
        return begun[0]

    replaced = SimpleNamespace(Popen=begin, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(several, "subprocess", replaced)

    def send() -> None:
        wait_until((pytester.path / "ready").exists)
        os.kill(os.getpid(), number)

    Thread(target=send).start()
    assert several.main(configured(pytester, "svc_a", "svc_b")) == code
    assert [one.returncode for one in begun] == [-number]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("limit", "last", "code"),
    [
        ("-x", "svc_b/eval: not run", 1),
        ("--maxfail=2", "svc_b/eval: No regression: 1 of 2 cases pass; 1 new failure", 1),
    ],
)
def test_failures_are_counted_over_all(
    pytester: pytest.Pytester, together: Together, limit: str, last: str, code: int
) -> None:
    TWO.with_files({"svc_a/tests/test_a.py": "def test_it():\n    assert 0\n"}).at(pytester)
    found, lines = together("svc_a", "svc_b", limit)
    assert found == code
    assert ("recall: stopped after 1 failure" in lines) == (limit == "-x")
    assert lines[-1].partition(", 1 passed")[0] == last


def test_a_scenario_of_one_is_none_of_the_other(pytester: pytest.Pytester, together: Together) -> None:
    checkout = TWO.with_files(
        {
            "svc_a/eval/cases.yaml": cases_yaml(case("one", scenario="billing"), case("two")),
            "svc_a/tests/test_a.py": "",
        }
    ).at(pytester)
    code, lines = together("svc_a", "svc_b", "--recall-scenarios=billing")
    assert code == 0
    assert set(boxes(checkout, "svc_a")) == set()  # You chose the cases.
    assert any("No regression: 1 case passes" in line for line in lines)
    code, lines = together("svc_a", "svc_b", "--recall-scenarios=biling")
    assert code == pytest.ExitCode.USAGE_ERROR


def test_marked_tests_beside_them_are_in_the_run_of_the_directory_that_they_are_of(
    pytester: pytest.Pytester, together: Together
) -> None:
    files = {name.removeprefix("svc_a/"): text for name, text in service("svc_a", failing("one")).items()}
    checkout = Project(
        {"pytest.ini": "[pytest]\n", **files, **service("svc_b", case("one")), "tests/test_a.py": MARKED}
    ).at(pytester)
    code, lines = together(".")
    assert code == 1
    assert lines[-2:] == [
        "eval: No regression: 1 of 2 cases pass; 1 new failure, 1 passed;"
        " 50 % of the last verdicts of all 2 cases pass",
        "svc_b/eval: No regression: 1 case passes; 100 % of the last verdicts of 1 case pass",
    ]
    assert len(Place(checkout.path, checkout.path / "eval").artifacts.runs()) == 1


def test_plugins_of_a_program_are_refused(pytester: pytest.Pytester) -> None:
    TWO.at(pytester)
    config = pytester.parseconfig("svc_a", "svc_b")
    config.invocation_params = pytest.Config.InvocationParams(args=(), plugins=[object()], dir=pytester.path)
    with pytest.raises(pytest.UsageError) as error:
        several.main(config)
    assert str(error.value) == (
        "`svc_a/eval` and `svc_b/eval` are run one by one, and not with plugins that a program has passed to pytest"
    )
