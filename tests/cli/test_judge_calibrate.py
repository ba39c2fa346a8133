"""`recall judges calibrate`: judges compared with people."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files import strict_yaml
from tests.helpers import command
from tests.helpers.project import Checkout, Project
from tests.helpers.screens import assert_screen, shown
from tests.helpers.scripted import asks, judged, model, scores, sections, times_asked
from tests.helpers.upstream import Upstream, running
from tests.models.endpoint import Answer, Asked, chat, endpoint

COMMAND = ("judges", "calibrate", "labels.jsonl")
KEPT = "eval/_artifacts/calibration/rubric.ndjson"

DYING = '''
import os
import signal


class Dying(Judge):
    """One whose process is killed while it is asked for the fourth time, as long as there is a file `die`."""

    def ask(self, ask):
        log = pathlib.Path(__file__).with_name("judged.txt")
        if pathlib.Path(__file__).with_name("die").exists() and log.exists() and len(log.read_text().split()) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().ask(ask)


dying = Dying("dying")
'''
REMOTE = '''
import httpx


class Remote(Judge):
    """One whose every reply comes from an upstream, which echoes it."""

    def ask(self, ask):
        said = super().ask(ask)
        url = pathlib.Path(__file__).with_name("url.txt").read_text()
        body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "echo " + said.text}]}
        reply = httpx.post(url + "/v1/chat/completions", json=body).json()
        return Reply(text=reply["choices"][0]["message"]["content"], model=reply["model"])


remote = Remote("remote")
'''


def label(number: int, answer: str, verdict: str, **more: Any) -> dict[str, Any]:
    """Return a label for the judge `rubric`."""
    plain = {"id": f"a{number}", "question": "Is it?", "answer": f"{number} {answer}", "label": verdict}
    return {**plain, "arguments": {"expected": "is right"}, **more}


LABELS = [label(n, *(("right", "pass") if n % 2 else ("no", "fail"))) for n in range(10)]


def with_labels(project: Project, labels: Iterable[dict[str, Any]] = LABELS) -> Project:
    """Return the project with a labels file."""
    return project.with_files({"labels.jsonl": "".join(json.dumps(one) + "\n" for one in labels)})


def calibrating(judge: Any = "oracle", labels: Iterable[dict[str, Any]] = LABELS, **rubric: Any) -> Project:
    """Return a project with a judge and labels."""
    return with_labels(judged(asks("a", "right"), judge=judge, **rubric), labels)


def judges_in(result: pytest.RunResult) -> list[dict[str, Any]]:
    """Return what the command says of each judge as JSON."""
    found: list[dict[str, Any]] = json.loads("\n".join(result.outlines))["judges"]
    return found


@pytest.fixture(name="upstream")
def _upstream() -> Iterator[Upstream]:
    yield from running()


class TestReport:
    """What is said of a judge."""

    def test_what_it_says(self, pytester: pytest.Pytester) -> None:
        wrong = [label(10, "right, but no", "fail"), label(11, "<b>good", "pass", score=1.0)]
        checkout = calibrating(labels=[*LABELS, *wrong, label(20, "x", "pass", judge="memory")]).at(pytester)
        commands = [f"{' '.join(COMMAND)} {more}".strip() for more in ("--dry-run", "", "--markdown", "--write")]
        screen = shown(partial(command.run, checkout.path), *commands)
        assert_screen(
            Path(__file__).parent / "screens" / "calibrate.txt", re.sub(r"\b[0-9a-f]{8}\b", "VERSION", screen)
        )

    def test_as_a_process(self, pytester: pytest.Pytester) -> None:
        assert calibrating().at(pytester).recall_apart(*COMMAND).ret == 0

    @pytest.mark.parametrize("judge", ["refusing", "prose", "slow"])
    def test_what_cannot_be_read_or_had_is_no_score(self, pytester: pytest.Pytester, judge: str) -> None:
        checkout = calibrating(judge, min_kappa=0.6).at(pytester)
        result = checkout.recall(*COMMAND, "--json", "--write")
        (found,) = judges_in(result)
        assert (found["n"], found["kappa"], found["agreement"], found["wrong"]) == (0, None, None, [])
        assert len(found["unjudged"]) == 10
        assert result.ret == 1
        assert not (checkout.path / "eval/calibration.yaml").exists()
        result.stderr.fnmatch_lines(["recall: * its kappa is undefined, and not written"])

    def test_a_panel_its_members_its_appellate_and_the_whole(self, pytester: pytest.Pytester) -> None:
        rubric: dict[str, Any] = {"appellate": "third"}
        checkout = calibrating(["oracle", "generous", "second"], **rubric).at(pytester)
        found = judges_in(checkout.recall(*COMMAND, "--json"))
        names = [model(name) for name in ("oracle", "generous", "second")]
        panel = " + ".join(names)
        third = model("third")
        assert [(one["model"], one["role"]) for one in found] == [
            *((name, "votes") for name in names),
            (panel, "stands"),
            (third, "stands"),
            (f"{panel}, appeals to {third}", "whole"),
        ]
        assert [one["n"] for one in found] == [10] * 6
        assert found[1]["false_passes"]["count"] == 5
        assert found[4]["kappa"] == found[5]["kappa"] == 1.0
        # No judge is asked twice for what several of them need.
        assert sorted(times_asked(checkout)) == sorted(["oracle", "second", "third"] * 10)

    def test_a_version_for_each_shape_of_the_question(self, pytester: pytest.Pytester) -> None:
        tone = [label(20, "right", "pass", arguments={}, criteria=["tone"])]
        checkout = calibrating(labels=[*LABELS, *tone], criteria={"tone": {"question": "Is it kind?"}}).at(pytester)
        found = judges_in(checkout.recall(*COMMAND, "--json"))
        assert sorted(one["n"] for one in found) == [1, 10]
        assert len({one["version"] for one in found}) == 2

    @pytest.mark.parametrize(
        ("kind", "arguments"), [("memory", {}), ("pairwise", {"against": "nothing of use", "threshold": 1})]
    )
    def test_the_other_kinds(self, pytester: pytest.Pytester, kind: str, arguments: dict[str, Any]) -> None:
        labels = [{**one, "arguments": arguments, "expected": "it is right"} for one in LABELS]
        checkout = calibrating(labels=labels).at(pytester)
        (found,) = judges_in(checkout.recall(*COMMAND, "--kind", kind, "--json"))
        assert (found["judge"], found["kappa"], found["n"]) == (kind, 1.0, 10)


class TestWriting:
    """eval/calibration.yaml, and the run that goes by it."""

    def test_a_run_goes_by_what_was_written(self, pytester: pytest.Pytester) -> None:
        project = calibrating(min_kappa=0.6)
        checkout = project.with_cases(asks("a", "wrong")).at(pytester)
        checkout.run("eval").assert_outcomes(xfailed=1)
        assert checkout.recall(*COMMAND, "--write").ret == 0
        checkout.run("eval").assert_outcomes(failed=1)
        assert checkout.boxes() == {"a": 1}
        text = (checkout.path / "eval/calibration.yaml").read_text()
        assert "kappa: 1.0, interval: [0." in text
        assert "n: 10, labelled_passes: 5, false_passes: 0, false_fails: 0, unjudged: 0, date: " in text
        assert 'labels: "sha256:' in text

    def test_an_entry_replaces_its_own_and_no_other(self, pytester: pytest.Pytester) -> None:
        other = 'judges:\n  - {judge: memory, model: "m", version: "v", kappa: 0.5, n: 3, note: "keep"}\n'
        checkout = calibrating().with_files({"eval/calibration.yaml": other}).at(pytester)
        for _ in range(2):
            checkout.recall(*COMMAND, "--write").stderr.fnmatch_lines(["eval/calibration.yaml: 1 row written"])
        rows = (checkout.path / "eval/calibration.yaml").read_text().splitlines()
        assert len(rows) == 4
        assert rows[2] == '  - {judge: "memory", model: "m", version: "v", kappa: 0.5, n: 3, note: "keep"}'

    def test_those_who_vote_are_written_and_the_whole_with_its_appeals(self, pytester: pytest.Pytester) -> None:
        checkout = calibrating(["oracle", "second"], appellate="third", thresholds={"rubric": 0.7}).at(pytester)
        checkout.recall(*COMMAND, "--write").stderr.fnmatch_lines(["eval/calibration.yaml: 5 rows written"])
        text = (checkout.path / "eval/calibration.yaml").read_text()
        rows = strict_yaml.load(text, "calibration.yaml")["judges"]
        whole = f"{model('oracle')} + {model('second')}, appeals to {model('third')}"
        assert whole in {row["model"] for row in rows}
        assert {row["threshold"] for row in rows} == {0.7}

    def test_a_judge_below_the_minimum_is_exit_code_1(self, pytester: pytest.Pytester) -> None:
        checkout = calibrating("generous", min_kappa=0.6).at(pytester)
        result = checkout.recall(*COMMAND)
        assert result.ret == 1
        result.stderr.fnmatch_lines([f"recall: rubric, {model('generous')}, * has a kappa of 0.000, below 0.6"])
        assert calibrating("generous").at(pytester).recall(*COMMAND).ret == 0


class TestGoingOn:
    """Nothing that was paid for is asked again."""

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
    def test_a_calibration_that_was_killed_goes_on_where_it_was(self, pytester: pytest.Pytester) -> None:
        project = calibrating("dying")
        checkout = project.with_files({"judge.py": project.files["judge.py"] + DYING, "die": ""}).at(pytester)
        assert checkout.recall_apart(*COMMAND).ret == -signal.SIGKILL
        assert len((checkout.path / KEPT).read_bytes().splitlines()) == 3
        (checkout.path / "die").unlink()
        checkout.recall(*COMMAND, "--dry-run").stdout.fnmatch_lines(["10 answers: 7 calls, *; of 3 more the reply *"])
        result = checkout.recall(*COMMAND)
        result.stdout.fnmatch_lines(["rubric *10 *100.0 %*", "made 7 calls, price unknown"])
        assert len(times_asked(checkout)) == 10

    def test_what_is_kept_is_not_asked_again_unless_it_shall_be_fresh(self, pytester: pytest.Pytester) -> None:
        checkout = calibrating().at(pytester)
        checkout.recall(*COMMAND)
        again = checkout.recall(*COMMAND)
        again.stdout.fnmatch_lines(["no calls were made: every reply was kept from before"])
        again.stderr.no_fnmatch_line("judged *")
        assert len(times_asked(checkout)) == 10
        checkout.recall(*COMMAND, "--fresh")
        assert len(times_asked(checkout)) == 20

    def test_another_prompt_is_another_question(self, pytester: pytest.Pytester) -> None:
        checkout = calibrating().at(pytester)
        checkout.recall(*COMMAND)
        with_labels(Project(), [{**one, "arguments": {"expected": "is kind"}} for one in LABELS]).at(pytester)
        checkout.recall(*COMMAND)
        assert len(times_asked(checkout)) == 20

    def test_what_failed_is_asked_again(self, pytester: pytest.Pytester) -> None:
        checkout = calibrating("slow").at(pytester)
        for _ in range(2):
            (found,) = judges_in(checkout.recall(*COMMAND, "--json"))
            assert "no reply within 60 s" in found["unjudged"][0]["reason"]
        assert not (checkout.path / KEPT).exists()

    def test_a_line_for_each_tenth_where_there_is_no_terminal(self, pytester: pytest.Pytester) -> None:
        labels = [label(n, "right", "pass") for n in range(40)]
        result = calibrating(labels=labels).at(pytester).recall(*COMMAND)
        told = [line for line in result.errlines if line.startswith("judged ")]
        assert told == [f"judged {n} of 40, {40 - n} left" for n in range(4, 41, 4)]

    def test_a_dry_run_counts_and_asks_nothing(self, pytester: pytest.Pytester) -> None:
        labels = [{**one, "arguments": {"against": "nothing of use"}} for one in LABELS]
        checkout = calibrating(["oracle", "second"], labels, appellate="third").at(pytester)
        result = checkout.recall(*COMMAND, "--kind", "pairwise", "--dry-run")
        # Two judges and the appellate, each in both orders.
        result.stdout.fnmatch_lines(["10 answers: 60 calls, or more where replies fail"])
        assert times_asked(checkout) == []
        assert not (checkout.path / "eval/_artifacts").exists()


class TestCassettes:
    """The calls of judges, recorded and replayed."""

    @pytest.fixture(name="checkout")
    def _checkout(self, pytester: pytest.Pytester, upstream: Upstream) -> Checkout:
        project = calibrating("remote")
        files = {"judge.py": project.files["judge.py"] + REMOTE, "url.txt": upstream.url}
        return project.with_files(files).at(pytester)

    def test_a_replay_asks_nobody_and_comes_to_the_same(self, checkout: Checkout, upstream: Upstream) -> None:
        recorded = checkout.recall(*COMMAND, "--record", "--json")
        assert upstream.count == 10
        upstream.close()
        replayed = checkout.recall(*COMMAND, "--replay", "--json")
        assert judges_in(replayed) == judges_in(recorded)
        cost = json.loads("\n".join(replayed.outlines))["cost"]
        assert (cost["calls"], cost["replayed"]) == (10, 10)
        assert (checkout.path / "eval/cassettes/_calibration/labels-rubric.ndjson").exists()
        assert not (checkout.path / KEPT).exists()
        assert checkout.recall("cassettes", "verify").ret == 0
        checkout.recall("cassettes", "prune", "--dry-run").stdout.fnmatch_lines(["nothing to delete"])

    def test_another_folder(self, checkout: Checkout, upstream: Upstream) -> None:
        checkout.recall(*COMMAND, "--record", "tapes")
        assert (checkout.path / "tapes/_calibration/labels-rubric.ndjson").exists()
        assert checkout.recall(*COMMAND, "--replay", "tapes").ret == 0
        assert upstream.count == 10

    def test_what_is_recorded_is_replayed_and_the_rest_is_asked(self, checkout: Checkout, upstream: Upstream) -> None:
        checkout.recall(*COMMAND, "--record")
        found = json.loads("\n".join(checkout.recall(*COMMAND, "--record=missing", "--json").outlines))
        assert found["cost"]["replayed"] == upstream.count == 10
        assert not (checkout.path / "missing").exists()

    def test_what_an_ignored_host_is_asked_is_said_and_takes_no_recording_away(
        self, checkout: Checkout, upstream: Upstream
    ) -> None:
        checkout.recall(*COMMAND, "--record")
        cassette = checkout.path / "eval/cassettes/_calibration/labels-rubric.ndjson"
        before = cassette.read_bytes()
        with (checkout.path / "eval/rubric.yaml").open("a", encoding="utf-8") as rubric:
            rubric.write("calls: {127.0.0.1: ignore}\n")
        again = checkout.recall(*COMMAND, "--record")
        assert (again.ret, cassette.read_bytes()) == (2, before)
        again.stderr.fnmatch_lines(["*labels-rubric.ndjson: nothing was recorded of it, and its recording stays *"])
        replayed = checkout.recall(*COMMAND, "--replay")
        replayed.stdout.fnmatch_lines(["let through by the rubric, and not counted: 10 calls (127.0.0.1)"])
        replayed.stderr.fnmatch_lines(["*10 calls went live to 127.0.0.1, which `calls` of eval/rubric.yaml:*"])
        found = json.loads("\n".join(checkout.recall(*COMMAND, "--replay", "--json").outlines))
        assert found["let_through"]["calls"] == {"127.0.0.1": 10}
        assert upstream.count == 40

    def test_a_program_that_runs_in_a_replay_is_in_its_result(self, checkout: Checkout) -> None:
        judge = checkout.path / "judge.py"
        starting = "import subprocess\n        subprocess.run(['git', '--version'], check=True)\n"
        judge.write_text(judge.read_text().replace("said = super()", f"{starting}        said = super()"))
        with (checkout.path / "eval/rubric.yaml").open("a", encoding="utf-8") as rubric:
            rubric.write("replay: {programs: [git]}\n")
        checkout.recall(*COMMAND, "--record")
        found = json.loads("\n".join(checkout.recall(*COMMAND, "--replay", "--json").outlines))
        assert found["let_through"]["programs"] == ["git"]

    def test_a_call_that_is_not_recorded_ends_it_in_one_sentence(self, checkout: Checkout, upstream: Upstream) -> None:
        missing = checkout.recall(*COMMAND, "--replay")
        missing.stderr.fnmatch_lines(["recall: eval/cassettes/_calibration/labels-rubric.ndjson: no such recording; *"])
        checkout.recall(*COMMAND, "--record")
        with_labels(Project(), [label(n, "right", "pass") for n in range(4)]).at(checkout.pytester)
        (checkout.path / "judge.py").write_text(
            (checkout.path / "judge.py").read_text().replace("gpt-4o-mini", "gpt-4o")
        )
        changed = checkout.recall(*COMMAND, "--replay")
        assert changed.ret == 2
        changed.stderr.fnmatch_lines(["recall: *labels-rubric.ndjson: POST * is not recorded; *--record records it*"])
        assert upstream.count == 10


def grading(asked: Asked) -> Answer:
    """Grade the answer in the prompt: full marks if it says `right`."""
    answer = sections(asked.body["messages"][-1]["content"])["ANSWER"]
    return chat(scores(requirement=int("right" in answer)))


def test_a_model_of_a_provider_is_asked_kept_recorded_and_replayed(pytester: pytest.Pytester) -> None:
    pytest.importorskip("openai")
    prose = chat("Ten of ten.")
    with endpoint(prose, grading) as upstream:
        selector = f"openai:m;{upstream.url}/v1"
        command = (*COMMAND, "--judge", selector, "--json")
        checkout = calibrating().at(pytester)
        found = checkout.recall(*command)
        (judge,) = judges_in(found)
        assert (judge["model"], judge["n"], judge["kappa"]) == (selector, 10, 1.0)
        cost = json.loads("\n".join(found.outlines))["cost"]
        # One reply could not be used, and was asked for again.
        assert (cost["calls"], cost["tokens"]["output"], len(upstream.asked)) == (11, 55, 11)
        assert judges_in(checkout.recall(*command)) == [judge]
        assert len(upstream.asked) == 11
        checkout.recall(*command, "--record")
        assert len(upstream.asked) == 21
    assert judges_in(checkout.recall(*command, "--replay")) == [judge]


class TestBudget:
    """A calibration that may cost so much, at a dollar a call."""

    PRICES = {"m-2026": {"input": 50_000, "cache_read": 50_000, "output": 100_000}}  # noqa: RUF012 - it is not changed

    @pytest.fixture(autouse=True)
    def _needs_the_sdk(self) -> None:
        pytest.importorskip("openai")

    def test_what_is_left_is_not_judged_and_comes_next_time(self, pytester: pytest.Pytester) -> None:
        with endpoint(grading) as upstream:
            command = (*COMMAND, "--judge", f"openai:m;{upstream.url}/v1", "--write", "--budget")
            checkout = calibrating(prices=self.PRICES, min_kappa=0.6).at(pytester)
            first = checkout.recall(*command, "4.50")
            assert (first.ret, len(upstream.asked)) == (2, 4)
            first.stdout.fnmatch_lines(
                [
                    "rubric *4 *100.0 %*",
                    "not judged (6): a4, a5, a6, a7, a8, a9; the budget of $4.50 has no room for another call",
                    "*spent $4.00*",
                ]
            )
            first.stderr.fnmatch_lines(
                [
                    "recall: spent $4.00 of the budget of $4.50, which has no room * call, as one may cost $1.00",
                    "recall: eval/calibration.yaml is as it was; the replies are kept: the same command resumes it",
                ]
            )
            assert not (checkout.path / "eval/calibration.yaml").exists()
            second = checkout.recall(*command, "100")
            assert (second.ret, len(upstream.asked)) == (0, 10)
            second.stdout.fnmatch_lines(["rubric *10 *100.0 %*"])
            second.stderr.fnmatch_lines(["recall: spent $6.00 of the budget of $100.00"])
            assert (checkout.path / "eval/calibration.yaml").exists()
            assert list(checkout.artifacts.folder.glob(".spent*")) == []

    def test_an_answer_in_the_middle_is_left_and_what_is_kept_is_judged(self, pytester: pytest.Pytester) -> None:
        with endpoint(grading) as upstream:
            both = [part for name in "mn" for part in ("--judge", f"openai:{name};{upstream.url}/v1")]
            checkout = calibrating(prices=self.PRICES).at(pytester)
            for calls, judged in ((3, 1), (6, 3), (9, 4)):
                result = checkout.recall(*COMMAND, *both, "--json", "--budget", "3")
                found = json.loads("\n".join(result.outlines))
                assert (result.ret, len(upstream.asked), found["judges"][0]["n"]) == (2, calls, judged)
                assert found["not_judged"] == [f"a{number}" for number in range(judged, 10)]

    def test_a_model_without_a_price_is_asked_no_second_time(self, pytester: pytest.Pytester) -> None:
        def sold(asked: Asked) -> Answer:
            answer = grading(asked)
            return answer._replace(body={**answer.body, "model": "deepseek-r1"})

        with endpoint(sold) as upstream:
            command = (*COMMAND, "--judge", f"openai:m;{upstream.url}/v1", "--markdown", "--budget", "4")
            result = calibrating().at(pytester).recall(*command)
            assert (result.ret, len(upstream.asked)) == (2, 1)
            result.stdout.fnmatch_lines(
                ["- not judged *9*: a1, *, a9; the price of `deepseek-r1` is unknown, so that *"]
            )

    def test_rates_hold_for_a_calibration_too(self, pytester: pytest.Pytester) -> None:
        times: list[float] = []

        def timed(asked: Asked) -> Answer:
            times.append(time.monotonic())
            return grading(asked)

        with endpoint(timed) as upstream:
            limits = {upstream.url.removeprefix("http://"): {"requests_per_minute": 300}}
            checkout = calibrating(labels=LABELS[:6], rate_limits=limits).at(pytester)
            assert checkout.recall(*COMMAND, "--judge", f"openai:m;{upstream.url}/v1").ret == 0
        assert len(times) == 6
        assert times[-1] - times[0] >= 0.8, "by the rate it is a second"
