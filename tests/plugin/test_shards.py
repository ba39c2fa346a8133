"""`--recall-shard`: jobs that share one slice, and the one run that `recall ci merge` makes of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.trials.journal import NAME, read_journal
from pytest_recall.trials.record import Record
from tests.helpers.kept import after
from tests.helpers.project import BARE, ECHOING, Checkout, Project, case, failing, row
from tests.plugin.conftest import unnamed

Workers = tuple[str, ...]
NAMES = [f"c{number}" for number in range(7)]
MARKED = "import pytest\n\n\n" + "\n\n".join(
    f'@pytest.mark.recall("m{number}")\ndef test_{number}():\n    pass\n' for number in range(4)
)

NEXT = {name: row(2) for name in NAMES}


def project(*names: str) -> Project:
    """Return a project with due cases, the last of which fails."""
    given = names or tuple(NAMES)
    return ECHOING.with_cases(*map(case, given[:-1]), failing(given[-1])).with_state(**NEXT)


def journals(checkout: Checkout) -> list[Record]:
    """Return the journals of all runs."""
    return [read_journal(folder) for folder in checkout.artifacts.runs()]


def shards(checkout: Checkout, count: int, *args: str) -> list[pytest.RunResult]:
    """Run all shards, one after the other, as jobs do that begin at the same state."""
    return [checkout.run("--recall-shard", f"{number}/{count}", *args) for number in range(1, count + 1)]


def in_shards(pytester: pytest.Pytester, count: int) -> Checkout:
    """Return the project after all of so many shards."""

    def begin() -> Checkout:
        checkout = project().at(pytester)
        shards(checkout, count, "eval")
        return checkout

    return after(pytester, f"{count} shards", begin)


def told(records: list[Record]) -> list[tuple[str, str]]:
    """Return which case came to what in these runs, sorted."""
    return sorted((one.case_id, one.outcome.value) for record in records for one in record.trials)


class TestParts:
    """Which cases run where."""

    def test_all_shards_together_run_the_slice_and_nothing_twice(self, pytester: pytest.Pytester) -> None:
        checkout = project().at(pytester)
        for number, workers in enumerate(["-n2", "-n0", "-n0"], 1):
            checkout.run("eval", f"--recall-shard={number}/3", workers)
        assert checkout.asked() == NAMES
        records = journals(checkout)
        assert sorted(len(record.trials) for record in records) == [2, 2, 3]
        assert {record.header.fingerprint for record in records} == {records[0].header.fingerprint}
        assert [record.header.shard for record in records] == ["1/3", "2/3", "3/3"]
        assert {record.header.slice for record in records} == {tuple((name, "due") for name in NAMES)}
        assert sorted(pick for record in records for pick in record.header.picks) == sorted(records[0].header.slice)

    def test_marked_tests_are_dealt_out_with_the_rows(self, pytester: pytest.Pytester) -> None:
        checkout = project().with_files({"eval/test_marked.py": MARKED}).at(pytester)
        shards(checkout, 2, "eval", "--recall-mode=all")
        records = journals(checkout)
        assert [case_id for case_id, _ in told(records)] == sorted([*NAMES, *(f"m{number}" for number in range(4))])
        assert [len(record.trials) for record in records] == [6, 5]
        assert records[0].header.fingerprint == records[1].header.fingerprint
        assert records[0].header.slice == records[1].header.slice

    def test_marked_tests_may_be_all_there_is(self, pytester: pytest.Pytester) -> None:
        checkout = BARE.with_files({"test_marked.py": MARKED}).at(pytester)
        shards(checkout, 2, "--recall-mode=all")
        assert [case_id for case_id, _ in told(journals(checkout))] == ["m0", "m1", "m2", "m3"]

    def test_a_choice_by_scenario_is_dealt_out(self, pytester: pytest.Pytester) -> None:
        cases = [case(name, scenario="two" if number % 2 else "one") for number, name in enumerate(NAMES)]
        checkout = ECHOING.with_cases(*cases).at(pytester)
        shards(checkout, 2, "eval", "--scenarios=one")
        assert checkout.asked() == NAMES[::2]
        assert [len(record.trials) for record in journals(checkout)] == [2, 2]

    def test_a_choice_by_keyword_is_dealt_out(self, pytester: pytest.Pytester) -> None:
        checkout = project().with_files({"eval/test_marked.py": MARKED}).at(pytester)
        shards(checkout, 2, "eval", "-k", "c1 or c2 or c3 or test_0")
        records = journals(checkout)
        assert [case_id for case_id, _ in told(records)] == ["c1", "c2", "c3", "m0"]
        assert [len(record.trials) for record in records] == [2, 2]
        assert records[0].header.slice == records[1].header.slice

    def test_a_tag_narrows_what_is_dealt_out(self, pytester: pytest.Pytester) -> None:
        cases = [case(name, tags=["money"] if name < "c4" else []) for name in NAMES]
        checkout = ECHOING.with_cases(*cases).with_state(**NEXT).at(pytester)
        shards(checkout, 2, "eval", "-m", "money")
        assert checkout.asked() == NAMES[:4]

    def test_the_order_of_the_file_does_not_matter(self, pytester: pytest.Pytester) -> None:
        in_shards(pytester, 2)
        checkout = project().with_cases(*map(case, NAMES[::-1])).at(pytester)
        shards(checkout, 2, "eval")
        first, second, third, fourth = (dict(record.header.picks).keys() for record in journals(checkout))
        assert (first, second) == (third, fourth)

    def test_baselines_go_with_their_case(self, pytester: pytest.Pytester) -> None:
        source = "\n\n@pytest.fixture\ndef agent_other():\n    return lambda question: question\n"
        agent = "@pytest.fixture\ndef agent():\n    return lambda question: question\n"
        checkout = BARE.with_agent(agent + source).with_cases(*map(case, NAMES)).at(pytester)
        shards(checkout, 2, "eval", "--recall-mode=all", "--baselines=other")
        for record in journals(checkout):
            own = {case_id for case_id, _ in record.header.picks}
            assert {one.case_id for one in record.trials if one.arm} == own
            assert {one.case_id for one in record.trials if not one.arm} == own


class TestEmpty:
    """A shard that has nothing to do."""

    def test_it_is_a_success_and_says_so(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(case("only")).at(pytester)
        results = shards(checkout, 2, "eval")
        assert [result.ret for result in results] == [0, 0]
        results[1].stdout.fnmatch_lines(["recall: pr *: 1 of 1 case (1 new); shard 2 of 2 runs none of these 1"])
        assert checkout.asked() == ["only"]
        assert checkout.recall("ci", "merge", "eval/_artifacts").ret == 0

    def test_so_is_one_of_an_explicit_choice(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(case("only")).at(pytester)
        assert [result.ret for result in shards(checkout, 2, "eval", "-k", "only")] == [0, 0]

    def test_a_choice_of_nothing_is_not(self, pytester: pytest.Pytester) -> None:
        checkout = ECHOING.with_cases(case("only")).at(pytester)
        assert checkout.run("eval", "-k", "other", "--recall-shard=1/2").ret == pytest.ExitCode.NO_TESTS_COLLECTED


class TestOption:
    """How it is written."""

    def test_ci_may_name_it(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI_NODE_INDEX", "2")
        monkeypatch.setenv("CI_NODE_TOTAL", "3")
        checkout = project().at(pytester)
        checkout.run("eval", "--recall-shard=auto")
        assert checkout.journal().header.shard == "2/3"

    def test_without_the_option_the_environment_says_nothing(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CI_NODE_INDEX", "2")
        monkeypatch.setenv("CI_NODE_TOTAL", "3")
        checkout = project().at(pytester)
        checkout.run("eval")
        assert checkout.asked() == NAMES


class TestMerged:
    """What `recall ci merge` makes of them."""

    def test_it_is_the_run_without_shards(self, pytester: pytest.Pytester) -> None:
        checkout = in_shards(pytester, 3)
        assert checkout.state_text() == project().files["eval/recall.yaml"]
        result = checkout.recall("ci", "merge", "eval/_artifacts", "--apply")
        assert result.ret == 0
        result.stdout.fnmatch_lines(["*: 7 finished trials; 7 rows of eval/recall.yaml changed"])
        joined, state, card = checkout.journal(), unnamed(checkout.state_text()), checkout.scorecard()
        checkout.forget()
        project().at(pytester).run("eval")
        alone = checkout.journal()
        assert told([joined]) == told([alone])
        assert state == unnamed(checkout.state_text())
        own: dict[str, Any] = {"run": "", "started": "", "merged": (), "fingerprint": ""}
        assert joined.header._replace(**own) == alone.header._replace(**own)
        assert joined.exit_code == alone.exit_code == 1
        assert {**card, "run": "", "merged": []} == {**checkout.scorecard(), "run": "", "merged": []}

    def test_merging_again_changes_nothing(self, pytester: pytest.Pytester) -> None:
        checkout = in_shards(pytester, 2)
        runs = [str(folder) for folder in checkout.artifacts.runs()]
        checkout.recall("ci", "merge", *runs, "--apply")
        folder, state = checkout.artifacts.runs()[-1], checkout.state_text()
        text = (folder / NAME).read_bytes()
        result = checkout.recall("ci", "merge", *runs[::-1], runs[0], "--apply")
        assert result.ret == 0
        result.stdout.fnmatch_lines([f"{folder.name}: already in eval/recall.yaml"])
        assert (folder / NAME).read_bytes() == text
        assert checkout.state_text() == state
        assert len(checkout.artifacts.runs()) == 3

    def test_artifacts_of_jobs_are_found_in_whatever_folders_they_are_in(
        self, pytester: pytest.Pytester, tmp_path: Path
    ) -> None:
        checkout = in_shards(pytester, 2)
        for number, run in enumerate(checkout.artifacts.runs()):
            shutil.move(run, tmp_path / "downloaded" / f"job-{number}" / "eval" / "_artifacts" / run.name)
        assert checkout.recall("ci", "merge", str(tmp_path / "downloaded"), "--apply").ret == 0
        assert checkout.boxes() == {**dict.fromkeys(NAMES[:-1], 3), NAMES[-1]: 1}

    def test_a_lost_shard_leaves_its_rows_alone_and_is_named(self, pytester: pytest.Pytester) -> None:
        checkout = in_shards(pytester, 3)
        first, *rest = checkout.artifacts.runs()
        lost = {case_id for case_id, _ in read_journal(first).header.picks}
        shutil.rmtree(first)
        result = checkout.recall("ci", "merge", *map(str, rest), "--apply")
        assert result.ret == 2
        partial = "partial: 3 of 7 chosen cases not run: shard 1 of 3 is missing: 3 cases not run"
        assert partial in result.outlines
        assert {name: row for name, row in checkout.state().items() if name in lost} == {
            name: NEXT[name] for name in lost
        }
        card = checkout.scorecard()
        assert card["lost"] == [{"shard": "1/3", "ended": "missing", "cases": 3, "stop": None}]
        assert card["complete"] is False
        assert card["exit_code"] == 2
        assert {told["id"] for told in card["not_run"]} == lost
        page = (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")
        assert "**Partial: 3 of 7 chosen cases not run: shard 1 of 3 is missing" in "".join(page.splitlines()[:6])

    def test_a_shard_that_comes_late_is_folded_in_as_well(self, pytester: pytest.Pytester) -> None:
        checkout = in_shards(pytester, 2)
        first, second = map(str, checkout.artifacts.runs())
        checkout.recall("ci", "merge", second, "--apply")
        result = checkout.recall("ci", "merge", first, second, "--apply")
        assert result.ret == 0
        assert checkout.boxes() == {**dict.fromkeys(NAMES[:-1], 3), NAMES[-1]: 1}
        assert len(checkout.artifacts.runs()) == 3

    def test_shards_of_other_days_and_states_are_refused(self, pytester: pytest.Pytester) -> None:
        checkout = project().at(pytester)
        checkout.run("eval", "--recall-shard=1/2")
        checkout.run("eval", "--recall-shard=2/2", day="2026-03-11")
        result = checkout.recall("ci", "merge", "eval/_artifacts")
        assert result.ret == 2
        (sentence,) = result.errlines
        assert "(shard 1/2) and " in sentence
        assert sentence.endswith("are of different runs: date 2026-03-10 and 2026-03-11; merge the shards of one")
        assert not any(read_journal(folder).header.merged for folder in checkout.artifacts.runs())

    def test_a_shard_by_itself_is_not_applied_and_a_run_that_is_none_is_refused_by_name_and_passed_over_in_a_folder(
        self, pytester: pytest.Pytester
    ) -> None:
        checkout = project().at(pytester)
        checkout.run("eval", "--recall-mode=all")
        (whole,) = checkout.artifacts.runs()
        result = checkout.recall("ci", "merge", str(whole))
        assert result.ret == 2
        result.stderr.fnmatch_lines(["recall: *: is not a shard of a run; leave it out"])
        (result,) = shards(checkout, 1, "eval")
        result.stdout.fnmatch_lines(["eval/recall.yaml: left alone by shard 1/1; `recall ci merge --apply` applies*"])
        result = checkout.recall("state", "apply", "latest")
        assert result.ret == 2
        result.stderr.fnmatch_lines(["*: is shard 1/1 of a run; join all of them with `recall ci merge --apply`"])
        result = checkout.recall("ci", "merge", "eval/_artifacts")
        assert result.ret == 0
        result.stdout.fnmatch_lines(["1 run that is not a shard was passed over"])

    def test_another_folder_may_be_named(self, pytester: pytest.Pytester) -> None:
        checkout = in_shards(pytester, 2)
        for _ in range(2):
            assert checkout.recall("ci", "merge", "eval/_artifacts", "-o", "joined").ret == 0
        assert len(read_journal(checkout.path / "joined").trials) == 7
        assert len(checkout.artifacts.runs()) == 2
        assert checkout.recall("ci", "merge", "eval/_artifacts", "-o", "eval").ret == 2
        (run, _) = checkout.artifacts.runs()
        assert checkout.recall("ci", "merge", "eval/_artifacts", "-o", str(run)).ret == 2

    def test_cases_that_were_chosen_by_hand_need_a_word_to_be_applied(self, pytester: pytest.Pytester) -> None:
        checkout = project().at(pytester)
        before = checkout.state_text()
        shards(checkout, 2, "eval", "-k", "c1 or c2")
        assert checkout.recall("ci", "merge", "eval/_artifacts", "--apply").ret == 2
        assert checkout.state_text() == before
        assert checkout.recall("ci", "merge", "eval/_artifacts", "--apply", "--explicit").ret == 0
        assert checkout.boxes()["c1"] == 3
