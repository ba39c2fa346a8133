"""The scorecard: the section in the terminal, scorecard.md and scorecard.json."""

from __future__ import annotations

import pytest

from tests.helpers.kept import ran
from tests.helpers.project import ECHOING, IN, case, crashing, failing, row

SET = ECHOING.with_cases(
    case("good", scenario="fees"),
    failing("broke", scenario="fees", dimension="tone"),
    failing("bad-still", scenario="loans"),
    failing("bad-new", scenario="loans"),
    crashing("crash", scenario="loans"),
    case("later", scenario="fees"),
).with_state(good=row(2), broke=row(3, 3), bad_still=row(1, 0, failure_note="exact: no"), later=row(4, due=IN[7]))
HEAD = """\
1 of 4 cases regressed; 1 regression, 1 new failure, 1 known failure, 1 error, 1 passed; *
what to do: *
regressions (1):
  broke (box 3 → 1)
      eval/cases.yaml:7: exact: expected “something else”, got “broke”
        asked:    broke
        expected: something else
        answered: broke
      to repeat it: pytest -p recall eval/cases.yaml::broke
new failures (1):
  bad-new (new → box 1)
      eval/cases.yaml:19: exact: expected “something else”, got “bad-new”
        asked:    bad-new
        expected: something else
        answered: bad-new
      to repeat it: pytest -p recall eval/cases.yaml::bad-new
1 known failure: `recall score -v` shows it
no verdict (1), no box moved:
  error: crash: eval/cases.yaml:25: agent: RuntimeError: boom
*
*      eval/conftest.py:*: RuntimeError"""
REST = """\
pull request for #17, 2026-03-10, seed 17
reason  passed  failed  error
box 1        0       1      0
due          1       1      0
new          0       1      1
scenario  passed  failed  error
fees           1       1      0
loans          0       2      1
"""
LIMIT = """\
With 4 of 6 cases tested, *52.7 %*"""
END = """\
eval/recall.yaml: 4 rows changed
details: eval/_artifacts/*/scorecard.md"""


RUN = ("eval", "--recall-pr=17", "--model=m-1")


@pytest.mark.parametrize(
    ("options", "parts"),
    [((), (HEAD, LIMIT, END)), (("-q",), (HEAD, END)), (("-n1",), (HEAD, LIMIT, END))],
    ids=["plain", "quiet", "n1"],
)
def test_the_section_in_the_terminal(
    pytester: pytest.Pytester, options: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    _, result = ran(pytester, SET, *RUN, *options)
    result.stdout.fnmatch_lines(["*= recall scorecard =*", *"\n".join(parts).splitlines()])
    result.stdout.no_fnmatch_line("reason *")


def test_tables_are_shown_where_more_is_asked_for(pytester: pytest.Pytester) -> None:
    result = SET.at(pytester).run(*RUN, "-v")
    result.stdout.fnmatch_lines([*REST.splitlines(), LIMIT], consecutive=False)


@pytest.mark.parametrize("option", ["--tb=no", "--tb=line", "-qq"])
def test_less_is_shown_of_a_failure_where_less_is_asked_for(pytester: pytest.Pytester, option: str) -> None:
    result = SET.at(pytester).run("eval", option)
    for name in ("broke", "bad-new"):
        assert f"exact: expected “something else”, got “{name}”" in result.stdout.str()
    assert "asked:" not in result.stdout.str()
    assert "raise RuntimeError" not in result.stdout.str()


def test_known_failures_are_listed_where_more_is_asked_for(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    listed = ["known failures (1):", "  bad-still (box 1): exact: expected “something else”, got “bad-still”"]
    for result in (checkout.run("eval", "-v"), checkout.recall("score", "-v")):
        result.stdout.fnmatch_lines(listed, consecutive=True)
    # Who chooses a case wants to see it, and all of it.
    checkout.run("eval/cases.yaml::bad-still").stdout.fnmatch_lines(
        [
            "No regression: 0 of 1 case passes; 1 known failure; *",
            "known failures (1):",
            "  bad-still (box 1, not moved)",
            "* expected: something else",
        ]
    )


BESIDE = """
import pytest


def test_plain():
    assert 1 == 2


@pytest.fixture
def ended():
    yield
    print("said at the end")


@pytest.mark.recall("marked")
def test_marked(ended):
    print("said by the test")
    assert 3 == 4
"""


@pytest.mark.parametrize("options", [(), ("-ra",), ("-rA", "-n1")], ids=" ".join)
def test_each_failure_is_shown_once_and_those_of_other_tests_where_pytest_shows_them(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    checkout = SET.with_files({"eval/test_beside.py": BESIDE}).at(pytester)
    result = checkout.run("eval", "--recall-mode=all", *options)
    result.assert_outcomes(passed=2, failed=5, errors=1)
    ours = next(number for number, line in enumerate(result.outlines) if "recall scorecard" in line)
    pytests = result.outlines[:ours]
    assert sum("= FAILURES =" in line for line in pytests) == 1
    assert [line for line in pytests if line.startswith("____")][-1].strip("_ ") == "test_plain"
    assert not any("something else" in line or "= ERRORS =" in line for line in pytests)
    summary = [line for line in result.outlines if line.startswith(("FAILED ", "ERROR ", "XFAIL "))]
    assert [line.split(" - ")[0] for line in summary] == ["FAILED eval/test_beside.py::test_plain"]
    result.stdout.fnmatch_lines(
        [
            "  marked (new → box 1)",
            "*      >       assert 3 == 4",
            "      said by the test",
            "*Captured stdout teardown*",
        ]
    )
    assert sum("got “broke”" in line for line in result.outlines) == 1


def test_the_files_hold_the_same_and_more(pytester: pytest.Pytester) -> None:
    checkout, _ = ran(pytester, SET, *RUN)
    card = checkout.scorecard()
    assert card["counts"] == {"passed": 1, "failed": 3, "error": 1}
    assert [told["id"] for told in card["failed"]] == ["broke", "bad-new", "bad-still"]
    assert card["failed"][0] == {
        "id": "broke",
        "outcome": "failed",
        "reason": "due",
        "note": "exact: expected “something else”, got “broke”",
        "box_before": 3,
        "box_after": 1,
        "regression": True,
        "standing": "regression",
        "attempts": 1,
        "where": "eval/cases.yaml:7",
        "cause": {"label": "unknown", "facts": {}, "also": []},
        "source": "live",
        "judges": [{"judge": "exact", "model": None, "passed": False}],
        "answer": "broke",
        "last_pass": None,
        "suspects": None,
    }
    assert [told["id"] for told in card["no_verdict"]] == ["crash"]
    assert card["regressions"] == ["broke"]
    assert card["not_chosen"] == {"not_due": 1, "over_cap": 0, "unseen": 0, "without_base": 0}
    assert card["complete"] is True
    page = (checkout.artifacts.folder / "scorecard.md").read_text()
    assert page.startswith("# 1 of 4 cases regressed\n")
    assert "\n- **`broke`**, eval/cases.yaml:7: exact: expected" in page
    assert "\n  - asked: broke\n  - expected: something else\n  - answered: broke\n" in page
    for cells in (["`bad-still`", "known failure", "box 1"], ["`crash`", "error", "agent: RuntimeError: boom"]):
        assert any(line.startswith(f"| {' | '.join(cells)} |") for line in page.splitlines())


def test_the_copy_of_the_newest_run_is_that_runs_own(pytester: pytest.Pytester) -> None:
    checkout, _ = ran(pytester, SET, *RUN)
    checkout.run("eval")
    first, second = checkout.artifacts.runs()
    for name in ("scorecard.md", "scorecard.json"):
        newest = (checkout.artifacts.folder / name).read_text()
        assert newest == (second / name).read_text()
        assert newest != (first / name).read_text()


def test_recall_score_prints_it_again_from_the_journal(pytester: pytest.Pytester) -> None:
    checkout, result = ran(pytester, SET, *RUN)
    again = checkout.recall("score", "latest").outlines
    assert len(again) > 10
    assert [line for line in again if line not in result.outlines] == []


def test_the_limit_of_a_slice_is_the_share_that_could_break_unseen(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(*(case(f"c{number:03}") for number in range(100))).at(pytester)
    result = checkout.run("eval")
    # A change that breaks 45 % of the cases leaves five drawn ones untouched once in 0.55 ** 5, which is 1 in 20.
    assert checkout.scorecard()["unseen_share_95"] == pytest.approx(0.4507, abs=0.0001)
    result.stdout.fnmatch_lines(["With 5 of 100 cases tested, * up to 45.1 % * unseen (95 %)."])


def test_a_run_without_a_verdict_claims_nothing(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(crashing("a")).at(pytester)
    checkout.run("eval")
    assert checkout.scorecard()["unseen_share_95"] is None


def test_what_was_chosen_but_not_run_is_listed(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(failing("a"), case("b"), case("c")).at(pytester)
    result = checkout.run("eval", "-x")
    [line] = [line for line in result.outlines if line.startswith("chosen but not run (2): ")]
    assert sorted(line.partition(": ")[2].split(", ")) == ["b", "c"]
    card = checkout.scorecard()
    assert card["complete"] is False
    assert card["counts"] == {"failed": 1, "not run": 2}


def test_an_answer_cannot_steer_the_terminal_or_write_markup_into_the_page(pytester: pytest.Pytester) -> None:
    cases = (failing("a", input="a | b <img src=x> @team"), failing("b", input="\x1b[2Jgone"))
    checkout = ECHOING.with_cases(*cases).at(pytester)
    result = checkout.run("eval")
    assert "\x1b[2J" not in result.stdout.str()
    result.stdout.fnmatch_lines(["        answered: \ufffd[[]2Jgone"])
    page = (checkout.artifacts.folder / "scorecard.md").read_text()
    again = checkout.run("eval", day=IN[1]) and (checkout.artifacts.folder / "scorecard.md").read_text()
    [row_of_case] = [line for line in again.splitlines() if line.startswith("| `a` |")]
    for text in (page, again):
        assert "<img" not in text
        assert "@team" not in text
    assert row_of_case.replace("\\|", "").count("|") == 6
