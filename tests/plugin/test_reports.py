"""Reports: plain data in every mode, pytest's own outcomes, and the last word of plugins that repeat or rewrite."""

from __future__ import annotations

import json
import pickle

import pytest

from pytest_recall.plugin.cassettes import Missed
from tests.helpers.project import BARE, ECHOING, Checkout, Project, case, failing

NOT_AT_FIRST = """
@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        tries = pathlib.Path(__file__).with_name("asked.txt").read_text().split().count(question)
        if question == "crashes" and tries < 3:
            raise RuntimeError("boom")
        return question if tries > 2 else "not yet"

    return answer
"""
KEPT = """

KEPT = {}


def pytest_runtest_logreport(report):
    KEPT.setdefault(report.outcome, []).append(report)


def pytest_exception_interact(node, call, report):
    print(f"interacts: {node.name} {report.outcome}")


def pytest_unconfigure():
    print("outcomes:", *sorted(KEPT))
"""
PLAIN = """

import marshal


def pytest_runtest_logreport(report):
    given = {name: value for name, value in vars(report).items() if name.startswith("recall")}
    marshal.dumps(given)
    print("plain:", report.when, *sorted(given))
"""
# What pytest-retry does: it calls a failed test again by the hooks of its phases, and gives the first report the last
# outcome.
RETRIES = """

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when != "call" or report.passed:
        return report
    hook = item.ihook
    for count in range(2):
        hook.pytest_runtest_teardown(item=item, nextitem=pytest.Class.from_parent(item.session, name="Other"))
        if count == 0:
            report.outcome = "retried"
            hook.pytest_runtest_logreport(report=report)
        item._initrequest()
        pytest.CallInfo.from_call(lambda: hook.pytest_runtest_setup(item=item), when="setup")
        call = pytest.CallInfo.from_call(lambda: hook.pytest_runtest_call(item=item), when="call")
        last = pytest.TestReport.from_item_and_call(item, call)
        report.outcome, report.longrepr = last.outcome, last.longrepr
        if report.passed:
            break
    return report
"""
# What flaky does: it runs the whole protocol again, and shows the reports of the last time alone.
SHOWS_THE_LAST = """

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol

    for _ in range(3):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            break
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
MARKED = """
import pytest

TRIES = []


@pytest.mark.recall("marked")
def test_marked():
    TRIES.append(1)
    assert len(TRIES) > 2
"""
SET = BARE.with_agent(NOT_AT_FIRST).with_cases(
    case("fails", input="fails"), case("crashes", input="crashes"), failing("always")
)


def with_plugin(made: Project, *texts: str) -> Project:
    """Return the project with more in the conftest file of its root."""
    return made.with_files({"conftest.py": "import pytest\n" + "".join(texts), "test_marked.py": MARKED})


def attempts(checkout: Checkout) -> dict[str, list[str]]:
    """Return what the trials of each case came to, in the order of the journal."""
    found: dict[str, list[str]] = {}
    for trial in checkout.journal().trials:
        found.setdefault(trial.case_id, []).append(trial.outcome.value)
    return found


REPEATED = {
    "fails": ["failed", "failed", "passed"],
    "crashes": ["error", "error", "passed"],
    "always": ["failed", "failed", "failed"],
    "marked": ["failed", "failed", "passed"],
}


@pytest.mark.parametrize(
    ("plugin", "workers"),
    [(RETRIES, ("-n1",)), (SHOWS_THE_LAST, ())],
    ids=["first report is the last-n1", "last reports alone"],
)
def test_what_pytest_reports_last_is_the_verdict_and_each_attempt_is_in_the_journal(
    pytester: pytest.Pytester, plugin: str, workers: tuple[str, ...]
) -> None:
    checkout = with_plugin(SET, plugin).at(pytester)
    result = checkout.run(".", *workers)
    found = result.parseoutcomes()
    assert (found["passed"], found["failed"]) == (3, 1)
    assert attempts(checkout) == REPEATED
    assert {name: row.failing for name, row in checkout.state().items()} == {
        "fails": False,
        "crashes": False,
        "always": True,
        "marked": False,
    }
    assert checkout.scorecard()["counts"] == {"passed": 3, "failed": 1}


def test_a_report_that_a_plugin_has_rewritten_is_read_by_its_last_outcome(pytester: pytest.Pytester) -> None:
    rewrites = (
        "@pytest.hookimpl(wrapper=True, tryfirst=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    report = yield\n"
        "    if report.failed and item.name == 'let-pass':\n        report.outcome, report.longrepr = 'passed', None\n"
        "    if report.failed and item.name == 'expected':\n"
        "        report.outcome, report.wasxfail = 'skipped', 'known'\n"
        "    if call.when == 'call' and item.name == 'slow':\n"
        "        report.outcome, report.longrepr = 'failed', 'took too long'\n    return report\n"
    )
    cases = (failing("let-pass"), failing("expected"), case("slow"))
    checkout = with_plugin(ECHOING.with_cases(*cases), rewrites).at(pytester)
    assert checkout.run("eval").ret == pytest.ExitCode.TESTS_FAILED
    assert {trial.case_id: (trial.outcome.value, trial.error) for trial in checkout.journal().trials} == {
        "let-pass": ("passed", ""),
        "expected": ("skipped", "known"),
        "slow": ("failed", "took too long"),
    }
    assert checkout.boxes() == {"let-pass": 1, "slow": 1}


@pytest.mark.parametrize("confirm", ["", "confirm: 2of3\n"], ids=["once", "confirmed"])
def test_reports_have_plain_data_only(pytester: pytest.Pytester, confirm: str) -> None:
    checkout = with_plugin(SET.with_files({"eval/rubric.yaml": "owner: us\n" + confirm}), PLAIN).at(pytester)
    result = checkout.run(".", "-s")
    assert "INTERNALERROR" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*plain: call recall"])
    assert attempts(checkout)["always"] == (["failed", "failed"] if confirm else ["failed"])


def test_a_trial_that_is_repeated_is_a_rerun_and_debuggers_hear_of_the_verdict_alone(
    pytester: pytest.Pytester,
) -> None:
    made = SET.with_files({"eval/rubric.yaml": "owner: us\nconfirm: 3of4\n"})
    checkout = with_plugin(made, KEPT).at(pytester)
    result = checkout.run("eval", "-s", "-v")
    text = result.stdout.str()
    assert "outcomes: failed passed rerun" in text or "outcomes: passed rerun skipped" in text
    assert [line for line in text.splitlines() if "interacts:" in line and "fails " in line] == []
    result.stdout.fnmatch_lines(["*::fails RERUN*"])


def test_reruns_repeat_a_trial_without_a_verdict_in_a_series(pytester: pytest.Pytester) -> None:
    made = SET.with_files({"eval/rubric.yaml": "owner: us\nconfirm: 2of3\n"})
    option = "def pytest_addoption(parser):\n    parser.addoption('--reruns', type=int)\n"
    checkout = with_plugin(made, option).at(pytester)
    result = checkout.run("eval", "--reruns=2")
    assert attempts(checkout)["crashes"] == ["error", "error", "passed"]
    assert checkout.scorecard()["no_verdict"] == []
    assert result.parseoutcomes()["rerun"] >= 4


def test_an_item_has_what_a_function_promises(pytester: pytest.Pytester) -> None:
    """As pytest's reference has it for `pytest.Function` and for `request`."""
    asks = """
@pytest.fixture(autouse=True)
def _asked(request):
    item = request.node
    told = {
        "module": item.module.__name__, "file": item.module.__file__ == str(item.path), "cls": item.cls,
        "instance": item.instance, "same": item.function is item.obj is request.function,
        "home": item.function.__module__, "originalname": item.originalname,
        "fspath": str(item.fspath) == str(item.path),
        "location": item.location, "name": item.name in item.keywords,
        "request": [request.module is item.module, request.cls, request.path == item.path],
    }
    print("told:", json.dumps(told))


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.module.__name__)
"""
    checkout = with_plugin(ECHOING.with_cases(case("one")), "import json\n", asks).at(pytester)
    result = checkout.run("eval", "-s")
    (line,) = [line for line in result.outlines if "told: " in line]
    assert json.loads(line.partition("told: ")[2]) == {
        "module": "eval.cases",
        "file": True,
        "cls": None,
        "instance": None,
        "same": True,
        "home": "eval.cases",
        "originalname": "one",
        "fspath": True,
        "location": ["eval/cases.yaml", 0, "one"],
        "name": True,
        "request": [True, None, True],
    }


def test_a_verdict_that_fails_is_an_assertion_and_an_error_is_none(pytester: pytest.Pytester) -> None:
    tells = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    if call.excinfo is not None:
        print("raised:", item.name, call.excinfo.errisinstance(AssertionError))
    return (yield)
"""
    made = SET.with_cases(failing("wrong"), case("crashes", input="crashes"))
    result = with_plugin(made, tells).at(pytester).run("eval", "-s")
    result.stdout.fnmatch_lines(["*raised: wrong True*", "*raised: crashes False*"])


def test_a_keyword_is_looked_for_in_nothing_of_ours(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("one"), case("two")).at(pytester)
    assert checkout.run("eval", "-k", "signature").parseoutcomes() == {"deselected": 2}


def test_a_miss_is_no_failure_of_pytests_and_can_be_sent_between_processes() -> None:
    missed = Missed("no such call")
    assert not isinstance(missed, AssertionError | pytest.fail.Exception | Exception)
    again = pickle.loads(pickle.dumps(missed))
    assert (type(again), str(again)) == (Missed, "no such call")
