"""Third outcomes: a crash or a skip is no failed case, and moves no box."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, Project, case, crashing, failing, row

JUDGE = """

@pytest.fixture
def judge_broken():
    def judge(answer, case):
        raise ValueError("the judge lost its way")

    return judge


@pytest.fixture
def judge_silent():
    return lambda answer, case: None


@pytest.fixture
def judge_grouped():
    def judge(answer, case):
        raise ExceptionGroup("unhandled errors in a TaskGroup", [AssertionError("first"), ValueError("second")])

    return judge
"""
FIXTURES = """

@pytest.fixture(autouse=True)
def service(recall_case):
    if "down" in recall_case.tags:
        raise ConnectionError("no service")
    if "later" in recall_case.tags:
        pytest.skip("not in this region")
    yield
    if "messy" in recall_case.tags:
        raise OSError("cannot clean up")
"""


def extended(source: str) -> Project:
    """Return the echoing project with more in its conftest."""
    return ECHOING.with_files({"eval/conftest.py": ECHOING.files["eval/conftest.py"] + source})


def marking(**marks: str) -> str:
    """Return the source of a hook that gives cases, by id, these marks."""
    return (
        "\n\ndef pytest_collection_modifyitems(items):\n"
        f"    for item in items:\n        if item.name in {marks}:\n            item.add_marker({marks}[item.name])\n"
    )


def test_errors_move_no_box_and_are_counted_and_shown(pytester: pytest.Pytester) -> None:
    wanted = {
        "agent": (crashing("agent"), "agent: RuntimeError: boom"),
        "judge": (case("judge", judges=["broken"]), "judge broken: ValueError: the judge lost its way"),
        "unparsable": (
            case("unparsable", judges=["silent"]),
            "judge silent: gave None; return a Verdict, a bool, or a score from 0 to 1",
        ),
        # Asserts that fail in a group say so.
        "grouped": (case("grouped", judges=["grouped"]), "judge grouped: AssertionError: first; ValueError: second"),
        "setup": (case("setup", tags=["down"]), "setup: ConnectionError: no service"),
    }
    project = extended(JUDGE + FIXTURES).with_cases(*(given for given, _ in wanted.values()), case("b"))
    checkout = project.with_state(b=row(3, 3), **dict.fromkeys(wanted, row(3, 3))).at(pytester)
    result = checkout.run("eval", "--recall-mode=all")
    result.assert_outcomes(passed=1, errors=5)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert {name: found for name, found in checkout.state().items() if name != "b"} == dict.fromkeys(wanted, row(3, 3))
    assert checkout.boxes()["b"] == 4
    card = checkout.scorecard()
    assert card["counts"] == {"passed": 1, "error": 5}
    assert "no verdict (5), no box moved:" in result.outlines
    assert {told["id"]: (told["box_before"], told["box_after"]) for told in card["no_verdict"]} == dict.fromkeys(
        wanted, (3, 3)
    )
    for told in card["no_verdict"]:
        note = wanted[told["id"]][1]
        stage = {"setup": "setup: "}.get(told["stage"], "")
        assert f"{stage}{told['note']}".startswith(note)
        result.stdout.fnmatch_lines([f"  error: {told['id']}: eval/cases.yaml:*: {note}"])


def test_an_error_on_a_worker_is_one_on_the_controller(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(crashing("a"), case("b")).with_state(a=row(3, 3), b=row(3, 3)).at(pytester)
    checkout.run("eval", "-n1").assert_outcomes(passed=1, errors=1)
    assert checkout.boxes() == {"a": 3, "b": 4}
    (told,) = checkout.scorecard()["no_verdict"]
    assert (told["note"], told["ended_by"]) == ("agent: RuntimeError: boom", "exception")


def test_a_new_case_that_crashed_stays_new_and_its_traceback_begins_in_the_agent(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(crashing("a")).at(pytester)
    for _ in range(2):
        result = checkout.run("eval")
        result.assert_outcomes(errors=1)
        assert checkout.slice() == {"a": "new"}
        result.stdout.fnmatch_lines(['* >           raise RuntimeError("boom")', "* E           RuntimeError: boom"])
        result.stdout.no_fnmatch_line("*execution.py*")
    assert checkout.state() == {}


@pytest.mark.parametrize("options", [("--record",), ("--record", "--recall-concurrency=2")], ids=["record", "at once"])
@pytest.mark.parametrize("scope", ["session", "function"])
def test_the_traceback_of_a_fixture_begins_in_the_fixture(
    pytester: pytest.Pytester, scope: str, options: tuple[str, ...]
) -> None:
    fixture = "\n\n@pytest.fixture(scope={!r})\ndef agent():\n    {}raise RuntimeError('boom')\n"
    for before in ("", "yield str\n    "):
        project = ECHOING.with_cases(case("a"), case("b")).with_agent(fixture.format(scope, before))
        result = project.at(pytester).run("eval", *options)
        result.stdout.fnmatch_lines(["* >   *raise RuntimeError('boom')"] if not before else ["*RuntimeError: boom*"])
        result.stdout.no_fnmatch_line("*pytest_recall/*.py*")


def test_a_skip_and_an_expected_fail_move_no_box(pytester: pytest.Pytester) -> None:
    cases = (failing("a"), crashing("b"), case("c"), case("d", tags=["later"]))
    marks = marking(a="xfail", b="xfail", c="skip")
    checkout = extended(FIXTURES + marks).with_cases(*cases).with_state(**dict.fromkeys("abcd", row(3, 3))).at(pytester)
    result = checkout.run("eval")
    result.assert_outcomes(xfailed=2, skipped=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  skipped: d: not in this region"])
    assert checkout.state() == dict.fromkeys("abcd", row(3, 3))
    assert checkout.outcomes() == dict.fromkeys("abcd", "skipped")
    assert checkout.scorecard()["counts"] == {"skipped": 4}


@pytest.mark.parametrize("options", [(), ("--recall-concurrency=4",)], ids=["one by one", "at once"])
def test_a_tag_that_is_called_like_a_mark_is_no_mark(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    # As a plugin has it: who finds the mark obeys it.
    obeying = (
        "\n\ndef pytest_runtest_setup(item):\n"
        "    if item.get_closest_marker('timeout') or any(item.iter_markers(name='flaky')):\n"
        "        pytest.skip('marked')\n"
    )
    tags = ("skip", "skipif", "xfail", "usefixtures", "filterwarnings", "flaky", "timeout")
    checkout = extended(obeying).with_cases(*(failing(tag, tags=[tag]) for tag in tags)).at(pytester)
    checkout.run("eval", "--recall-mode=all", *options).assert_outcomes(failed=7)
    assert checkout.outcomes() == dict.fromkeys(tags, "failed")
    checkout.run("eval", "-m", "skip or flaky", "--recall-mode=all", *options).assert_outcomes(failed=2, deselected=5)


def test_a_crash_while_cleaning_up_is_no_pass_and_takes_no_fail_back_and_a_pass_that_is_none_is_a_fail(
    pytester: pytest.Pytester,
) -> None:
    # xfail_strict is set: the mark of `strict` is out of date, and someone has to look.
    cases = [case("a", tags=["messy"]), failing("b", tags=["messy"]), case("strict")]
    checkout = (
        extended(FIXTURES + marking(strict="xfail"))
        .with_cases(*cases)
        .with_state(**dict.fromkeys(("a", "b", "strict"), row(3, 3)))
    )
    placed = checkout.at(pytester)
    result = placed.run("eval")
    assert result.parseoutcomes() == {"errors": 2, "failed": 2, "passed": 1}
    assert placed.boxes() == {"a": 3, "b": 1, "strict": 1}


def test_an_error_is_shown_as_one_while_the_run_goes_on_and_lf_runs_it_again(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a"), crashing("b"), failing("c")).at(pytester)
    checkout.run("eval").stdout.fnmatch_lines(["eval/cases.yaml .EF*"])
    result = checkout.run("eval", "--lf", "-v")
    result.assert_outcomes(errors=1, failed=1)
    result.stdout.fnmatch_lines(["eval/cases.yaml::b ERROR*"])
