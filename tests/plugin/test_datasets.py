"""Files that name datasets: when they run, what becomes of their questions, and that no schedule knows them."""

from __future__ import annotations

import contextlib
import importlib
import json
from typing import NamedTuple

import pytest

from pytest_recall.cli import main
from tests.helpers import kept
from tests.helpers.dataset_samples import sample_text
from tests.helpers.project import BARE, Checkout, case, row
from tests.helpers.scripted import judged
from tests.memory.services import Service, serving
from tests.plugin.conftest import Once
from tests.plugin.test_memory import CLIENT

# A run in this process forgets the modules that it was the first to import, and numpy cannot be loaded twice.
for _module in ("nltk", "numpy"):
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(_module)

FILE = "eval/locomo.dataset.yaml"
PROJECT = BARE.with_files({FILE: "dataset: locomo\npath: sample\n"})
WITH_CASES = PROJECT.with_agent("@pytest.fixture\ndef agent():\n    return str\n").with_cases(case("plain"))
LOGGED = CLIENT.replace('        note(f"store {content}")\n', '        note("store")\n')


def file(text: str) -> str:
    return f"dataset: locomo\npath: sample\n{text}"


def counts(checkout: Checkout) -> dict[str, int]:
    found = list(checkout.outcomes().values())
    return {outcome: found.count(outcome) for outcome in sorted(set(found))}


class Whole(NamedTuple):
    """A run over all questions of the sample."""

    checkout: Checkout
    result: pytest.RunResult


@pytest.fixture(scope="module")
def whole(once: Once) -> Whole:
    """See the class."""
    with once() as pytester:
        return Whole(*kept.ran(pytester, PROJECT, FILE))


def test_each_question_is_an_item(whole: Whole) -> None:
    assert whole.result.ret == pytest.ExitCode.OK  # There is no verdict before that one could be held against.
    whole.result.assert_outcomes(passed=14, xfailed=4, skipped=4)
    checkout = whole.checkout
    assert counts(checkout) == {"failed": 4, "passed": 14, "skipped": 4}
    assert checkout.state_text() is None
    assert {trial.reason for trial in checkout.journal().trials} == {"dataset"}
    trial = next(one for one in checkout.journal().trials if one.case_id == "conv-1:q1")
    assert (trial.scenario, trial.where) == ("conv-1", f"{FILE}:1")
    assert checkout.scorecard()["by_reason"] == {"dataset": {"passed": 14, "failed": 4, "skipped": 4}}


def test_an_audit_has_the_questions_that_no_case_file_has(whole: Whole) -> None:
    lines = whole.checkout.recall("judges", "audit", "latest", "--only", "all").outlines
    items = {item["id"]: item for item in map(json.loads, lines[1:])}
    assert len(items) == 18
    asked = whole.checkout.journal().asked["conv-1:q1"]
    one = items["conv-1:q1"]
    assert (one["question"], one["expected"]) == (asked.question, asked.reference)
    assert tuple(one["evidence"]) == asked.evidence != ()


NO_IDS = """
class Memory:
    private = True

    def reset(self):
        self.told = []

    def store(self, content, metadata):
        self.told.append(content.upper())

    def recall(self, query, limit, context):
        return self.told[:limit]
"""


def test_a_question_whose_evidence_cannot_be_told_is_skipped(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_files({FILE: file("questions: ['conv-1:q1']\n"), "mine.py": NO_IDS}).at(pytester)
    checkout.run(FILE, "--memory", "python:mine.py:Memory").assert_outcomes(skipped=1)
    assert "no passage names its source text" in checkout.journal().trials[0].error


def test_shards_share_the_questions(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_files({FILE: file("sample: 6\n")}).at(pytester)
    found = []
    for number in (1, 2):
        checkout.run(FILE, f"--recall-shard={number}/2")
        found.append(checkout.outcomes())
    assert [len(one) for one in found] == [3, 3]
    assert checkout.recall("ci", "merge", "eval/_artifacts").ret == 0
    assert checkout.outcomes() == found[0] | found[1]
    assert checkout.journal().asked.keys() == checkout.outcomes().keys()
    assert len(checkout.outcomes()) == 6


def test_questions_that_were_answered_are_not_asked_again(pytester: pytest.Pytester) -> None:
    checkout, _ = kept.ran(pytester, PROJECT, FILE)
    journal = checkout.artifacts.runs()[-1] / "trials.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:16]))
    checkout.run(FILE, "--recall-resume")
    assert len(checkout.journal().trials) == 22
    assert counts(checkout) == {"failed": 4, "passed": 14, "skipped": 4}


def test_the_state_is_left_alone(pytester: pytest.Pytester) -> None:
    checkout = WITH_CASES.with_files({FILE: file("sample: 3\n")}).with_state(plain=row(2)).at(pytester)
    before = checkout.state_text()
    checkout.run(FILE)
    assert checkout.state_text() == before
    checkout.run(f"{FILE}::{next(iter(checkout.outcomes()))}", "--recall-update")
    assert checkout.state_text() == before
    checkout.run(FILE, "eval/cases.yaml")
    assert checkout.boxes() == {"plain": 3}
    assert len(checkout.outcomes()) == 4


def test_a_run_over_the_folder_passes_it_by_and_has_no_table(pytester: pytest.Pytester) -> None:
    checkout = WITH_CASES.at(pytester)
    checkout.run("eval").assert_outcomes(passed=1)
    assert set(checkout.outcomes()) == {"plain"}
    assert checkout.scorecard()["datasets"] is None
    assert all("measures" not in trial.to_json() for trial in checkout.journal().trials)


def test_a_pattern_of_the_ini_file_takes_it_in(pytester: pytest.Pytester) -> None:
    checkout = WITH_CASES.with_files({FILE: file("sample: 3\n")}).at(pytester)
    checkout.run("eval", "-o", "recall_datasets=locomo.*.yaml")
    assert len(checkout.outcomes()) == 4


def test_questions_are_chosen_as_cases_are(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.at(pytester)
    checkout.run(FILE, "-k", "conv-2 and q1 and not q10 and not q11")
    assert set(checkout.outcomes()) == {"conv-2:q1"}
    checkout.run(f"{FILE}::conv-1:q4")
    assert set(checkout.outcomes()) == {"conv-1:q4"}
    checkout.run(FILE, "--dimensions", "temporal", "--recall-concurrency", "8")
    assert len(checkout.outcomes()) == 5
    assert "error" not in counts(checkout), "they run one by one where others run at once"


def test_a_conversation_is_stored_once(pytester: pytest.Pytester) -> None:
    asked = "questions: ['conv-1:q1', 'conv-1:q2', 'conv-2:q1', 'conv-2:q2']\n"
    text = file(f"memory: python:client:Private\n{asked}")
    checkout = PROJECT.with_files({FILE: text, "client.py": LOGGED}).at(pytester)
    checkout.run(FILE)
    noted = (checkout.path / "calls.txt").read_text().splitlines()
    assert (noted.count("reset"), noted.count("store")) == (2, 49)


def test_the_option_comes_before_the_file(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_files({FILE: file("memory: last-2\nlimit: 3\n")}).at(pytester)
    one = f"{FILE}::conv-1:q1"
    checkout.run(one).stdout.fnmatch_lines(["memory last-2: stored 25 units*"])
    checkout.run(one, "--memory", "null").stdout.fnmatch_lines(["memory null: stored 25 units*"])


def test_a_memory_that_answers_is_judged_by_its_answers(pytester: pytest.Pytester) -> None:
    answering = CLIENT + "\n    async def answer(self, query, limit, context):\n        return 'It is not mentioned.'\n"
    text = file("memory: python:client:Late\ncategories: [adversarial, single-hop]\n")
    checkout = PROJECT.with_files({FILE: text, "client.py": answering}).at(pytester)
    checkout.run(FILE)
    assert counts(checkout) == {"failed": 7, "passed": 4}


def test_named_judges_take_the_place_of_ours(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_files({FILE: file("judges: [{contains: {any: true}}]\nquestions: ['conv-1:q1']\n")}).at(
        pytester
    )
    checkout.run(FILE)
    judges = {verdict.judge for trial in checkout.journal().trials for verdict in trial.verdicts}
    assert judges == {"contains"}


def test_the_scorecard_has_the_table_of_a_membench(whole: Whole) -> None:
    checkout = whole.checkout
    whole.result.stdout.fnmatch_lines(
        [
            f"{FILE}: 22 questions",
            "category        n  error  not judged *evidence *all of it *1 / rank *contains",
            "5 adversarial   4      0           4 *– *– *– *–",
            "all            22      0           4  0.89 (0.18–1.00)  0.78 (0.13–0.99) *",
            "mean (95 % interval over 2 groups of questions that share a conversation)",
        ]
    )
    page = (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")
    assert f"<summary>Datasets</summary>\n\n{FILE}: 22 questions:\n\n| category | n | error | not judged |" in page
    done = checkout.recall("memory", "run", "--dataset", "locomo", "sample", "--json")
    assert done.ret == 0
    alone = json.loads(done.stdout.str())
    for group in (alone["all"], *alone["categories"].values()):  # Which are measured by the command alone.
        group.pop("floors", None)
        group.pop("discriminates", None)
    assert checkout.scorecard()["datasets"] == {FILE: {"all": alone["all"], "categories": alone["categories"]}}


def test_a_sample_is_the_same_each_day_and_a_scorecard_that_is_made_again_has_its_table(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout = PROJECT.with_files({FILE: file("sample: 6\nseed: 3\n")}).at(pytester)
    checkout.run(FILE, day="2026-03-10")
    first = set(checkout.outcomes())
    assert len(first) == 6
    before = checkout.scorecard()["datasets"]
    assert before[FILE]["all"]["n"] == 6
    capsys.readouterr()
    assert main(["score", "latest", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["datasets"] == before
    checkout.run(FILE, day="2026-03-11")
    assert set(checkout.outcomes()) == first


def test_what_breaks_is_no_score_and_apart_in_the_table(pytester: pytest.Pytester) -> None:
    breaks = "if 'Samuel' in query:\n            raise ConnectionError('down')"
    text = file("memory: python:client:Private\ncategories: [adversarial, single-hop]\n")
    client = CLIENT.replace('note(f"recall {query}")', breaks)
    checkout = PROJECT.with_files({FILE: text, "client.py": client}).at(pytester)
    checkout.run(FILE)
    broken = [trial.error for trial in checkout.journal().trials if trial.outcome.value == "error"]
    assert set(broken) == {"memory recall: ConnectionError: down"}
    found = checkout.scorecard()["datasets"][FILE]["all"]
    assert found["failures"] == counts(checkout)["error"] == len(broken) > 0
    assert found["unjudged"] > 0
    assert found["n"] == 11
    assert found["metrics"]["contains_at_k"]["n"] == 11 - found["failures"] - found["unjudged"] > 0


def test_an_agent_is_measured_by_what_it_answers(pytester: pytest.Pytester) -> None:
    agent = (
        "@pytest.fixture\ndef agent(memory):\n    def ask(question):\n"
        "        return memory.recall(question, 3)[0].text\n    return ask\n"
    )
    text = file("categories: [adversarial, single-hop]\n")
    checkout = PROJECT.with_files({FILE: text}).with_agent(agent).at(pytester)
    checkout.run(FILE)
    found = checkout.scorecard()["datasets"][FILE]["all"]
    assert found["unjudged"] == 0
    assert found["metrics"]["answer_token_f1"]["n"] == 7
    assert found["metrics"]["abstention_recall"]["n"] == 4
    assert "contains_at_k" not in found["metrics"]


@pytest.mark.parametrize("asks", [False, True])
def test_no_id_says_what_is_evidence(pytester: pytest.Pytester, *, asks: bool) -> None:
    """Neither a memory nor an agent that asks it reads what the dataset calls its evidence; the journal has that."""
    agent = (
        "@pytest.fixture\ndef agent(memory):\n    def ask(question):\n"
        "        found = memory.recall(question, 3)\n"
        "        assert not [one for one in found if 'answer' in one.source]\n"
        "        return {'text': 'A border terrier', 'passages': found}\n    return ask\n"
    )
    file = "dataset: longmemeval\npath: sample\nquestions: [lib00001]\njudges: [recall_at_k]\n"
    project = BARE.with_files({FILE: file, "client.py": LOGGED.replace('note("store")', "note(str(metadata))")})
    checkout = (project.with_agent(agent) if asks else project).at(pytester)
    result = checkout.run(FILE, *([] if asks else ["--memory", "python:client.py:Kept"]))
    result.assert_outcomes(passed=1)
    answer = checkout.journal().trials[0].answer
    assert answer is not None
    assert "answer_dog_1" in {one.source for one in answer.passages}
    if not asks:
        assert "answer" not in (checkout.path / "calls.txt").read_text()


def test_two_datasets_have_a_table_each_and_workers_share_their_questions(pytester: pytest.Pytester) -> None:
    other = "eval/dmr.dataset.yaml"
    files = {FILE: file("sample: 2\n"), other: "dataset: dmr\npath: sample\n"}
    checkout = PROJECT.with_files(files).at(pytester)
    checkout.run(FILE, other, "-n2")
    found = checkout.scorecard()["datasets"]
    assert {name: one["all"]["n"] for name, one in found.items()} == {other: 5, FILE: 2}
    assert {f"dmr-{n}" for n in range(1, 6)} <= set(checkout.outcomes())
    assert len(checkout.outcomes()) == 7
    assert checkout.state_text() is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (file("limt: 3\n"), f"{FILE}:3: limt: unknown field; did you mean `limit`?"),
        (file("judges: [contians]\n"), f"*{FILE}:1: judges: unknown judge `contians`; did you mean `contains`?*"),
    ],
)
def test_mistakes_name_their_place(pytester: pytest.Pytester, text: str, message: str) -> None:
    checkout = PROJECT.with_files({FILE: text}).at(pytester)
    result = checkout.run(FILE)
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    printed = [line.removeprefix("ERROR: ") for line in (*result.errlines, *result.outlines)]
    pytest.LineMatcher(printed).fnmatch_lines([message])


def test_two_files_with_the_same_questions_are_refused(pytester: pytest.Pytester) -> None:
    other = "eval/other.dataset.yaml"
    checkout = PROJECT.with_files({other: file("memory: full\n")}).at(pytester)
    result = checkout.run(FILE, other)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{other}: asks `conv-1:q1`, as {FILE} does; run one of the files at a time" in result.stderr.str()


def test_a_path_is_that_from_the_file(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_files(
        {FILE: "path: data/mine.jsonl\nquestions: [dmr-1]\n", "eval/data/mine.jsonl": sample_text("dmr")}
    ).at(pytester)
    checkout.run(FILE)
    assert set(checkout.outcomes()) == {"dmr-1"}


def test_a_service_is_recorded_and_replayed_without_it(pytester: pytest.Pytester) -> None:
    with serving(Service()) as service:
        text = file(f"memory: {service.url}\nquestions: ['conv-2:q1']\n")
        checkout = PROJECT.with_files({FILE: text}).at(pytester)
        checkout.run(FILE, "--record")
        recorded = checkout.outcomes()
    result = checkout.run(FILE, "--replay")
    assert checkout.outcomes() == recorded
    assert set(recorded.values()) <= {"passed", "failed"}, result.stdout.str()


def test_a_model_judges_by_the_rule_of_the_paper(pytester: pytest.Pytester) -> None:
    """Each question here has a history of its own, and so a memory that has nothing else."""
    text = "dataset: longmemeval\npath: sample\nmemory: python:client:Sure\njudges: [benchmark, paper]\n"
    answering = (
        LOGGED + "\n\nclass Sure(Private):\n    def answer(self, query, limit, context):\n        return 'right'\n"
    )
    checkout = judged().with_files({FILE: text, "client.py": answering}).at(pytester)
    result = checkout.run(FILE)
    found = checkout.scorecard()["datasets"][FILE]["all"]["metrics"]
    assert (found["longmemeval_judge"]["n"], found["longmemeval_judge"]["value"]) == (8, 1.0)
    assert found["answer_contains"]["value"] == 0
    result.stdout.fnmatch_lines(["category * LongMemEval judge"])
    asked = {verdict.judge for trial in checkout.journal().trials for verdict in trial.verdicts}
    assert asked == {"benchmark", "paper"}
    assert (checkout.path / "calls.txt").read_text().splitlines().count("reset") == len(checkout.outcomes()) == 8


def test_the_paper_judge_needs_an_answer(pytester: pytest.Pytester) -> None:
    text = "dataset: dmr\npath: sample\njudges: [paper]\nquestions: [dmr-1]\n"
    checkout = judged().with_files({FILE: text}).at(pytester)
    checkout.run(FILE)
    assert counts(checkout) == {"error": 1}
    said = {trial.error for trial in checkout.journal().trials}
    assert said == {"judge paper: needs an answer, and the memory returned passages alone; judge these by `benchmark`"}
