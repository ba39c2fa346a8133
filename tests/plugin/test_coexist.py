"""Coexistence: pytest's own switches, and other plugins, beside eval cases."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, Checkout, case, crashing, failing

SET = ECHOING.with_cases(case("a"), failing("b"), crashing("c"))
RESULT = {"a": "passed", "b": "failed", "c": "error"}


# Beside whatever else is installed, too.
@pytest.mark.usefixtures("every_plugin")
@pytest.mark.parametrize(
    "args",
    [
        ("-p", "no:terminal"),
        ("-qq", "--tb=no", "-rA", "--capture=tee-sys"),
        (
            *("-vv", "-p", "no:xdist", "--full-trace", "--maxfail=5", "--showlocals"),
            *("--durations=0", "--color=yes", "-s", "--setup-show"),
        ),
    ],
    ids=" ".join,
)
def test_the_run_is_the_same(pytester: pytest.Pytester, args: tuple[str, ...]) -> None:
    checkout = SET.at(pytester)
    result = checkout.run("eval", *args)
    assert_the_same(checkout, result)
    if "no:terminal" not in args:
        said = [line for line in result.outlines if "got “b”" in line]
        assert len(said) == 1, "each failure is shown once"
    if "--durations=0" in args:
        result.stdout.fnmatch_lines(["*s call     eval/cases.yaml::a"])


def test_so_it_is_on_a_worker(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    args = ("-p", "no:cacheprovider", "-n1", "--dist=loadfile", "--import-mode=importlib", "-q", "--tb=native")
    assert_the_same(checkout, checkout.run("eval", *args, "-W", "error"))


def assert_the_same(checkout: Checkout, result: pytest.RunResult) -> None:
    """Assert that the cases ended as they do without any option."""
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert checkout.outcomes() == RESULT
    assert checkout.boxes() == {"a": 1, "b": 1}
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_the_short_name_loads_the_plugin(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).at(pytester)
    result = checkout.run("-p", "recall", "eval")
    result.assert_outcomes(passed=1)
    assert checkout.boxes() == {"a": 1}


def test_it_can_be_switched_off(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    assert checkout.run("eval", "-p", "no:recall", day=None).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_tests_and_cases_run_side_by_side_and_hooks_of_the_user_see_both_as_items(pytester: pytest.Pytester) -> None:
    source = ECHOING.files["eval/conftest.py"] + (
        "\n\ndef pytest_collection_modifyitems(items):\n    items.reverse()\n"
        "\n\ndef pytest_runtest_setup(item):\n    asked(f'{item.nodeid} {item.location[1]} {item.originalname}')\n"
    )
    files = {"eval/conftest.py": source, "eval/test_plain.py": "def test_plain():\n    assert True\n"}
    checkout = SET.with_files(files).at(pytester)
    checkout.run("eval").assert_outcomes(passed=2, failed=1, errors=1)
    assert sorted(checkout.boxes()) == ["a", "b"]
    log = (checkout.path / "eval/asked.txt").read_text().splitlines()
    assert log[0] == "eval/test_plain.py::test_plain 0 test_plain"
    assert log[1].startswith("eval/cases.yaml::c 12 ")
    assert log[2] == "crash"


def test_recall_dir_names_another_directory(pytester: pytest.Pytester) -> None:
    renamed = {name.replace("eval/", "checks/"): text for name, text in SET.files.items()}
    checkout = ECHOING.without("eval/conftest.py").with_files(renamed).at(pytester)
    checkout.run("checks", "--recall-dir=checks")
    assert (checkout.path / "checks/recall.yaml").exists()
    assert not (checkout.path / "eval").exists()


def test_the_ini_setting_does_the_same(pytester: pytest.Pytester) -> None:
    renamed = {name.replace("eval/", "checks/"): text for name, text in SET.files.items()}
    renamed["pytest.ini"] += "recall_dir = checks\n"
    checkout = ECHOING.without("eval/conftest.py").with_files(renamed).at(pytester)
    result = checkout.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (checkout.path / "checks/recall.yaml").exists()
    assert not (checkout.path / "eval").exists()
