"""Cases that are asked several times, fails that are asked again, and coin-flips that are set apart."""

from __future__ import annotations

import collections
import xml.etree.ElementTree as ET
from datetime import date

import pytest

from pytest_recall.files import strict_yaml
from pytest_recall.schedule.events import fold_events
from pytest_recall.schedule.run_file import read_run_file
from pytest_recall.schedule.state_file import row_of
from tests.helpers.project import BARE, IN, Project, case, failing, row
from tests.helpers.repository import Repository
from tests.helpers.talking import asking, finished, talking
from tests.helpers.upstream import Upstream

Workers = tuple[str, ...]
# Answers by turns as `input` spells it: p passes, f fails, e crashes.
SPELLED = """\
import collections

COUNT = collections.Counter()


@pytest.fixture
def fresh():
    return []


@pytest.fixture
def agent(fresh):
    def answer(question):
        asked(question)
        assert not fresh, "a fixture of an earlier trial"
        fresh.append(question)
        letter = question.split()[-1][COUNT[question]]
        COUNT[question] += 1
        if letter == "e":
            raise RuntimeError("boom")
        return {"p": "yes", "f": "no"}[letter]

    return answer
"""


def spelled(case_id: str, letters: str, **given: object) -> dict[str, object]:
    """Return a case whose trials end as `letters` say."""
    return case(case_id, **{"input": f"{case_id} {letters}", "expected": "yes", **given})


def project(*cases: dict[str, object], rubric: str = "") -> Project:
    """Return a project with these cases and this rubric."""
    made = BARE.with_agent(SPELLED).with_cases(*cases)
    return made.with_files({"eval/rubric.yaml": f"owner: ana\nblocks: failure\n{rubric}"})


class TestTrials:
    """`trials` of a case."""

    def test_enough_of_them_must_pass(self, pytester: pytest.Pytester) -> None:
        checkout = project(
            spelled("all", "ppp", trials=3),
            spelled("most", "pfppp", trials="4of5"),
            spelled("few", "pfpfp", trials="4of5"),
            spelled("open", "pee", trials=3),
        ).at(pytester)
        result = checkout.run("eval")
        result.assert_outcomes(passed=2, failed=1, errors=1)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert checkout.boxes() == {"all": 1, "most": 1, "few": 1}
        counts = dict.fromkeys(("all", "most", "few", "open"), 0)
        for trial in checkout.journal().trials:
            counts[trial.case_id] += 1
            assert trial.repeat == counts[trial.case_id]
            assert trial.rule == ("pass 3of3" if trial.case_id in ("all", "open") else "pass 4of5")
        assert counts == {"all": 3, "most": 5, "few": 5, "open": 3}
        result.stdout.fnmatch_lines(["passed some of several trials (2 of 3): *few 3 of 5*"])

    def test_what_pytest_says_of_them(self, pytester: pytest.Pytester) -> None:
        checkout = project(spelled("few", "pff", trials="2of3"), spelled("last", "ffp", trials="2of3")).at(pytester)
        result = checkout.run("eval", "--junitxml=out.xml", "-v")
        result.stdout.fnmatch_lines(["*cases.yaml::few RERUN*", "*2 failed, 4 rerun*"])
        text = result.stdout.str()
        assert "1 of 3 trials passed (pass 2of3)" in text
        suite = ET.parse(checkout.path / "out.xml").getroot()[0]
        assert suite.attrib["tests"] == "2"
        assert suite.attrib["failures"] == "2"

    def test_the_first_fail_of_a_case_stops_a_run_that_stops_there(self, pytester: pytest.Pytester) -> None:
        checkout = project(spelled("a", "fpp", trials="2of3"), spelled("b", "ff", trials=2), failing("c")).at(pytester)
        result = checkout.run("eval", "-x")
        result.assert_outcomes(passed=1, failed=1)
        assert "chosen but not run (1): c" in result.stdout.str()

    def test_a_node_id_runs_all_of_them_and_nothing_runs_where_only_fixtures_are_shown(
        self, pytester: pytest.Pytester
    ) -> None:
        checkout = project(spelled("a", "ppp", trials=3), case("b")).at(pytester)
        checkout.run("eval", "--setup-only")
        assert checkout.asked() == []
        checkout.run("eval/cases.yaml::a").assert_outcomes(passed=1)
        assert len(checkout.journal().trials) == 3


class TestConfirm:
    """`confirm` of the rubric."""

    def test_a_fail_is_asked_again_before_it_counts(self, pytester: pytest.Pytester) -> None:
        known = {name: row(3, 3) for name in ("good", "twice", "once", "thrice")}
        checkout = (
            project(
                spelled("good", "p"),
                spelled("twice", "ff"),
                spelled("once", "fpp"),
                spelled("thrice", "fpf"),
                spelled("crash", "e"),
                spelled("crashes", "fee"),
                rubric="confirm: 2of3\n",
            )
            .with_state(**known)
            .at(pytester)
        )
        result = checkout.run("eval")
        # A crash is not asked again and confirms nothing.
        result.assert_outcomes(passed=2, failed=2, errors=2)
        assert checkout.boxes() == {"good": 4, "twice": 1, "once": 4, "thrice": 1}
        asked = collections.Counter(question.split()[0] for question in checkout.asked())
        assert asked == {"good": 1, "twice": 2, "once": 3, "thrice": 3, "crash": 1, "crashes": 3}
        lapses = {name: found.lapses for name, found in checkout.state().items()}
        assert lapses == {"good": 0, "twice": 1, "once": 0, "thrice": 1}

    def test_the_evidence_of_a_case_confirms_its_fail_or_is_kept_for_the_next_run(
        self, pytester: pytest.Pytester
    ) -> None:
        known = {name: row(3, 3) for name in ("good", "twice", "doubt")}
        known |= {"flaky": row(3, 3, failed=4, tried=20), "late": row(3, 3, evidence=3.2, failed=1, tried=40)}
        known["bad"] = row(1, 0, failure_note="no", failed=2, tried=9)
        letters = {"good": "p", "twice": "ff", "doubt": "fppp", "flaky": "fpp", "late": "f", "bad": "f", "new": "fppp"}
        cases = [spelled(name, text) for name, text in letters.items()]
        checkout = project(*cases, rubric="confirm: evidence:70\n").with_state(**known).at(pytester)
        result = checkout.run("eval", "-n1")
        result.assert_outcomes(passed=2, failed=3, xfailed=2)
        assert sorted(checkout.asked()) == sorted(
            f"{name} {text}" for name, text in letters.items() for _ in range(len(text))
        )
        assert checkout.boxes() == {"good": 4, "twice": 1, "doubt": 3, "flaky": 4, "late": 1, "bad": 1}
        state = checkout.state()
        assert {name: (found.evidence, found.failed, found.tried) for name, found in state.items()} == {
            "good": (1, 0, 1),
            "twice": (1, 2, 2),
            "doubt": (2.24, 1, 4),
            "flaky": (1, 5, 23),
            "late": (1, 2, 41),
            "bad": (1, 2, 9),
        }
        assert state["doubt"] == known["doubt"]._replace(evidence=2.24, failed=1, tried=4)
        result.stdout.fnmatch_lines(
            [
                "*not confirmed, so that no box moved (2): *doubt, failed 1 of 4*",
                "flake, failed of tried (2): doubt 1 of 4, flaky 5 of 23",
            ]
        )
        card = checkout.scorecard()
        assert card["flake"]["good"] == {"failed": 0, "tried": 1}
        assert [one["standing"] for one in card["failed"] if one["id"] == "doubt"] == ["not confirmed"]

    def test_evidence_goes_into_the_run_file_of_a_branch(self, pytester: pytest.Pytester) -> None:
        made = project(spelled("doubt", "fppp"), rubric="confirm: evidence:70\n").with_files({".gitignore": "*.pyc\n"})
        checkout = made.with_state(doubt=row(3, 3)).at(pytester)
        repository = Repository.at(checkout.path)
        repository.commit()
        repository.git("switch", "-qc", "feature")
        result = checkout.run("eval")
        result.assert_outcomes(xfailed=1)
        assert result.ret == pytest.ExitCode.OK
        before, after = row(3, 3), row(3, 3, evidence=2.24, failed=1, tried=4)
        assert checkout.state() == {"doubt": before}
        (path,) = checkout.path.glob("eval/runs/*.yaml")
        events = read_run_file(path, path.name)
        assert fold_events(checkout.state(), {"run": events}) == {"doubt": after}
        told = strict_yaml.load(path.read_text(encoding="utf-8"), path.name)["cases"]["doubt"]
        assert (row_of(told["before"]), row_of(told["after"])) == (before, after)
        repository.commit("Run")
        repository.git("switch", "-q", "main")
        assert repository.merge("feature")
        assert checkout.recall("state", "apply").ret == 0
        assert checkout.state() == {"doubt": after}

    def test_a_crash_of_the_process_leaves_the_series_open(self, pytester: pytest.Pytester) -> None:
        source = SPELLED.replace('raise RuntimeError("boom")', "__import__('os')._exit(3)")
        made = project(spelled("a", "fe"), rubric="confirm: 2of3\n").with_agent(source)
        checkout = made.with_state(a=row(3, 3)).at(pytester)
        checkout.run_apart("eval")
        done = checkout.recall("state", "apply", "latest")
        assert done.ret == 0, done.stderr.str()
        assert checkout.boxes() == {"a": 3}


class TestRecording:
    """Every trial is a recording of its own."""

    def test_each_is_replayed_from_its_own(self, pytester: pytest.Pytester, upstream: Upstream) -> None:
        body = "@pytest.fixture\ndef agent():\n    return lambda question: httpx2_sync(question)\n"
        made = talking(upstream, body).with_cases(asking("a", trials=3), asking("b"))
        checkout = made.at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=2)
        names = ["one/a.ndjson", "one/a~2.ndjson", "one/a~3.ndjson", "one/b.ndjson"]
        assert sorted(finished(checkout)) == names
        first = [trial.answer.text for trial in checkout.journal().trials if trial.answer]
        assert len(set(first)) == 4
        result = checkout.run("eval", "--replay", "--recall-mode=all")
        assert upstream.count == 4
        result.assert_outcomes(passed=2)
        assert [trial.answer.text for trial in checkout.journal().trials if trial.answer] == first
        listed = checkout.recall("cassettes", "list").stdout.str()
        assert "one/a (trial 3)" in listed
        assert "orphan" not in listed
        # A new recording of fewer leaves none of the old.
        made.with_cases(asking("a"), asking("b")).at(pytester)
        checkout.run("eval", "--record", "--recall-mode=all").assert_outcomes(passed=2)
        assert sorted(finished(checkout)) == ["one/a.ndjson", "one/b.ndjson"]


class TestQuarantine:
    """Flaky cases are set apart, and shown in every scorecard."""

    def test_its_fail_blocks_nobody_and_is_shown(self, pytester: pytest.Pytester) -> None:
        checkout = (
            project(spelled("coin", "f"), spelled("good", "p"))
            .with_state(coin=row(2, 1, lapses=3), good=row(2, 1))
            .at(pytester)
        )
        result = checkout.run("eval")
        result.assert_outcomes(passed=1, failed=1)
        coin = checkout.state()["coin"]
        assert (coin.lapses, coin.quarantined, coin.owner) == (4, date.fromisoformat(IN[0]), "ana")
        again = checkout.run("eval", f"--recall-date={IN[1]}", "-n1")
        again.assert_outcomes(xfailed=1)
        assert again.ret == pytest.ExitCode.OK
        again.stdout.fnmatch_lines(
            [
                "No regression: 0 of 1 case passes; 1 in quarantine; 50 % of the last verdicts of all 2 cases pass",
                "1 in quarantine: `recall score -v` shows it",
                "in quarantine, so that a failure blocks nothing (1): coin (2026-03-10 to 2026-04-09, ana, 4 lapses)",
            ]
        )
        later = checkout.run("eval", f"--recall-date={IN[3]}", "-k", "good")
        later.stdout.fnmatch_lines(["in quarantine, so that a failure blocks nothing (1): coin *"])
        assert checkout.recall("score", "--fail-on", "failure").ret == 0

    def test_it_ends_when_the_case_has_passed_three_times(self, pytester: pytest.Pytester) -> None:
        coin = row(1, 0, lapses=5, quarantined=date(2026, 3, 1), owner="ana", failure_note="no")
        checkout = project(spelled("coin", "ppp")).with_state(coin=coin).at(pytester)
        for day, box in (("2026-03-10", 2), ("2026-03-13", 3), ("2026-03-20", 4)):
            checkout.run("eval", f"--recall-date={day}").assert_outcomes(passed=1)
            assert checkout.boxes() == {"coin": box}
        settled = checkout.state()["coin"]
        assert (settled.lapses, settled.quarantined, settled.owner) == (0, None, None)

    def test_it_can_be_switched_off(self, pytester: pytest.Pytester) -> None:
        made = project(spelled("coin", "f"), rubric="quarantine_lapses: null\n")
        checkout = made.with_state(coin=row(2, 1, lapses=9)).at(pytester)
        checkout.run("eval").assert_outcomes(failed=1)
        assert checkout.state()["coin"].quarantined is None
        assert checkout.state()["coin"].lapses == 10

    def test_a_series_of_such_a_case_blocks_nobody_either(self, pytester: pytest.Pytester) -> None:
        coin = row(1, 0, lapses=5, quarantined=date(2026, 3, 1), owner="ana")
        checkout = project(spelled("coin", "ff"), rubric="confirm: 2of3\n").with_state(coin=coin).at(pytester)
        result = checkout.run("eval")
        result.assert_outcomes(xfailed=1)
        assert result.ret == pytest.ExitCode.OK
