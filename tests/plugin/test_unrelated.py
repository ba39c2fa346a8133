"""Suites that the plugin is not switched on for, and suites without an eval case: it does nothing there."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.helpers.project import BARE, ECHOING, SETTINGS, Checkout, case, cases_yaml, crashing, row

Args = tuple[str, ...]
FEW_PLUGINS = "few_plugins"
MARKED = """\
import pytest


@pytest.mark.recall("ordinary", scenario="one")
def test_marked(judge_contains, recall_kind):
    with recall_kind("judge"):
        pass


@pytest.mark.recall("asks-a-model")
def test_asks(judge_rubric):
    raise AssertionError("a model would have been asked")
"""

SUITE = BARE.with_files(
    {
        "test_unrelated.py": """\
import pytest


def test_passes():
    pass


@pytest.mark.parametrize("number", [1, 2])
def test_fails(number):
    assert number == 1


@pytest.mark.skip(reason="not now")
def test_skipped():
    pass
""",
        "data.yaml": "not: a case\n",
        "config/cases.yaml": "{{ a template }}\n",
        "rows.jsonl": "nor this\n",
    }
)


def said(result: pytest.RunResult) -> list[str]:
    """Return the lines of the output that should not differ."""
    lines = [line for line in [*result.outlines, *result.errlines] if not line.startswith("plugins: ")]
    return [re.sub(r"in [0-9.]+s", "in a while", line) for line in lines]


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs load the plugin by its entry point without using it, beside few others."""
    monkeypatch.setenv("PYTEST_PLUGINS", FEW_PLUGINS)


@pytest.mark.usefixtures("off")
class TestOff:
    """Installed and not switched on, the plugin reads, collects, patches and writes nothing."""

    @pytest.mark.parametrize("args", [("-v", "-k", "fails"), ("-q", "--collect-only"), ("--fixtures",)])
    def test_the_output_is_the_same_without_the_plugin(self, pytester: pytest.Pytester, args: Args) -> None:
        self.assert_the_same(SUITE.at(pytester), args)

    def test_so_it_is_beside_all_that_is_installed(self, pytester: pytest.Pytester, switched_off: None) -> None:
        self.assert_the_same(SUITE.at(pytester), ())

    @staticmethod
    def assert_the_same(checkout: Checkout, args: Args) -> None:
        """Assert that a run says the same with the plugin and without."""
        ours = checkout.run("-p", "no:cacheprovider", *args, day=None)
        theirs = checkout.run("-p", "no:cacheprovider", "-p", "no:recall", *args, day=None)
        if args == ("--fixtures",):
            assert set(said(theirs)) < set(said(ours))
        else:
            assert said(ours) == said(theirs)
            assert "recall" not in "\n".join(said(ours))
        assert ours.ret == theirs.ret

    def test_files_of_evals_are_left_alone(self, pytester: pytest.Pytester) -> None:
        evals = ECHOING.with_cases(case("a"), crashing("b")).with_state(a=row(2)).files
        checkout = SUITE.with_files({**evals, "eval/recall.yaml": "<<<<<<< broken\n"}).at(pytester)
        before = {path: path.read_bytes() for path in checkout.path.rglob("*") if path.is_file()}
        result = checkout.run("-p", "no:cacheprovider", "-n1", day=None)
        result.assert_outcomes(passed=2, failed=1, skipped=1)
        after = {path: path.read_bytes() for path in checkout.path.rglob("*") if path.is_file()}
        assert {path: text for path, text in after.items() if "__pycache__" not in path.parts} == before
        assert "recall" not in "\n".join(said(result)).replace("recall-", "")

    def test_nothing_of_ours_is_imported_but_the_plugin(self, pytester: pytest.Pytester, switched_off: None) -> None:
        checkout = (
            ECHOING.with_cases(case("a")).with_files({"test_unit.py": "def test_unit():\n    pass\n"}).at(pytester)
        )
        script = (
            "import sys, pytest\n"
            "code = pytest.main(['-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', '-p', 'no:rerunfailures',"
            " '-p', 'no:hypothesispytest', '-p', 'no:asyncio'])\n"
            "print(sorted(name for name in sys.modules if name.startswith(('pytest_recall', 'pydantic', 'yaml'))))\n"
            "sys.exit(code)\n"
        )
        result = checkout.pytester.run(sys.executable, "-c", script)
        assert result.ret == 0
        plugin = [f"pytest_recall.plugin.{name}" for name in ("fixtures", "stash", "switch")]
        assert result.outlines[-1] == str(["pytest_recall", "pytest_recall.hookspec", "pytest_recall.plugin", *plugin])

    def test_marked_tests_are_ordinary_tests(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_files({"eval/rubric.yaml": "owner: us\n", "test_marked.py": MARKED}).at(pytester)
        result = checkout.run("test_marked.py", "-rs", day=None)
        result.assert_outcomes(passed=1, skipped=1)
        assert [line for line in result.outlines if "pytest-recall is off; add `-p recall`" in line]
        assert not checkout.artifacts.folder.exists()
        assert checkout.state_text() is None

    def test_an_option_of_a_conftest_is_its_own(self, pytester: pytest.Pytester) -> None:
        own = "def pytest_addoption(parser):\n    parser.addoption('--model', action='store_true')\n"
        checkout = BARE.with_files({"conftest.py": own, "test_it.py": "def test_it():\n    pass\n"}).at(pytester)
        checkout.run("--model", day=None).assert_outcomes(passed=1)

    def test_a_file_that_looks_like_one_is_named_where_pytest_cannot_collect_it(
        self, pytester: pytest.Pytester
    ) -> None:
        checkout = BARE.with_files({"fixtures/login.cases.jsonl": '{"a": 1}\n'}).at(pytester)
        result = checkout.run("fixtures/login.cases.jsonl", day=None)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert result.errlines[0].startswith("ERROR: ")
        assert [line for line in result.errlines if "for pytest-recall, which is off" in line]


class TestSwitch:
    """Each way to switch the plugin on."""

    @pytest.fixture
    def checkout(self, pytester: pytest.Pytester, off: None) -> Checkout:
        """A set of one case."""
        return ECHOING.with_cases(case("a")).at(pytester)

    def test_on_the_command_line(self, checkout: Checkout) -> None:
        checkout.run("-precall", "-n1").assert_outcomes(passed=1)

    def test_on_the_command_line_beside_all_that_is_installed(self, checkout: Checkout, switched_off: None) -> None:
        checkout.run("-p", "recall").assert_outcomes(passed=1)

    @pytest.mark.parametrize(
        ("line", "workers"),
        [
            ("addopts = -p recall --recall-date 2026-03-10", ()),
            ("recall = true\naddopts = --model m", ("-n1",)),
        ],
    )
    def test_in_the_ini_file(self, checkout: Checkout, line: str, workers: Args) -> None:
        (checkout.path / "pytest.ini").write_text(f"[pytest]\n{line}\n")
        checkout.run(*workers, day=None).assert_outcomes(passed=1)
        assert checkout.boxes()["a"] == 1

    @pytest.mark.parametrize(
        ("name", "value", "workers"),
        [
            ("PYTEST_ADDOPTS", "-p recall", ("-n1",)),
            ("PYTEST_PLUGINS", f"{FEW_PLUGINS},cacheprovider,recall", ()),
        ],
    )
    def test_in_the_environment(
        self, checkout: Checkout, monkeypatch: pytest.MonkeyPatch, name: str, value: str, workers: Args
    ) -> None:
        monkeypatch.setenv(name, value)
        checkout.run(*workers).assert_outcomes(passed=1)
        checkout.run("-p", "no:recall", day=None).assert_outcomes()

    @pytest.mark.parametrize("args", [("-p", "recall"), ("-o", "recall=true", "-n1")], ids=" ".join)
    def test_its_modules_are_imported_without_rewriting(
        self, checkout: Checkout, switched_off: None, args: Args
    ) -> None:
        """Python's own code of a module is read in a fraction of the time that pytest takes to read what it rewrote."""
        (checkout.path / "conftest.py").write_text(
            "import json\nimport sys\nfrom pathlib import Path\n"
            "def pytest_unconfigure():\n"
            "    ours = {n: m for n, m in sys.modules.items() if n.startswith('pytest_recall')}\n"
            "    rewritten = sorted(n for n, m in ours.items() if type(m.__loader__).__name__ != 'SourceFileLoader')\n"
            "    with Path('imported.txt').open('a') as file:\n"
            "        file.write(json.dumps([len(ours) > 50, rewritten]) + '\\n')\n"
        )
        script = (
            "import sys\n"
            "import pytest\n"
            f"code = pytest.main({['eval', '-p', 'no:asyncio', *args]})\n"
            "assert 'OwnModules' not in str(sys.meta_path)\n"
            "sys.exit(code)\n"
        )
        assert checkout.pytester.run(sys.executable, "-c", script).ret == 0
        lines = [json.loads(line) for line in (checkout.path / "imported.txt").read_text().splitlines()]
        assert [are_many for are_many, _ in lines] == [True] * (2 if "-n1" in args else 1)
        # What pytest loads as a plugin it may rewrite, and does with some of its releases.
        plugin = (f"pytest_recall.plugin{name}" for name in ("", ".stash", ".switch"))
        first = {"pytest_recall", "pytest_recall.hookspec", *plugin}
        assert all(set(rewritten) <= first for _, rewritten in lines)

    def test_an_override_is_the_last_word(self, checkout: Checkout) -> None:
        (checkout.path / "pytest.ini").write_text("[pytest]\nrecall = true\n")
        assert checkout.run("-o", "recall=false", day=None).ret == pytest.ExitCode.NO_TESTS_COLLECTED
        assert checkout.state_text() is None


class TestForeignFiles:
    """On, the plugin passes over what only looks like a case file, and says so."""

    FILES = {  # noqa: RUF012
        "tests/fixtures/login.cases.jsonl": '{"a": 1}\n',
        "tests/test_good.py": "def test_good():\n    pass\n",
        "other/eval/cases.yaml": "{{ a template }}\n",
    }
    SAID = (
        "recall: not run, as no rubric.yaml is in a folder above: other/eval/cases.yaml,"
        " tests/fixtures/login.cases.jsonl; name the file to run it, or write a rubric.yaml as `recall init` does"
    )

    @pytest.mark.parametrize("args", [(), ("-q", "-n1")], ids=["plain", "quiet-n1"])
    def test_it_is_no_error(self, pytester: pytest.Pytester, args: Args) -> None:
        result = BARE.with_files(self.FILES).at(pytester).run(*args, day=None)
        result.assert_outcomes(passed=1)
        assert result.outlines.count(self.SAID) == 1

    def test_beside_an_eval_set_of_ours(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(case("a")).with_files(self.FILES).at(pytester)
        result = checkout.run()
        result.assert_outcomes(passed=2)
        assert result.outlines.count(self.SAID) == 1

    @pytest.mark.parametrize(
        ("args", "setting"),
        [
            (("checks/flows.cases.yaml",), ""),
            (("checks/flows.cases.yaml::a",), ""),
            ((), "recall_files = checks/*.yaml"),
            ((), "recall_dir = checks"),
            (("--recall-dir", "checks", "-n1"), ""),
        ],
    )
    def test_what_is_named_is_run(self, pytester: pytest.Pytester, args: Args, setting: str) -> None:
        files = {
            "checks/flows.cases.yaml": cases_yaml(case("a")),
            "checks/conftest.py": ECHOING.files["eval/conftest.py"],
            "pytest.ini": f"{SETTINGS}{setting}\n",
        }
        checkout = BARE.with_files(files).at(pytester)
        checkout.run(*args).assert_outcomes(passed=1)


def test_a_project_with_a_schedule_is_silent_where_no_case_is_collected(pytester: pytest.Pytester) -> None:
    files = {"eval/rubric.yaml": "owner: us\n", "tests/test_unit.py": "def test_unit():\n    pass\n"}
    checkout = BARE.with_files(files).at(pytester)
    result = checkout.run("tests", day=None)
    result.assert_outcomes(passed=1)
    assert "recall" not in "\n".join(said(result)).replace("recall-", "")
    assert not checkout.artifacts.folder.exists()


@pytest.mark.parametrize("workers", [("-n1",)], ids=["n1"])
def test_it_is_as_silent_with_workers(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    files = {"eval/rubric.yaml": "owner: us\n", "tests/test_unit.py": "def test_unit():\n    pass\n"}
    checkout = BARE.with_files(files).at(pytester)
    result = checkout.run("tests", *workers, day=None)
    result.assert_outcomes(passed=1)
    assert "scorecard" not in result.stdout.str()
    assert not checkout.artifacts.folder.exists()


def test_a_broken_schedule_does_not_stop_a_suite_without_cases(pytester: pytest.Pytester) -> None:
    files = {"eval/recall.yaml": "<<<<<<< ours\n", "tests/test_unit.py": "def test_unit():\n    pass\n"}
    checkout = BARE.with_files(files).at(pytester)
    checkout.run("tests", day=None).assert_outcomes(passed=1)
