"""Marked tests: `@pytest.mark.recall` puts an ordinary test on the schedule."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.runs import collection
from tests.helpers.project import BARE, ECHOING, IN, WORKERS, Checkout, case, row, state_yaml
from tests.plugin.conftest import Once, unnamed

Workers = tuple[str, ...]
HEAD = """\
import pathlib

import pytest


def asked(name):
    with pathlib.Path(__file__).with_name("asked.txt").open("a") as log:
        log.write(f"{name}\\n")

"""


def marked(names: Iterable[str], body: str = "pass") -> str:
    """Return the source of one marked test for each name."""
    return HEAD + "".join(
        f'\n@pytest.mark.recall("{name}")\ndef test_{name}():\n    asked("{name}")\n    {body}\n' for name in names
    )


BAD_MARK = (
    'the mark takes one case id as text, @pytest.mark.recall("case-id"), or none: then the node id is the case\'s'
)
MIXED = ECHOING.with_cases(*(case(f"r{number}") for number in range(6))).with_files(
    {"eval/test_marked.py": marked(f"m{number}" for number in range(6))}
)


def test_rows_and_marked_tests_are_one_draw_with_and_without_workers(pytester: pytest.Pytester) -> None:
    checkout = MIXED.at(pytester)
    slices = []
    for workers in ((), ("-n2",)):
        result = checkout.run("eval", *workers)
        result.assert_outcomes(passed=5, deselected=0 if workers else 6)
        header = checkout.journal().header
        assert checkout.asked() == sorted(checkout.slice()) == sorted(checkout.boxes())
        assert {name[0] for name in checkout.asked()} == {"m", "r"}
        assert set(checkout.slice().values()) == {"new"}
        assert checkout.today()["of"] == 12
        assert (header.total, dict(header.picks)) == (12, checkout.slice())
        slices.append((checkout.today(), unnamed(checkout.state_text()), checkout.scorecard()["by_reason"]))
        checkout.forget()
        (checkout.path / "eval/asked.txt").unlink()
    assert slices[0] == slices[1]
    # Workers say it as soon as one has found it.
    told = [line for line in result.outlines if line.startswith("recall: pr 2026-03-10")]
    assert told[-1] == "recall: pr 2026-03-10, seed 2026-03-10: 5 of 12 cases (5 new); not run: 7 new, not drawn"


def test_they_need_no_eval_folder_and_the_sample_holds_without_one(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_files({"test_marked.py": marked(f"m{number}" for number in range(9))}).at(pytester)
    result = checkout.run()
    result.assert_outcomes(passed=5, deselected=4)
    assert checkout.boxes() == dict.fromkeys(checkout.asked(), 1)
    assert checkout.outcomes() == dict.fromkeys(checkout.asked(), "passed")
    assert checkout.slice() == dict.fromkeys(checkout.asked(), "new")
    assert len(checkout.asked()) == 5
    result.stdout.fnmatch_lines(["*= recall scorecard =*", "eval/recall.yaml: 5 rows changed"])


@WORKERS
def test_what_is_not_due_does_not_run(pytester: pytest.Pytester, workers: Workers) -> None:
    files = {
        "test_marked.py": marked(["later", "due"]) + "\ndef test_plain():\n    asked('plain')\n",
        "eval/recall.yaml": state_yaml(later=row(3, due=IN[3]), due=row(2)),
    }
    checkout = BARE.with_files(files).at(pytester)
    checkout.run(*workers).assert_outcomes(passed=2, deselected=0 if workers else 1)
    assert checkout.asked() == ["due", "plain"]
    assert checkout.boxes() == {"due": 3, "later": 3}
    assert checkout.scorecard()["orphans"] == []


def test_nothing_due_is_ok(pytester: pytest.Pytester) -> None:
    files = {"test_marked.py": marked(["later"]), "eval/recall.yaml": state_yaml(later=row(3, due=IN[3]))}
    checkout = BARE.with_files(files).at(pytester)
    assert checkout.run("-n1").ret == pytest.ExitCode.OK
    assert checkout.asked() == []


VERDICTS = {
    "a": ("assert 1 == 2", "failed", 1),
    "b": ("pytest.fail('no')", "failed", 1),
    "c": ("raise RuntimeError('boom')", "error", 2),
    "d": ("pytest.skip('not here')", "skipped", 2),
    "e": ("pytest.xfail('known')", "skipped", 2),
}
"""Bodies of tests in box 2, and the outcome and box of each."""
GROUPS = """
import asyncio


async def asserts(said):
    assert False, said


async def fails(said):
    pytest.fail(said)


async def breaks(said):
    raise ValueError(said)


def together(*begun):
    async def all_of_them():
        async with asyncio.TaskGroup() as group:
            for one in begun:
                group.create_task(one)

    asyncio.run(all_of_them())


def nested():
    try:
        together(asserts("deep"))
    except ExceptionGroup as group:
        raise ExceptionGroup("outer", [group, AssertionError("near")]) from None

"""


GROUPED = {
    "one": 'together(asserts("alone"))',
    "two": 'together(asserts("first"), fails("second"))',
    "nested": "nested()",
    "mixed": 'together(asserts("wrong"), breaks("broken"))',
    "broken": 'together(breaks("broken"))',
}
METHODS = """\
import unittest

import pytest


class TestPlain:
    @pytest.mark.recall("plain")
    def test_it(self):
        pass


class TestUnit(unittest.TestCase):
    @pytest.mark.recall("unit")
    def test_it(self):
        self.assertEqual(1, 2)
"""
MODULE = """
pytestmark = pytest.mark.recall


def test_one():
    pass


class TestTwo:
    def test_two(self):
        pass
"""


def bodies(given: Iterable[tuple[str, str]]) -> str:
    """Return the source of a marked test for each name, with its body."""
    return "".join(marked([name], body).removeprefix(HEAD) for name, body in given)


@pytest.fixture(scope="module")
def several(once: Once) -> Checkout:
    """After a run over marked tests of many kinds."""
    scenario = '\n@pytest.mark.recall("fees", scenario="money", dimension="tone")\ndef test_fees():\n    pass\n'
    files = {
        "test_verdicts.py": HEAD + bodies((name, body) for name, (body, _, _) in VERDICTS.items()),
        "test_note.py": marked(["note"], "assert 'late' == 'early', 'wrong time'"),
        "test_groups.py": HEAD + GROUPS + bodies(GROUPED.items()),
        "test_scenario.py": HEAD + scenario,
        "test_methods.py": METHODS,
        "test_module.py": HEAD + MODULE,
        "eval/recall.yaml": state_yaml(**dict.fromkeys(VERDICTS, row(2))),
    }
    with once() as pytester:
        checkout = BARE.with_files(files).at(pytester)
        checkout.run("--recall-mode=all")
        return checkout


def outcomes(checkout: Checkout, names: Iterable[str]) -> dict[str, str]:
    """Return the outcomes of these cases."""
    return {name: outcome for name, outcome in checkout.outcomes().items() if name in names}


def test_an_assert_is_a_verdict_and_a_crash_is_none(several: Checkout) -> None:
    assert outcomes(several, VERDICTS) == {name: outcome for name, (_, outcome, _) in VERDICTS.items()}
    boxes = several.boxes()
    assert {name: boxes[name] for name in VERDICTS} == {name: box for name, (_, _, box) in VERDICTS.items()}


def test_the_failure_note_is_the_assertion(several: Checkout) -> None:
    assert (several.state()["note"].failure_note or "").startswith("wrong time")


def test_a_group_is_a_verdict_if_all_in_it_are(several: Checkout) -> None:
    assert outcomes(several, GROUPED) == {
        **dict.fromkeys(("one", "two", "nested"), "failed"),
        **dict.fromkeys(("mixed", "broken"), "error"),
    }
    errors = {trial.case_id: trial.error for trial in several.journal().trials}
    assert errors["one"].startswith("alone")
    assert errors["two"].startswith("first")
    assert errors["two"].endswith("; second")
    assert errors["nested"].startswith("deep")
    assert errors["nested"].endswith("; near")
    assert errors["mixed"].startswith("AssertionError: wrong")
    assert errors["mixed"].endswith("; ValueError: broken")
    assert errors["broken"] == "ValueError: broken"


def test_each_set_of_parameters_is_a_case_whose_id_is_kept_whole(pytester: pytest.Pytester) -> None:
    names = ["a  b", "x" * 600]
    source = HEAD + (
        '\n@pytest.mark.parametrize("n", [1, 2], ids=["one", "two"])\n@pytest.mark.recall("sum")\n'
        "def test_sum(n):\n    assert n == 1\n"
        f'\n@pytest.mark.parametrize("n", [1, 2], ids={names})\n@pytest.mark.recall("named")\n'
        "def test_named(n):\n    pass\n"
    )
    checkout = BARE.with_files({"test_marked.py": source}).at(pytester)
    checkout.run().assert_outcomes(passed=3, xfailed=1)
    assert checkout.outcomes() == {
        "sum[one]": "passed",
        "sum[two]": "failed",
        **{f"named[{name}]": "passed" for name in names},
    }
    assert checkout.state()["sum[two]"].pass_streak == 0
    checkout.run()
    assert checkout.boxes() == {"sum[one]": 2, "sum[two]": 1, **{f"named[{name}]": 2 for name in names}}


def test_scenario_and_dimension_are_counted(several: Checkout) -> None:
    assert several.scorecard()["by_scenario"] == {"money": {"passed": 1}}
    assert several.scorecard()["by_dimension"] == {"tone": {"passed": 1}}


def test_naming_one_switches_the_schedule_off(pytester: pytest.Pytester) -> None:
    files = {"test_marked.py": marked(["a", "b"]), "eval/recall.yaml": state_yaml(a=row(3, due=IN[3]))}
    checkout = BARE.with_files(files).at(pytester)
    before = checkout.state_text()
    checkout.run("test_marked.py::test_a").assert_outcomes(passed=1)
    assert checkout.asked() == ["a"]
    assert checkout.state_text() == before


def test_collect_only_writes_nothing(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_files({"test_marked.py": marked(["a"])}).at(pytester)
    assert checkout.run("--collect-only").ret == 0
    assert not (checkout.path / "eval").exists()


def test_a_bad_mark_is_a_usage_error(pytester: pytest.Pytester) -> None:
    bad = {
        "recall(7)": BAD_MARK,
        "recall('')": BAD_MARK,
        'recall("a", "b")': BAD_MARK,
        'recall("a", scenari="x")': "recall mark: unknown argument `scenari`; did you mean `scenario`?",
    }
    for number, (mark, sentence) in enumerate(bad.items()):
        name = f"test_marked{number}.py"
        source = HEAD + f'\n@pytest.mark.{mark}\ndef test_it():\n    asked("it")\n'
        checkout = BARE.with_files({name: source}).at(pytester)
        assert_refused(checkout.run(name), f"ERROR: {name}::test_it: {sentence}")
        assert checkout.asked() == []


@pytest.mark.parametrize(
    ("files", "workers"),
    [({}, ()), ({"eval/rubric.yaml": "owner: us\n"}, ()), ({"eval/rubric.yaml": "owner: us\n"}, ("-n", "2"))],
    ids=["no-eval-folder", "schedule", "schedule-n2"],
)
def test_two_tests_with_one_id_are_a_usage_error(
    pytester: pytest.Pytester, files: dict[str, str], workers: Workers
) -> None:
    source = marked(["a"]) + '\n@pytest.mark.recall("a")\ndef test_b():\n    asked("b")\n'
    checkout = BARE.with_files({"test_marked.py": source, **files}).at(pytester)
    assert_refused(
        checkout.run(*workers),
        "ERROR: test_marked.py::test_b: the case `a` is another test as well; choose another id, or give the mark none",
    )
    assert checkout.asked() == []


def test_methods_of_classes_join_too(several: Checkout) -> None:
    assert outcomes(several, ("plain", "unit")) == {"plain": "passed", "unit": "failed"}


def assert_refused(result: pytest.RunResult, sentence: str) -> None:
    """Assert that the run ended with this one sentence."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    output = [*result.outlines, *result.errlines]
    assert [line for line in output if line.startswith("ERROR: ")] == [sentence]
    assert not [line for line in output if "INTERNALERROR" in line or "Traceback" in line]


CLASSES = (
    HEAD
    + """

@pytest.mark.recall
class TestBare:
    def test_one(self):
        asked("bare")

    @pytest.mark.recall("own")
    def test_two(self):
        asked("own")


@pytest.mark.recall("fees", scenario="money")
class TestNamed:
    @pytest.mark.parametrize("n", [1, 2])
    def test_one(self, n):
        asked(f"fees {n}")

    def test_two(self):
        asked("fees two")
"""
)


def test_the_mark_of_a_class_is_one_for_each_of_its_tests(pytester: pytest.Pytester) -> None:
    files = {"eval/rubric.yaml": "owner: us\n", "tests/test_classes.py": CLASSES}
    checkout = BARE.with_files(files).at(pytester)
    checkout.run("tests").assert_outcomes(passed=5)
    expected = {"tests/test_classes.py::TestBare::test_one", "own"}
    expected |= {"fees::test_one[1]", "fees::test_one[2]", "fees::test_two"}
    assert set(checkout.state()) == expected
    assert {trial.case_id: trial.scenario for trial in checkout.journal().trials}["fees::test_two"] == "money"
    # A node id is what pytest takes, and chooses the one case.
    checkout.run("tests/test_classes.py::TestBare::test_one", "--recall-update", day=IN[1]).assert_outcomes(passed=1)
    assert checkout.state()["tests/test_classes.py::TestBare::test_one"].box == 2


def test_the_mark_of_a_module_is_one_for_each_of_its_tests(several: Checkout) -> None:
    expected = {"test_module.py::test_one": "passed", "test_module.py::TestTwo::test_two": "passed"}
    assert {name: outcome for name, outcome in several.outcomes().items() if "module" in name} == expected
    assert expected.keys() <= several.state().keys()


LISTED = (
    HEAD
    + """

@pytest.mark.recall("b")
@pytest.mark.parametrize("case", [%s])
def test_it(case):
    asked(str(case)[:20])
    assert case.get("ok", True)
"""
)


def test_an_edit_of_a_list_of_parameters_moves_no_history(pytester: pytest.Pytester) -> None:
    before, after = ("{'q': 'x'}, {'q': 'y'}", "{'q': 'new', 'ok': False}, {'q': 'x'}, {'q': 'y'}")
    checkout = BARE.with_files({"test_it.py": LISTED % before}).at(pytester)
    checkout.run().assert_outcomes(passed=2)
    assert set(checkout.state()) == {"b[{'q': 'x'}]", "b[{'q': 'y'}]"}
    (checkout.path / "test_it.py").write_text(LISTED % after, encoding="utf-8")
    result = checkout.run(day=IN[1])
    assert "No regression: 2 of 3 cases pass; 1 new failure, 2 passed" in result.stdout.str()


def test_parameters_that_are_too_long_for_an_id_are_told(pytester: pytest.Pytester) -> None:
    long = "{'q': 'x' * 70}, {'q': 'y' * 70}"
    checkout = BARE.with_files({"eval/rubric.yaml": "owner: us\n", "test_it.py": LISTED % long}).at(pytester)
    result = checkout.run(".", "-n2")
    assert set(checkout.state()) == {"b[case0]", "b[case1]"}
    (told,) = [line for line in result.outlines if "too long for an id" in line]
    assert told.startswith("test_it.py::test_it: the values of `case` are too long")
    assert "name them with `ids=`" in told


def test_repetitions_of_pytest_repeat_are_refused(pytester: pytest.Pytester) -> None:
    repeat = """
import pytest


@pytest.fixture
def __pytest_repeat_step_number(request):
    return request.param


def pytest_generate_tests(metafunc):
    metafunc.fixturenames.append("__pytest_repeat_step_number")
    metafunc.parametrize("__pytest_repeat_step_number", range(2), indirect=True)
"""
    checkout = BARE.with_files({"test_it.py": marked(["a"]), "conftest.py": repeat}).at(pytester)
    result = checkout.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any("--count of pytest-repeat would make a case of each repetition" in line for line in result.errlines)
    assert checkout.asked() == []


@pytest.fixture
def collected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask pytest for the marked tests once, and tell each command after the first what it has told."""
    kept: list[str] = []

    def run(command: list[str], *, env: dict[str, str], **given: Any) -> Any:
        told = Path(env[collection.MARKED_IN]) if collection.MARKED_IN in env else None
        if told and kept:
            told.write_text(kept[0], encoding="utf-8")
            return subprocess.CompletedProcess(command, 0, "", "")
        done = subprocess.run(command, env=env, **given)
        if told:
            kept.append(told.read_text(encoding="utf-8"))
        return done

    monkeypatch.setattr(collection, "subprocess", SimpleNamespace(run=run, DEVNULL=subprocess.DEVNULL))


@pytest.mark.usefixtures("quick_collections", "collected_once")
def test_commands_know_them(pytester: pytest.Pytester) -> None:
    source = marked(["m1", "m2"]).replace('("m2")', '("m2", scenario="money")')
    checkout = MIXED.with_files({"eval/test_marked.py": source}).at(pytester)
    more = {"select": ["--mode=all", "--ids"], "estimate": ["--mode=all"]}
    told = {
        "status": "8 cases on ",
        "select": "m2",
        "check": "6 cases in 1 file, 1 scenario, 1 dimension, 2 marked tests: all in order",
        "estimate": "8",
    }
    for command, said in told.items():
        group = ["schedule"] if command in more else []
        done = checkout.recall(*group, command, *more.get(command, []))
        assert done.ret == 0, done.stderr.str()
        assert said in done.stdout.str()
    assert checkout.asked() == []


@pytest.mark.usefixtures("quick_collections")
def test_a_test_that_only_writes_of_the_mark_is_not_collected(pytester: pytest.Pytester) -> None:
    text = 'SOURCE = """\n@pytest.mark.recall("a")\n"""\nraise RuntimeError("collected")\n'
    checkout = ECHOING.with_cases(case("a")).with_files({"test_text.py": text}).at(pytester)
    done = checkout.recall("status")
    assert (done.ret, done.errlines) == (0, [])


@pytest.mark.usefixtures("quick_collections")
def test_a_collection_that_fails_is_one_sentence(pytester: pytest.Pytester) -> None:
    files = {"test_marked.py": marked(["m1"]), "conftest.py": "raise RuntimeError('no')\n"}
    checkout = ECHOING.with_cases(case("a")).with_files(files).at(pytester)
    done = checkout.recall("status")
    assert done.ret == 0
    (said,) = done.errlines
    assert said.startswith("recall: marked tests are not known, since pytest cannot collect them (")


def test_attributes_that_another_plugin_gives_an_item_are_its_own(pytester: pytest.Pytester) -> None:
    conftest = (
        BARE.files.get("eval/conftest.py", "")
        + "\n\ndef pytest_itemcollected(item):\n    item.arm, item.rule, item.case = 'left', 'twice', object()\n"
    )
    project = BARE.with_files({"eval/test_marked.py": marked(["m"]), "eval/conftest.py": conftest})
    checkout = project.at(pytester)
    checkout.run("eval").assert_outcomes(passed=1)
    assert checkout.outcomes() == {"m": "passed"}
    assert checkout.boxes() == {"m": 1}
