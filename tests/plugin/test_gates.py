"""Gates and what blocks, as pytest and `recall score` see them: the same, locally and in a build."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.helpers.project import DAY, ECHOING, IN, Checkout, Project, case, crashing, failing, row

OK, FAILED = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED


def gated(project: Project, *gates: dict[str, Any], **more: Any) -> Project:
    """Return the project with these gates in its rubric."""
    fields = {"owner": "us", "gates": list(gates), **more}
    return project.with_files({"eval/rubric.yaml": "".join(f"{k}: {json.dumps(v)}\n" for k, v in fields.items())})


def codes(checkout: Checkout, *args: str) -> tuple[int, int]:
    """Return the exit codes of a run and of its score."""
    result = checkout.run("eval", "-p", "no:cacheprovider", *args)
    return int(result.ret), int(checkout.recall("score").ret)


REFUNDS: dict[str, Any] = {"scenario": "refunds", "at_least": 0.9}
TEN = [case(f"r{n}", scenario="refunds") for n in range(10)]
PASSED = {f"r{n}": row(3, due=IN[7]) for n in range(10)}
KNOWN: dict[str, Any] = {"failure_note": "exact: no", "failure_pr": "9"}


def test_a_gate_is_missed_though_every_case_of_the_slice_passes(pytester: pytest.Pytester) -> None:
    rows = {**PASSED, "r0": row(1), "r1": row(2, due=IN[7], **KNOWN), "r2": row(2, due=IN[7], **KNOWN)}
    checkout = gated(ECHOING.with_cases(*TEN).with_state(**rows), REFUNDS).at(pytester)
    result = checkout.run("eval")
    result.assert_outcomes(passed=1)
    assert result.ret == FAILED
    told = (
        "gate `refunds` missed: 80.0 % of 10 last verdicts passed (95 %: 49.0 % to 94.3 %), 1 of them fresh,"
        " of 10 cases; 90.0 % asked"
    )
    assert told in result.outlines
    again = checkout.recall("score", "latest")
    assert (told in again.outlines, int(again.ret)) == (True, 1)
    assert int(checkout.recall("score", "--fail-on", "never").ret) == 0
    (standing,) = checkout.scorecard()["gates"]
    assert (standing["status"], standing["rate"], standing["fresh"]) == ("missed", 0.8, 1)
    assert "gate `refunds` missed: 80.0 %" in (checkout.artifacts.folder / "scorecard.md").read_text()
    assert checkout.journal().exit_code == FAILED


def test_a_gate_that_holds_or_knows_too_little_lets_it_pass(pytester: pytest.Pytester) -> None:
    rows = {**PASSED, "r0": row(1)}
    tone = {"dimension": "tone", "at_least": 1.0}
    project = gated(ECHOING.with_cases(*TEN, case("t", dimension="tone")), REFUNDS, tone, new_traffic_sample=0)
    checkout = project.with_state(**rows).at(pytester)
    assert codes(checkout) == (OK, 0)
    lines = checkout.recall("score").outlines
    assert any(line.startswith("gate `refunds` held: 100.0 % of 10 last verdicts passed") for line in lines)
    assert "gate `tone` too few verdicts: none of 1 case; 100.0 % asked" in lines
    assert int(checkout.recall("score", "--fail-on", "incomplete").ret) == 1


def test_a_gate_that_no_case_is_under_fails_a_run_over_all_files(pytester: pytest.Pytester) -> None:
    gates = ({**REFUNDS, "scenario": name} for name in ("refund", "marked"))
    marked = "import pytest\n@pytest.mark.recall('m', scenario='marked', dimension='d')\ndef test_m():\n    pass\n"
    project = gated(ECHOING.with_cases(case("r", scenario="refunds")), *gates).with_files({"tests/test_m.py": marked})
    checkout = project.at(pytester)
    told = "eval/rubric.yaml: gates: no case is of `refund`; did you mean `refunds`?"
    both = checkout.run("eval", "tests", "-n1")
    assert (int(both.ret), [line for line in both.outlines if "gates:" in line]) == (1, [told])
    # The gate of marked tests is right where these are not collected.
    alone = checkout.run("eval", day=IN[1])
    assert (int(alone.ret), [line for line in alone.outlines if "gates:" in line]) == (1, [told])
    [line] = [line for line in alone.outlines if line.startswith("gate `refund` ")]
    assert line.startswith("gate `refund` too few verdicts: no case is under it; 90.0 % asked")
    chosen = checkout.run("eval/cases.yaml::r")
    assert "gates:" not in chosen.stdout.str()


def test_cases_that_somebody_chose_are_held_to_no_gate(pytester: pytest.Pytester) -> None:
    rows = {**PASSED, "r1": row(2, due=IN[7], **KNOWN)}
    checkout = gated(ECHOING.with_cases(*TEN).with_state(**rows), {**REFUNDS, "at_least": 1.0}).at(pytester)
    assert int(checkout.run("eval/cases.yaml::r3").ret) == OK
    assert checkout.scorecard()["gates"] == []


@pytest.mark.parametrize(
    ("blocks", "workers"),
    [("", ("-n1",)), ("never", ()), ("incomplete", ())],
    ids=["default-n1", "never", "incomplete"],
)
def test_what_only_informs_is_an_expected_fail(
    pytester: pytest.Pytester, blocks: str, workers: tuple[str, ...]
) -> None:
    project = ECHOING.with_cases(failing("known"), case("fine")).with_state(known=row(1, **KNOWN), fine=row(1))
    checkout = gated(project, **({"blocks": blocks} if blocks else {})).at(pytester)
    result = checkout.run("eval", *workers)
    if blocks in ("", "never"):
        result.assert_outcomes(passed=1, xfailed=1)
        assert result.ret == OK
        assert "1 known failure: `recall score -v` shows it" in result.outlines
    else:
        result.assert_outcomes(passed=1, failed=1)
        assert result.ret == FAILED
    assert checkout.outcomes() == {"known": "failed", "fine": "passed"}
    assert checkout.journal().also == ()
    assert int(checkout.recall("score").ret) == (blocks == "incomplete")


def test_a_regression_blocks_where_only_regressions_do(pytester: pytest.Pytester) -> None:
    cases = [failing(name) for name in ("broke", "new", "known")]
    project = ECHOING.with_cases(*cases).with_state(broke=row(2), known=row(1, **KNOWN))
    checkout = gated(project, blocks="regression").at(pytester)
    result = checkout.run("eval")
    result.assert_outcomes(failed=1, xfailed=2)
    assert result.ret == FAILED
    assert int(checkout.recall("score").ret) == 1
    assert int(checkout.run("eval/cases.yaml::new").ret) == FAILED  # A case that was asked for by name fails the run.


def test_a_case_without_a_verdict_is_an_error_whatever_blocks(pytester: pytest.Pytester) -> None:
    checkout = gated(ECHOING.with_cases(crashing("a")), blocks="never").at(pytester)
    assert codes(checkout) == (FAILED, 0)


def git(checkout: Checkout, *args: str) -> None:
    """Run git in the project."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(("git", *who, *args), cwd=checkout.path, check=True, capture_output=True)


def test_a_gate_that_a_change_has_lowered_is_named(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = gated(ECHOING.with_cases(*TEN).with_state(**PASSED), {**REFUNDS, "at_least": 0.95}).at(pytester)
    git(checkout, "init", "-q", "--initial-branch=main")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "one")
    git(checkout, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(checkout, "switch", "-qc", "feature")
    assert checkout.run("eval", day=IN[7]).ret == OK
    assert checkout.scorecard()["gates_loosened"] == []
    rubric = checkout.path / "eval/rubric.yaml"
    rubric.write_text(rubric.read_text().replace("0.95", "0.9"))
    told = "gate `refunds` lowered from 0.95 to 0.9 by this change"
    assert told in checkout.run("eval", day=IN[14]).outlines
    assert told in checkout.recall("score").outlines
    # Also where none is left, and a build names the branch that it is to be merged into.
    rubric.write_text("owner: us\n")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    checkout.run("eval", day=DAY)
    assert checkout.scorecard()["gates_loosened"] == ["gate `refunds` at 0.95 taken away by this change"]
