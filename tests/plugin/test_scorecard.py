"""The scorecard: the section in the terminal, scorecard.md and scorecard.json."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, IN, case, crashing, failing, row

SET = ECHOING.with_cases(
    case("good", scenario="fees"),
    failing("broke", scenario="fees", dimension="tone"),
    failing("bad-still", scenario="loans"),
    failing("bad-new", scenario="loans"),
    crashing("crash", scenario="loans"),
    case("later", scenario="fees"),
).with_state(good=row(2), broke=row(3, 3), bad_still=row(1, 0, failure_note="exact: no"), later=row(4, due=IN[7]))
SECTION = """\
pull request for #17, 2026-03-10, seed 17, model m-1
reason  passed  failed  error
box 1        0       1      0
due          1       1      0
new          0       1      1
scenario  passed  failed  error
fees           1       1      0
loans          0       2      1
failed (3):
*regression: broke (box 3 → 1)*
*new: bad-new (new → box 1)*
*still failing: bad-still (box 1)*
no verdict (1), no box moved:
*error: crash: agent: RuntimeError: boom
With 4 of 6 cases tested, *52.7 %*
eval/recall.yaml: 4 rows changed
details: eval/_artifacts/*/scorecard.md"""


@pytest.mark.parametrize("options", [(), ("-q",), ("-n2",)], ids=["plain", "quiet", "n2"])
def test_the_section_in_the_terminal(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    result = SET.at(pytester).run("eval", "--recall-pr=17", "--recall-model=m-1", *options)
    result.stdout.fnmatch_lines(["*= recall scorecard =*", *SECTION.splitlines()])


def test_every_failed_case_has_its_note(pytester: pytest.Pytester) -> None:
    result = SET.at(pytester).run("eval", "--tb=no")
    for name in ("broke", "bad-new", "bad-still"):
        assert f"exact: expected “something else”, got “{name}”" in result.stdout.str()


def test_the_files_hold_the_same_and_more(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    checkout.run("eval", "--recall-pr=17")
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
        "attempts": 1,
        "where": "eval/cases.yaml:7",
        "cause": {"label": "not known", "evidence": "nothing is known of its last pass to compare with", "also": []},
        "source": "live",
        "judges": [{"judge": "exact", "model": None, "passed": False}],
        "answer": "broke",
        "last_pass": None,
    }
    assert [told["id"] for told in card["no_verdict"]] == ["crash"]
    assert card["regressions"] == ["broke"]
    assert card["not_chosen"] == {"near": 0, "not_due": 1, "over_cap": 0, "unseen": 0}
    assert card["complete"] is True
    page = (checkout.artifacts.folder / "scorecard.md").read_text()
    assert page.startswith("# Recall scorecard: 1 passed, 3 failed, 1 error\n")
    assert "\n- **`broke`** (box 3 → 1), eval/cases.yaml:7: exact: expected" in page
    for cells in (["`bad-still`", "still failing", "box 1"], ["`crash`", "error", "agent: RuntimeError: boom"]):
        assert any(line.startswith(f"| {' | '.join(cells)} |") for line in page.splitlines())


def test_the_copy_of_the_newest_run_is_that_runs_own(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    checkout.run("eval")
    checkout.run("eval")
    first, second = checkout.artifacts.runs()
    for name in ("scorecard.md", "scorecard.json"):
        newest = (checkout.artifacts.folder / name).read_text()
        assert newest == (second / name).read_text()
        assert newest != (first / name).read_text()


def test_recall_score_prints_it_again_from_the_journal(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    result = checkout.run("eval")
    start = next(number for number, line in enumerate(result.outlines) if "recall scorecard" in line)
    again = checkout.recall("score", "latest").outlines
    assert len(again) > 10
    assert again == result.outlines[start + 1 : start + 1 + len(again)]


def test_the_limit_of_a_slice_is_the_share_that_could_break_unseen(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(*(case(f"c{number:03}") for number in range(100))).at(pytester)
    result = checkout.run("eval")
    # A change that breaks 45 % of the cases leaves five drawn ones untouched once in 0.55 ** 5, which is 1 in 20.
    assert checkout.scorecard()["unseen_share_95"] == pytest.approx(0.4507, abs=0.0001)
    result.stdout.fnmatch_lines(["With 5 of 100 cases tested, * up to 45.1 % * unseen (95 %)."])


def test_a_run_without_a_verdict_claims_nothing(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(crashing("a")).at(pytester)
    checkout.run("eval").stdout.fnmatch_lines(["No case came to a verdict: this run shows nothing."])
    assert checkout.scorecard()["unseen_share_95"] is None


def test_what_was_chosen_but_not_run_is_listed(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(failing("a"), case("b"), case("c")).at(pytester)
    result = checkout.run("eval", "-x")
    [line] = [line for line in result.outlines if line.startswith("chosen but not run (2): ")]
    assert sorted(line.partition(": ")[2].split(", ")) == ["b", "c"]
    card = checkout.scorecard()
    assert card["complete"] is False
    assert card["counts"] == {"failed": 1, "not run": 2}


def test_an_answer_cannot_write_markup_into_the_page(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(failing("a", input="a | b <img src=x> @team")).at(pytester)
    checkout.run("eval")
    page = (checkout.artifacts.folder / "scorecard.md").read_text()
    [row_of_case] = [line for line in page.splitlines() if line.startswith("| `a` |")]
    assert "<img" not in page
    assert "@team" not in page
    assert row_of_case.replace("\\|", "").count("|") == 6
