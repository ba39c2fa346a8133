"""The name that each option has in a project: eleven are short, unless the project leaves these to others."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from pytest_recall.plugin import switch
from tests.helpers import command
from tests.helpers.project import BARE, ECHOING, SETTINGS, Checkout, Project, case
from tests.helpers.talking import agent, asking, talking
from tests.helpers.upstream import Upstream

Args = tuple[str, ...]
PROBE = """\
import json
import pathlib


def test_options(pytestconfig):
    told = {name: value for name, value in vars(pytestconfig.option).items() if name.startswith(("recall_", "their_"))}
    (pytestconfig.rootpath / "told.json").write_text(json.dumps(told))
"""
THEIRS = """\
def pytest_addoption(parser):
    parser.addoption("--model", dest="their_model", type=int)
    parser.addoption("--budget", dest="their_budget", choices=["big", "small"])
    parser.addoption("--judge", dest="their_judge", action="store_true")
    parser.addoption("--record", dest="their_record", action="store_true")
    parser.addoption("--replay", dest="their_replay")
    parser.addoption("--baselines", dest="their_baselines", nargs=2)
    parser.addoption("--scenarios")
    parser.addoption("--dimensions", dest="their_dimensions", action="append")


def pytest_configure(config):
    config.option.their_scenarios = config.getoption("--scenarios")
"""
LEFT = f"{SETTINGS}recall_short_options = false\n"
GIVEN = (
    *("--model", "3", "--budget=small", "--judge", "--record", "--replay", "x", "--baselines", "a", "b"),
    *("--scenarios=s", "--dimensions", "d", "--dimensions=e"),
)
OWN = ("--recall-model=m-1", "--recall-budget", "5", "--recall-judge", "codex", "--recall-seed=t")
PLACES: dict[str, tuple[str, Args]] = {
    "conftest": ("conftest.py", ()),
    "folder": ("checks/conftest.py", ()),
    "earlier": ("other.py", ("-p", "other", "-p", "recall")),
    "later": ("other.py", ("-p", "recall", "-p", "other")),
}


def probed(files: dict[str, str] | None = None) -> Project:
    """Return a project with a test that writes down which options it finds."""
    return BARE.with_files({"checks/test_probe.py": PROBE, **(files or {})})


def told(checkout: Checkout) -> dict[str, Any]:
    """Return the options that the test has found, and no default of ours."""
    path = checkout.path / "told.json"
    loaded = json.loads(path.read_text())
    path.unlink()
    return {name: value for name, value in loaded.items() if value not in (None, False)}


def named(result: pytest.RunResult) -> set[str]:
    """Return the options that the help of pytest names."""
    lines = (line for line in result.outlines if line.startswith("  --"))
    return {name.split("=")[0].split(" ")[0] for line in lines for name in line.split("  ")[1].split(", ")}


class TestTakenByAPlugin:
    """A name that a plugin has as well is refused, given or not: which of the two is meant is not known."""

    @pytest.fixture(autouse=True)
    def _importable(self, pytester: pytest.Pytester) -> None:
        pytester.syspathinsert()

    @pytest.mark.parametrize("given", [("--model", "3"), ()], ids=["given", "not given"])
    @pytest.mark.parametrize("place", ["earlier", "later"])
    def test_it_is_one_sentence(self, pytester: pytest.Pytester, place: str, given: Args) -> None:
        file, plugins = PLACES[place]
        theirs = "def pytest_addoption(parser):\n    parser.addoption('-M', '--model', '--their-model')\n"
        result = probed({file: theirs}).at(pytester).run(*plugins, "checks", *given, day=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert [line for line in result.errlines if line] == [
            "ERROR: --model: an option of pytest-recall and of another plugin; set `recall_short_options = false`, and"
            " that of pytest-recall is --recall-model"
        ]

    @pytest.mark.parametrize(
        ("place", "workers"),
        [(place, ("-n1",) if place == "folder" else ()) for place in PLACES],
        ids=PLACES,
    )
    def test_the_setting_leaves_all_of_them(self, pytester: pytest.Pytester, place: str, workers: Args) -> None:
        file, plugins = PLACES[place]
        checkout = probed({file: THEIRS, "pytest.ini": LEFT}).at(pytester)
        result = checkout.run(*plugins, "checks", *GIVEN, *OWN, *workers, day=None)
        result.assert_outcomes(passed=1)
        assert told(checkout) == {
            "their_model": 3,
            "their_budget": "small",
            "their_judge": True,
            "their_record": True,
            "their_replay": "x",
            "their_baselines": ["a", "b"],
            "their_scenarios": "s",
            "their_dimensions": ["d", "e"],
            "recall_model": "m-1",
            "recall_budget": "5",
            "recall_judge": ["codex"],
            "recall_seed": "t",
        }


class TestTakenByAConftest:
    """A conftest file comes after our options: that it adds one of them is told in one sentence."""

    SAID = (
        "--model: an option of pytest-recall and of a conftest.py; set `recall_short_options = false`, and that of"
        " pytest-recall is --recall-model"
    )

    @pytest.mark.parametrize(
        ("file", "given"),
        [("conftest.py", ("--help",)), ("checks/conftest.py", ()), ("checks/conftest.py", ("--model", "x"))],
    )
    def test_as_pytest_starts(self, pytester: pytest.Pytester, file: str, given: Args) -> None:
        if given == ("--help",) and pytest.version_tuple < (9,):
            pytest.skip("pytest cannot print its help there: it makes the parser again, and fails as it did")
        result = probed({file: THEIRS}).at(pytester).run("checks", *given, day=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert [line for line in result.errlines if line] == [f"ERROR: {self.SAID}"]

    @pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest takes no notice of it there")
    def test_as_it_collects(self, pytester: pytest.Pytester) -> None:
        result = probed({"deep/checks/conftest.py": THEIRS, "deep/checks/test_it.py": PROBE}).at(pytester).run(day=None)
        assert result.ret != pytest.ExitCode.OK
        assert self.SAID in (result.stdout.str() + result.stderr.str()).splitlines()
        assert "Traceback" not in result.stdout.str()

    def test_another_clash_stays_as_it_is(self, pytester: pytest.Pytester) -> None:
        twice = "def pytest_addoption(parser):\n    parser.addoption('--maxfail')\n"
        result = probed({"conftest.py": twice}).at(pytester).run("checks", day=None)
        assert result.ret != pytest.ExitCode.OK
        assert "--maxfail" in result.stderr.str()
        assert "pytest-recall" not in result.stderr.str()


class TestFree:
    """Where no other plugin adds it, a short name is an option in every place."""

    GIVEN = ("--model", "m-1", "--judge=codex", "--judge", "command:a b", "--judge=claude", "--judge=python:c d")
    FOUND = {"recall_model": "m-1", "recall_judge": ["codex", "command:a b", "claude", "python:c d"]}  # noqa: RUF012

    @pytest.mark.usefixtures("every_plugin")
    @pytest.mark.parametrize("plugins", [(), ("-p", "recall")], ids=["environment", "-p recall"])
    def test_on_the_command_line(self, pytester: pytest.Pytester, plugins: Args) -> None:
        checkout = probed().at(pytester)
        checkout.run(*plugins, *self.GIVEN, "checks", day=None).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    def test_on_the_command_line_with_workers(self, pytester: pytest.Pytester) -> None:
        checkout = probed().at(pytester)
        checkout.run(*self.GIVEN, "checks", "-n1", day=None).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    def test_in_addopts_and_in_the_environment(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYTEST_ADDOPTS", "--judge claude --judge='python:c d'")
        settings = SETTINGS.replace(
            "--strict-config", "--strict-config --model m-1 --judge=codex --judge 'command:a b'"
        )
        checkout = probed({"pytest.ini": settings}).at(pytester)
        checkout.run(day=None).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    @pytest.mark.skipif(pytest.version_tuple < (8, 2), reason="pytest reads no files of arguments")
    def test_in_a_file_of_arguments(self, pytester: pytest.Pytester) -> None:
        checkout = probed({"args.txt": "\n".join((*self.GIVEN, "checks"))}).at(pytester)
        checkout.run("-v", "@args.txt", "-k", "options", day=None).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    def test_without_entry_points(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PYTEST_PLUGINS")
        checkout = probed().at(pytester)
        checkout.run("-p", "recall", *self.GIVEN, day=None).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    def test_named_by_a_conftest_it_has_them_as_well(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("PYTEST_PLUGINS")
        files = {
            "conftest.py": 'pytest_plugins = ["pytest_recall.plugin"]\n',
            "pytest.ini": f"{SETTINGS}recall = true\n",
        }
        checkout = probed(files).at(pytester)
        # Some releases of pytest warn of what this process has imported already.
        imported = ("-W", "ignore:Module already imported")
        checkout.run("--model=m-1", *imported, day=None).assert_outcomes(passed=1)
        assert told(checkout) == {"recall_model": "m-1"}

    VALUES: tuple[tuple[Args, dict[str, Any]], ...] = (
            (("checks", "--record"), {"recall_record": ""}),
            (("--record=new", "--budget", "5", "checks", "--reset-on-model-swap"), {
                "recall_record": "new", "recall_budget": "5", "recall_reset_on_model_swap": True
            }),
            (("checks", "--record", "new", "--appellate-judge", "codex"), {
                "recall_record": "new", "recall_appellate_judge": "codex"
            }),
            (("--replay", "--recall-replay-max-age", "3", "checks"), {"recall_replay": "", "recall_replay_max_age": 3}),
            (("--replay=deck", "checks"), {"recall_replay": "deck"}),
            (("--replay", "deck", "checks"), {"recall_replay": "deck"}),
            (("--scenarios=a,b", "--dimensions", "c", "checks"), {
                "recall_scenarios": "a,b", "recall_dimensions": "c"
            }),
    )  # fmt: skip

    def test_with_and_without_a_value(self, pytester: pytest.Pytester) -> None:
        probed({"deck/.keep": ""}).at(pytester)
        for given, found in self.VALUES:
            config = pytester.parseconfig(*given)
            options = {name: value for name, value in vars(config.option).items() if name.startswith("recall_")}
            assert {name: value for name, value in options.items() if value not in (None, False)} == found, given
            assert config.args == ["checks"], given

    @pytest.mark.parametrize("there", [False, True], ids=["a name", "a folder"])
    def test_its_value_is_no_path(self, pytester: pytest.Pytester, there: bool) -> None:
        files = {
            "pytest.ini": f"{SETTINGS}testpaths = checks\n",
            "checks/conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--deep', dest='their_deep')\n",
            "other/test_other.py": "def test_other():\n    assert False\n",
            **({"x/test_x.py": "def test_x():\n    assert False\n"} if there else {}),
        }
        checkout = probed(files).at(pytester)
        checkout.run("--model", "x", "--deep=3", day=None).assert_outcomes(passed=1)
        assert told(checkout) == {"recall_model": "x", "their_deep": "3"}

    def test_beside_a_path_that_is_no_text(self, pytester: pytest.Pytester) -> None:
        checkout = probed().at(pytester)
        # In a process of its own, as pytester would make texts of them.
        given = '[pathlib.Path("checks"), "--model", "m-1", "-p", "no:rerunfailures"]'
        pytester.makepyfile(script=f"import pathlib, pytest, sys\nsys.exit(pytest.main({given}))\n")
        assert command.apart(checkout.path, "script", env=os.environ).code == 0
        assert told(checkout) == {"recall_model": "m-1"}

    @pytest.mark.parametrize("conftest", ["", "raise RuntimeError\n"], ids=["whole", "broken"])
    def test_help_has_them(self, pytester: pytest.Pytester, conftest: str) -> None:
        checkout = probed({"conftest.py": conftest, "pytest.ini": "[pytest]\n"}).at(pytester)
        result = checkout.run("--help", "--model", "x", day=None)
        assert result.ret == 0
        assert named(result) >= {f"--{name}" for name in switch.SHORT}

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("eval", "--model"), "argument --model: expected one argument"),
            (("eval", "--recall-batch=x"), "argument --recall-batch: ignored explicit argument 'x'"),
            pytest.param(
                ("@args.txt",),
                "argument --budget: expected one argument",
                marks=pytest.mark.skipif(pytest.version_tuple < (8, 2), reason="pytest reads no files of arguments"),
            ),
        ],
    )
    def test_a_mistake_is_told_by_pytest(self, pytester: pytest.Pytester, args: Args, said: str) -> None:
        checkout = ECHOING.with_cases(case("a")).with_files({"args.txt": "eval\n--budget\n"}).at(pytester)
        result = checkout.run(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert [line.partition("error: ")[2] for line in result.errlines if "error: " in line] == [said]

    def test_an_eval_set_runs_by_them(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(case("a"), case("b", scenario="two")).at(pytester)
        checkout.run("--model", "m-1", "--scenarios", "two", "--recall-update", "eval").assert_outcomes(passed=1)
        assert list(checkout.state()) == ["b"]
        assert checkout.journal().header.model == "m-1"


class TestOneName:
    """An option has one name in a project, and code has one for it in all projects."""

    def test_help_has_the_names_of_the_project(self, pytester: pytest.Pytester) -> None:
        checkout = probed().at(pytester)
        short = named(checkout.run("--help", day=None))
        (checkout.path / "pytest.ini").write_text(LEFT)
        long = named(checkout.run("--help", day=None))
        assert long - short == {f"--recall-{name}" for name in switch.SHORT}
        assert short - long == {f"--{name}" for name in switch.SHORT}

    def test_code_has_one_name(self, pytester: pytest.Pytester) -> None:
        checkout = probed().at(pytester)
        short = pytester.parseconfig("--reset-on-model-swap", "--model=m")
        (checkout.path / "pytest.ini").write_text(LEFT)
        long = pytester.parseconfig("--recall-reset-on-model-swap", "--recall-model=m")
        for config in (short, long):
            found = (config.getoption("recall_reset_on_model_swap"), config.getoption("recall_model"))
            assert found == (True, "m")


class TestEarlyReplay:
    """`--replay` keeps conftest files from the network."""

    CALLING = "httpx2_sync('early')\n\n\n"
    OWNER = "def pytest_addoption(parser):\n    parser.addoption('--replay', action='store_true')\n\n\n"
    PLAIN = agent("return httpx2_sync(question)")

    def test_of_a_conftest_it_calls_what_it_likes(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        project = talking(upstream, self.CALLING + self.OWNER + self.PLAIN).with_cases(asking("a"))
        project.with_files({"pytest.ini": LEFT}).at(pytester).run("--replay", "eval").assert_outcomes(passed=1)
        assert upstream.prompts == ["a", "early"]

    @pytest.mark.parametrize(
        ("settings", "args"),
        [
            (SETTINGS, ("--replay",)),
            (SETTINGS, ("--replay=eval/cassettes", "eval")),
            (LEFT, ("--recall-replay", "eval")),
        ],
    )
    def test_it_begins_before_them(
        self, pytester: pytest.Pytester, upstream: Upstream, settings: str, args: Args
    ) -> None:
        files = {"pytest.ini": f"{settings}testpaths = eval\n", "eval/cassettes/.keep": ""}
        checkout = talking(upstream, self.CALLING + self.PLAIN).with_cases(asking("a")).with_files(files).at(pytester)
        result = checkout.run(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert upstream.count == 0
