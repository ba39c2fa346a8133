"""Short option names: those of a project stay the project's, and elsewhere they stand for ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.plugin import names, options, recording
from tests.helpers.project import BARE, ECHOING, SETTINGS, WORKERS, Checkout, Project, case
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
GIVEN = (
    *("--model", "3", "--budget=small", "--judge", "--record", "--replay", "x", "--baselines", "a", "b"),
    *("--scenarios=s", "--dimensions", "d", "--dimensions=e"),
)
OWN = ("--recall-model=m-1", "--recall-budget", "5", "--recall-judge", "codex", "--recall-scenarios=t")
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


class TestSomebodysOwn:
    """Who else adds a short name gets it, whenever they come."""

    @pytest.mark.parametrize(
        ("place", "workers"), [*((place, ()) for place in PLACES), ("folder", ("-n", "2")), ("later", ("-n", "2"))]
    )
    def test_each_name_gets_its_own_value(self, pytester: pytest.Pytester, place: str, workers: Args) -> None:
        file, plugins = PLACES[place]
        checkout = probed({file: THEIRS}).at(pytester)
        pytester.syspathinsert()
        result = checkout.run_afresh(*plugins, "checks", *GIVEN, *OWN, *workers, day=None)
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
            "recall_scenarios": "t",
        }

    @pytest.mark.parametrize("place", PLACES)
    def test_help_shows_theirs_and_our_long_ones(self, pytester: pytest.Pytester, place: str) -> None:
        file, plugins = PLACES[place]
        checkout = probed({file: THEIRS}).at(pytester)
        pytester.syspathinsert()
        result = checkout.run_afresh(*plugins, "checks", "--help", day=None)
        assert result.ret == 0
        shown = [line.split()[0] for line in result.outlines if line.startswith("  --")]
        assert [name for name in shown if name.startswith(("--model", "--judge"))] == ["--model=THEIR_MODEL", "--judge"]
        assert {"--recall-model=SELECTOR", "--recall-judge=SELECTOR", "--appellate-judge=SELECTOR"} <= set(shown)

    def test_a_conftest_that_is_loaded_while_tests_are_collected_may_add_one(self, pytester: pytest.Pytester) -> None:
        checkout = probed({"deep/checks/conftest.py": THEIRS.partition("\n\n\n")[0]}).at(pytester)
        checkout.run("--model=m-1", day=None).assert_outcomes(passed=1)
        (checkout.path / "deep/checks/test_it.py").write_text("def test_it():\n    pass\n")
        checkout.run("--model=m-1", day=None).assert_outcomes(passed=2)
        assert told(checkout) == {"recall_model": "m-1"}

    def test_what_follows_a_flag_of_theirs_stays_a_path(self, pytester: pytest.Pytester) -> None:
        files = {"checks/conftest.py": THEIRS, "other/test_other.py": "def test_other():\n    assert False\n"}
        checkout = probed({**files, "pytest.ini": f"{SETTINGS}testpaths = other\n"}).at(pytester)
        for flag in ("--record", "--judge"):
            checkout.run(flag, "checks", day=None).assert_outcomes(passed=1)
            assert told(checkout) == {f"their_{flag[2:]}": True}

    def test_an_option_that_must_be_given_is_no_hindrance(self, pytester: pytest.Pytester) -> None:
        owner = "def pytest_addoption(parser):\n    parser.addoption('--must', required=True)\n"
        checkout = probed({"other.py": owner}).at(pytester)
        pytester.syspathinsert()
        checkout.run("-p", "other", "--must=x", "--model=m-1", day=None).assert_outcomes(passed=1)
        assert told(checkout) == {"recall_model": "m-1"}

    def test_a_mistake_is_theirs_to_tell(self, pytester: pytest.Pytester) -> None:
        result = probed({"conftest.py": THEIRS}).at(pytester).run("checks", "--model=five", day=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*error: argument --model: invalid int value: 'five'*"])


class TestNobodys:
    """Where nobody else adds it, a short name stands for ours in every place."""

    GIVEN = ("--model", "m-1", "--judge=codex", "--judge", "command:a b", "--recall-judge=claude", "--judge=python:c d")
    FOUND = {"recall_model": "m-1", "recall_judge": ["codex", "command:a b", "claude", "python:c d"]}  # noqa: RUF012

    @pytest.mark.usefixtures("every_plugin")
    @pytest.mark.parametrize(
        ("plugins", "workers"),
        [((), ()), ((), ("-n", "2")), (("-p", "recall"), ())],
        ids=["entry point", "entry point-n2", "-p recall"],
    )
    def test_on_the_command_line(self, pytester: pytest.Pytester, plugins: Args, workers: Args) -> None:
        checkout = probed().at(pytester)
        checkout.run_afresh(*plugins, *self.GIVEN, "checks", *workers, day=None).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    @WORKERS
    def test_in_addopts_and_in_the_environment(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: Args
    ) -> None:
        monkeypatch.setenv("PYTEST_ADDOPTS", "--judge claude --judge='python:c d'")
        settings = SETTINGS.replace(
            "--strict-config", "--strict-config --model m-1 --judge=codex --judge 'command:a b'"
        )
        checkout = probed({"pytest.ini": settings}).at(pytester)
        checkout.run_afresh(*workers, day=None).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    @pytest.mark.skipif(pytest.version_tuple < (8, 2), reason="pytest reads no files of arguments")
    def test_in_a_file_of_arguments(self, pytester: pytest.Pytester) -> None:
        checkout = probed({"args.txt": "\n".join((*self.GIVEN, "checks"))}).at(pytester)
        checkout.run("-v", "@args.txt", "-k", "options", day=None).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    @pytest.mark.parametrize("load", ["-p", "conftest"])
    def test_without_entry_points(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, load: str) -> None:
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.delenv("PYTEST_PLUGINS")
        files = {"conftest.py": 'pytest_plugins = ["pytest_recall.plugin"]\n'} if load == "conftest" else {}
        checkout = probed(files).at(pytester)
        plugins = ("-p", "recall") if load == "-p" else ()
        checkout.pytester.runpytest_subprocess(*plugins, *self.GIVEN).assert_outcomes(passed=1)
        assert told(checkout) == self.FOUND

    @pytest.mark.parametrize(
        ("given", "found"),
        [
            (("checks", "--record"), {"recall_record": ""}),
            (("--record=new", "checks"), {"recall_record": "new"}),
            (("checks", "--record", "new"), {"recall_record": "new"}),
            (("checks", "--replay"), {"recall_replay": ""}),
            (("--replay", "--replay-max-age", "3", "checks"), {"recall_replay": "", "recall_replay_max_age": 3}),
            (("--replay=deck", "checks"), {"recall_replay": "deck"}),
            (("--replay", "deck", "checks"), {"recall_replay": "deck"}),
            (("--budget", "5", "checks", "--reset-on-model-swap"), {
                "recall_budget": "5", "recall_reset_on_model_swap": True
            }),
            (("--scenarios=a,b", "--dimensions", "c", "checks"), {
                "recall_scenarios": "a,b", "recall_dimensions": "c"
            }),
            (("--appellate-judge", "codex", "checks"), {"recall_appellate_judge": "codex"}),
        ],
        ids=" ".join,
    )  # fmt: skip
    def test_with_and_without_a_value(self, pytester: pytest.Pytester, given: Args, found: dict[str, Any]) -> None:
        checkout = probed({"deck/.keep": ""}).at(pytester)
        checkout.run(*given, day=None).assert_outcomes(passed=1)
        assert told(checkout) == found

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

    def test_behind_two_dashes_it_is_a_path(self, pytester: pytest.Pytester) -> None:
        result = probed().at(pytester).run("--model", "m-1", "--", "--model", day=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        # Some versions of argparse forget that two dashes were there, with or without us.
        assert "--recall-model" not in result.stderr.str()
        assert any(line.endswith(": --model") for line in result.errlines)

    def test_beside_a_path_that_is_no_text(self, pytester: pytest.Pytester) -> None:
        checkout = probed().at(pytester)
        script = 'import pathlib, pytest, sys\nsys.exit(pytest.main([pathlib.Path("checks"), "--model", "m-1"]))\n'
        assert checkout.pytester.runpython(pytester.makepyfile(script=script)).ret == 0
        assert told(checkout) == {"recall_model": "m-1"}

    def test_without_its_value_it_is_a_mistake(self, pytester: pytest.Pytester) -> None:
        result = probed().at(pytester).run("checks", "--model", day=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*error: argument --model: expected one argument*"])

    @pytest.mark.parametrize("conftest", ["", "raise RuntimeError\n"], ids=["whole", "broken"])
    def test_help_shows_both(self, pytester: pytest.Pytester, conftest: str) -> None:
        checkout = probed({"conftest.py": conftest, "pytest.ini": "[pytest]\n"}).at(pytester)
        result = checkout.run_afresh("--help", "--model", "x", day=None)
        assert result.ret == 0
        shown = {line.split()[0].partition("=")[0] for line in result.outlines if line.startswith("  --")}
        assert {name for name in shown if name in options.SHORT} == options.SHORT
        assert {f"--recall-{name[2:]}" for name in options.SHORT} <= shown

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("eval", "--budget"), "argument --budget: expected one argument"),
            (("eval", "--batch=x"), "argument --batch: ignored explicit argument 'x'"),
            (("eval", "--recall-budget"), "argument --recall-budget: expected one argument"),
            (("eval", "--model=m", "--recall-batch=x"), "argument --recall-batch: ignored explicit argument 'x'"),
            (("eval", "--budget=3", "--recall-budget"), "argument --recall-budget: expected one argument"),
            pytest.param(
                ("@args.txt",),
                "argument --budget: expected one argument",
                marks=pytest.mark.skipif(pytest.version_tuple < (8, 2), reason="pytest reads no files of arguments"),
            ),
        ],
    )
    def test_a_mistake_is_told_by_the_name_that_was_typed(
        self, pytester: pytest.Pytester, args: Args, said: str
    ) -> None:
        checkout = ECHOING.with_cases(case("a")).with_files({"args.txt": "eval\n--budget\n"}).at(pytester)
        result = checkout.run_afresh(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert [line.partition("error: ")[2] for line in result.errlines if "error: " in line] == [said]

    def test_a_mistake_with_an_option_of_somebody_else_is_his(self, pytester: pytest.Pytester) -> None:
        result = probed({"conftest.py": THEIRS}).at(pytester).run_afresh("--budget=medium", "--memory", "x", day=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*error: argument --budget: invalid choice: 'medium'*"])

    def test_every_short_name_has_a_long_one(self) -> None:
        class Parser:
            long: list[str] = []  # noqa: RUF012

            def getgroup(self, name: str, description: str) -> Parser:
                return self

            def addoption(self, name: str, **about: Any) -> None:
                self.long.append(name)

            def addini(self, *about: Any, **more: Any) -> None:
                pass

        parser: Any = Parser()
        options.add(parser)
        recording.add(parser)
        assert all(name.startswith("--recall-") for name in parser.long)
        assert {f"--recall-{name[2:]}" for name in options.SHORT} <= set(parser.long)

    def test_an_eval_set_runs_by_them(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(case("a"), case("b", scenario="two")).at(pytester)
        checkout.run("--model", "m-1", "--scenarios", "two", "--recall-update", "eval").assert_outcomes(passed=1)
        assert {name: row.last_model for name, row in checkout.state().items()} == {"b": "m-1"}


class TestEarlyReplay:
    """`--replay` keeps conftest files from the network if it is ours, and only then."""

    CALLING = "httpx2_sync('early')\n\n\n"
    OWNER = "def pytest_addoption(parser):\n    parser.addoption('--replay', action='store_true')\n\n\n"
    PLAIN = agent("return httpx2_sync(question)")

    def test_a_conftest_that_owns_it_calls_whom_it_likes(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        checkout = talking(upstream, self.CALLING + self.OWNER + self.PLAIN).with_cases(asking("a")).at(pytester)
        checkout.run("--replay", "eval").assert_outcomes(passed=1)
        assert upstream.prompts == ["a", "early"]

    def test_so_does_one_in_a_project_without_an_eval_directory(
        self, pytester: pytest.Pytester, upstream: Upstream
    ) -> None:
        project = talking(upstream, self.CALLING)
        conftest = 'pytest_plugins = ["owner"]\n' + project.files["eval/conftest.py"]
        project = project.without("eval/conftest.py").with_files({"conftest.py": conftest, "owner.py": self.OWNER})
        checkout = project.with_files({"test_it.py": "def test_it():\n    pass\n"}).at(pytester)
        pytester.syspathinsert()
        checkout.run("--replay", day=None).assert_outcomes(passed=1)
        assert upstream.prompts == ["early"]

    def test_it_ends_as_soon_as_somebody_has_the_name(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        files = {"conftest.py": 'pytest_plugins = ["owner"]\n', "owner.py": self.OWNER}
        late = "def pytest_configure():\n    httpx2_sync('configure')\n\n\n"
        checkout = talking(upstream, late + self.PLAIN).with_cases(asking("a")).with_files(files).at(pytester)
        pytester.syspathinsert()
        checkout.run_afresh("--replay", "eval").assert_outcomes(passed=1)
        assert upstream.prompts == ["a", "configure"]

    @pytest.mark.parametrize(
        ("source", "args"),
        [
            ("LIKELY = '--replay', 'addoption'\n\n\n", ("--replay", "eval")),
            (OWNER.replace("--replay", "--budget"), ("eval", "--budget", "--replay")),
        ],
        ids=["likely", "another one"],
    )
    def test_where_a_conftest_might_have_had_it_it_begins_after_them(
        self, pytester: pytest.Pytester, upstream: Upstream, source: str, args: Args
    ) -> None:
        late = "def pytest_configure():\n    httpx2_sync('configure')\n\n\n"
        project = talking(upstream, source + late + self.PLAIN).with_cases(asking("a"))
        result = project.at(pytester).run_afresh(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert [line for line in result.errlines if "called outside of any case" in line]
        assert upstream.count == 0

    @pytest.mark.parametrize("args", [("--recall-replay", "eval"), ("--replay",), ("--replay=eval/cassettes", "eval")])
    def test_ours_begins_before_them(self, pytester: pytest.Pytester, upstream: Upstream, args: Args) -> None:
        files = {"pytest.ini": f"{SETTINGS}testpaths = eval\n", "eval/cassettes/.keep": ""}
        checkout = talking(upstream, self.CALLING + self.PLAIN).with_cases(asking("a")).with_files(files).at(pytester)
        result = checkout.run_afresh(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert upstream.count == 0


def test_a_file_of_arguments_keeps_its_order(tmp_path: Path) -> None:
    path = tmp_path / "args.txt"
    path.write_text("--model\nx\na\n--flag=1\n")
    given = ["b", "-k", "c", f"@{path}", "-v", "d", "--", "-e"]
    assert names.with_files(given) == ["b", "-k", "c", "--model", "x", "a", "--flag=1", "-v", "d", "--", "-e"]
