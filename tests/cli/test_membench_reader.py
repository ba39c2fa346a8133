"""`recall memory run --reader`: a model answers from the passages of a memory, over HTTP on the loopback device."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets.membench import READER
from pytest_recall.datasets.reading import MAX_TOKENS, PROMPTS, prompt_version
from pytest_recall.judges import judge_call
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.run_stop import RunStop
from tests.datasets.files import write_few
from tests.helpers.priced import priced_folder
from tests.helpers.screens import assert_screen
from tests.models.endpoint import Answer, Asked, Endpoint, chat

# A run of pytest in this process forgets what it was the first to import, and some of it would be there twice.
importlib.import_module("pytest_recall.datasets.judged")

RUN = ("memory", "run", "few.json")
SCREENS = Path(__file__).parent / "screens"
CENT = 0.01
"""What a call costs: 10 tokens are read."""
OWN = """
class Memory:
    private = True

    def reset(self):
        pass

    def store(self, content, metadata):
        pass

    def recall(self, query, limit, context):
        return []

    def answer(self, query, limit, context):
        return "Heron"
"""


def named(asked: Asked, answer: Answer) -> Answer:
    """Return an answer by the model that was asked."""
    return answer._replace(body={**answer.body, "model": asked.body["model"]})


def first_passage(asked: Asked) -> Answer:
    """Answer with the first passage, or judge that an answer with the word `Heron` is right."""
    content = asked.body["messages"][-1]["content"]
    if asked.body["model"] == "judge":
        label = "correct" if "Heron" in content.split("BEGIN")[-1] else "wrong"
        return named(asked, chat(json.dumps({"reasoning": "As it seems.", "label": label})))
    return named(asked, chat(content.partition("\n\n")[0].partition("\n")[2]))


def broken(asked: Asked) -> Answer:
    """Refuse what is asked about a boat, as a provider does, and answer the rest."""
    if "boat called" in asked.body["messages"][-1]["content"]:
        return Answer(400, {"error": {"message": "too long", "type": "invalid_request_error"}})
    return first_passage(asked)


@pytest.fixture(name="served")
def _served() -> Iterator[Endpoint]:
    endpoint = Endpoint(first_passage)
    yield endpoint
    endpoint.close()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    priced_folder(tmp_path, monkeypatch, {"reader": 1000, "judge": 1000}, OWN)
    write_few(tmp_path)


def reading(served: Endpoint, model: str = "reader") -> tuple[str, str]:
    return "--reader", f"{served.url}/v1#{model}"


def judging(served: Endpoint) -> tuple[str, str]:
    return "--judge", f"{served.url}/v1#judge"


def to_the_limit(served: Endpoint, script: Callable[[Asked], Answer]) -> None:
    """Let each call cost the cent that it reserves: what it writes alone costs, and it writes all that it may."""

    def longest(asked: Asked) -> Answer:
        answer = script(asked)
        usage = {"prompt_tokens": 10, "completion_tokens": asked.body["max_tokens"]}
        return answer._replace(body={**answer.body, "usage": usage})

    served.script = [longest]
    rubric = json.loads(Path("eval/rubric.yaml").read_text())
    limits = {"reader": MAX_TOKENS, "judge": judge_call.MAX_TOKENS}
    prices = {name: {"input": 0, "output": CENT * 1e6 / limit} for name, limit in limits.items()}
    Path("eval/rubric.yaml").write_text(json.dumps({**rubric, "prices": prices}))


def found(capsys: pytest.CaptureFixture[str], *more: str, code: int = 0) -> dict[str, Any]:
    assert main([*RUN, *more, "--json"]) == code
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


def test_the_reader_is_told_what_the_memory_found_and_its_answer_is_beside_it(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = found(capsys, *reading(served), "--out", "o")
    assert len(served.asked) == 7
    (first, *_), (trial, *_) = served.asked, read_journal(Path("o")).trials
    system, user = first.body["messages"]
    assert (system["content"], first.body["temperature"]) == (PROMPTS["locomo"], 0)
    assert user["content"].startswith("[1] ")
    assert user["content"].endswith("\n\nQuestion: What is Tobias's boat called?")
    assert re.search(r"\n\n\[\d+\] [A-Z]\w+day, \d+ [A-Z]\w+ \d{4}, \d\d:\d\d\nTobias: Heron", user["content"])
    assert trial.answer is not None
    assert len(trial.answer.passages) == 10
    assert (trial.answer.text, trial.answer.by) == (trial.answer.passages[0].text, "model")
    assert [(call.kind, call.source, call.cost) for call in trial.calls] == [("worker", "live", CENT)]
    assert (plain["reader"], plain["prompt"]) == (f"{served.url}/v1#reader", prompt_version("locomo"))
    took = {"answers": 7, "unread": 0, "input_tokens": 10, "output_tokens": 5, "usd": CENT}
    assert plain["all"]["reading"] == took
    means = plain["all"]["metrics"]
    assert (means["evidence_recall_at_k"]["n"], means["answer_token_f1"]["n"]) == (5, 5)
    assert means["abstention_recall"]["n"] == 2
    # It is computed again.
    assert main(["memory", "rescore", "o"]) == 0
    capsys.readouterr()
    assert main(["memory", "rescore", "o", "--k", "3", "--json"]) == 0
    three = json.loads(capsys.readouterr().out)["k"]["3"]["all"]
    # It has read ten passages: what it would have said of three is not known.
    assert "evidence_recall_at_k" in three["metrics"]
    assert "answer_contains" not in three["metrics"]
    # Retrieval is measured as without a reader.
    retrieval_alone_is(plain, found(capsys, "--out", "alone"))
    # What is there is not read again by the same reader, and so is not recorded.
    assert main([*RUN, *reading(served), "--out", "o", "--record", "--json"]) == 0
    assert {**json.loads(capsys.readouterr().out), "kept": None} == {**plain, "kept": None}
    assert len(served.asked) == 7
    assert main([*RUN, *reading(served), "--out", "alone"]) == 2
    assert "`reader`" in capsys.readouterr().err


def retrieval_alone_is(read: dict[str, Any], alone: dict[str, Any]) -> None:
    names = alone["all"]["metrics"].keys() - {"tokens_read"}
    assert names
    assert [read["all"]["metrics"].get(name) for name in names] == [alone["all"]["metrics"][name] for name in names]


def test_another_reader_or_prompt_reads_again_and_a_price_that_is_not_known_is_not_zero(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    null = ("--memory", "null")
    plain = found(capsys, *null, *reading(served))
    retrieval_alone_is(plain, found(capsys, *null))
    assert plain["all"]["reading"]["usd"] is not None
    other = found(capsys, *null, *reading(served, "deepseek-r1"))
    assert other["all"]["reading"]["usd"] is None
    assert other["reading"]["cost"]["spent"] == {
        "usd": None,
        "calls": 7,
        "without_price": 7,
        "models_without_price": ["deepseek-r1"],
        "estimated": False,
    }
    found(capsys, *null, *reading(served), "--reader-prompt", "plain")
    assert len(served.asked) == 21
    assert served.asked[-1].body["messages"][0]["content"] == PROMPTS["plain"]
    assert found(capsys, *null, *reading(served))["all"] == plain["all"]
    assert main([*RUN, *null, *reading(served, "deepseek-r1")]) == 0
    out = capsys.readouterr().out
    assert "\nmade 7 calls, price unknown\n" in out
    assert all(line.endswith(" unknown") for line in out.splitlines()[3:7])
    assert len(served.asked) == 21
    assert main([*RUN, *null, *reading(served, "deepseek-r1"), "--budget", "1"]) == 2
    assert "recall: reader `http://127" in capsys.readouterr().err


def test_ids_that_name_the_evidence_are_not_shown(served: Endpoint) -> None:
    run = ("memory", "run", "--dataset", "longmemeval", "sample")
    assert main([*run, *reading(served), "--out", "o"]) == 0
    shown = [asked.body["messages"][-1]["content"] for asked in served.asked]
    assert not [text for text in shown if "[answer_" in text]
    assert "\n\nToday: Monday, 1 April 2024, 10:00\nQuestion: " in shown[0]
    assert all("\n\nToday: " in text for text in shown)
    first, *_ = read_journal(Path("o")).trials
    assert first.answer is not None
    assert any((one.source or "").startswith("answer_") for one in first.answer.passages)


def test_the_table_has_what_an_answer_took_and_the_judges_column(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, *reading(served), *judging(served), "--budget", "1"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0].endswith(f"stored by the turn, read by {served.url}/v1#reader (prompt {prompt_version('locomo')})")
    assert lines[2].endswith("LoCoMo judge read written cost")
    assert lines[3].startswith("2 temporal 2 0 0 ")
    assert lines[3].endswith("10 5 $0.01")
    assert f"answered by {served.url}/v1#reader: 7 questions" in lines
    assert f"judged by {served.url}/v1#judge: 5 answers" in lines
    assert [line for line in lines if line.startswith("spent")] == ["spent $0.07", "spent $0.05"]
    # What the judge's line in the journal says of its calls is not what the reader's were.
    assert found(capsys, *reading(served), *judging(served))["all"]["reading"]["usd"] == CENT
    assert len(served.asked) == 12


def test_what_the_reader_does_not_answer_is_no_failure_of_the_memory(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    served.script = [broken]
    more = (*reading(served), *judging(served), "--out", "o", "--fail-under", "locomo_f1=0")
    assert main([*RUN, *more]) == 1
    screen = capsys.readouterr().err
    trial = next(one for one in read_journal(Path("o")).trials if one.case_id == "conv-1:q1")
    assert (trial.outcome.value, trial.stage, trial.verdicts) == ("error", "reader", ())
    assert trial.answer is not None
    assert (trial.answer.text, len(trial.answer.passages)) == ("", 10)
    served.script = [first_passage]
    asked = len(served.asked)
    assert main([*RUN, *more, "--json"]) == 0
    captured = capsys.readouterr()
    assert_screen(SCREENS / "memory-run-unread.txt", f"{screen}\n{captured.err}")
    plain = json.loads(captured.out)
    group = plain["all"]
    assert (group["failures"], group["metrics"]["answer_contains"]["n"], group["reading"]["unread"]) == (0, 5, 0)
    assert len(served.asked) == asked + 2  # And the judge of that answer.


def test_a_reader_without_any_answer_is_exit_1(served: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    served.script = [chat("", finish="length")]
    assert main([*RUN, *reading(served), "--out", "o"]) == 2
    screen = capsys.readouterr().err
    stop = read_journal(Path("o")).stop
    assert stop is not None
    assert (stop.cause, stop.in_a_row, len(read_journal(Path("o")).trials)) == ("undecided", 5, 5)
    asked = len(served.asked)
    assert main([*RUN, *reading(served), *judging(served), "--out", "o", "--keep-failed"]) == 1
    screen = f"{screen}\n{capsys.readouterr().err}".replace(served.url, "URL")
    assert_screen(SCREENS / "memory-run-no-reader.txt", screen)
    trials = read_journal(Path("o")).trials
    assert {(one.outcome.value, one.stage, one.verdicts) for one in trials} == {("error", READER, ())}
    assert {one.body["model"] for one in served.asked[asked:]} == {"reader"}, "the judge has nothing to judge"


def test_a_recording_is_replayed_without_the_models(
    served: Endpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = (*reading(served), *judging(served), "--memory", "sqlite-fts,last-5", "--concurrency", "6")
    live = found(capsys, *models, "--out", "live", "--record", "tapes")
    folders = sorted((tmp_path / "tapes").glob("_membench-locomo-*"))
    # Those of the judges are beside those of the reader, and adversarial questions have no rule.
    assert [len(list(folder.iterdir())) for folder in folders] == [7, 5, 7, 5]
    served.close()
    monkeypatch.delenv("OPENAI_API_KEY")
    replayed = found(capsys, *models, "--out", "replayed", "--replay", "tapes")
    assert [one["all"] for one in replayed["memories"]] == [one["all"] for one in live["memories"]]
    for path in folders[0].iterdir():
        path.unlink()
    assert main([*RUN, *models, "--out", "other", "--replay", "tapes", "--json"]) == 2
    trials = [trial for folder in (tmp_path / "other").iterdir() for trial in read_journal(folder).trials]
    assert [trial.ended_by for trial in trials if trial.stage == READER] == ["miss"] * 7


def test_what_is_recorded_is_replayed_and_the_rest_is_asked(
    served: Endpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    models = (*reading(served), *judging(served))
    live = found(capsys, *models, "--out", "live", "--record", "tapes")
    count = len(served.asked)
    (reader,) = [one for one in (tmp_path / "tapes").glob("_membench-locomo-*") if "-judge-" not in one.name]
    next(reader.iterdir()).unlink()
    again = found(capsys, *models, "--out", "again", "--record=missing:tapes")
    assert again["all"] == live["all"]
    assert len(served.asked) == count + 1
    assert len(list(reader.iterdir())) == 7


SAYS = """
from pytest_recall.models.model import Reply


class Says:
    def ask(self, ask):
        return Reply(text="Heron")


says = Says()
"""


CALLS = """
import httpx

from pytest_recall.models.model import Reply


class Calls:
    def ask(self, ask):
        asked = {"model": "reader", "messages": [{"role": "user", "content": ask.messages[-1].content}]}
        reply = httpx.post("URL/v1/chat/completions", json=asked).json()
        return Reply(text=reply["choices"][0]["message"]["content"])


calls = Calls()
"""


def test_the_calls_of_a_reader_of_your_own_are_replayed(
    served: Endpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "calls.py").write_text(CALLS.replace("URL", served.url))
    own = ("--reader", "python:calls.py:calls")
    live = found(capsys, *own, "--out", "live", "--record", "tapes")
    assert len(served.asked) == 7
    served.close()
    assert found(capsys, *own, "--out", "replayed", "--replay", "tapes")["all"] == live["all"]


def test_a_reader_that_makes_no_call_is_no_recording(
    served: Endpoint, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "says.py").write_text(SAYS)
    own = ("--reader", "python:says.py:says")
    assert main([*RUN, *own, "--out", "o", "--record", "tapes"]) == 0
    told = "recall: python:says.py:says: made no call that can be recorded, so that a replay will have nothing"
    assert told in capsys.readouterr().err
    assert main([*RUN, *own, "--out", "p", "--replay", "tapes"]) == 2
    told = "no such recording; make it with --record, or leave out --replay if python:says.py:says makes no call"
    assert told in capsys.readouterr().err
    # Beside a judge whose calls are there it is asked as always, and that is told.
    assert main([*RUN, *own, *judging(served), "--out", "q", "--record", "both"]) == 0
    served.close()
    capsys.readouterr()
    assert main([*RUN, *own, *judging(served), "--out", "r", "--replay", "both"]) == 0
    assert "python:says.py:says: made no call that can be recorded, and was asked as always" in capsys.readouterr().err


def test_a_budget_ends_reading_and_judging_and_the_same_command_goes_on(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    to_the_limit(served, first_passage)
    models = (*reading(served), *judging(served), "--out", "o", "--record", "tapes")
    assert main([*RUN, *models, "--budget", "0.05"]) == 2
    assert len(served.asked) == 5
    error = capsys.readouterr().err
    assert main([*RUN, *models, "--budget", "0.04"]) == 2
    assert len(served.asked) == 9
    assert_screen(SCREENS / "memory-run-reader-budget.txt", f"{error}\n{capsys.readouterr().err}")
    whole = found(capsys, *models, "--budget", "5")
    assert len(served.asked) == 12
    served.close()
    # What was recorded by three commands is replayed by one, and comes to the same without a stop.
    replayed = found(capsys, *reading(served), *judging(served), "--out", "replayed", "--replay", "tapes")
    assert replayed["all"] == whole["all"]


def test_verdicts_that_are_not_recorded_are_told(served: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    command = (*RUN, *judging(served), "--memory", "python:own.py:Memory", "--out", "o")
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    asked = len(served.asked)
    assert main([*command, "--record", "tapes"]) == 0
    assert_screen(SCREENS / "memory-run-unrecorded.txt", capsys.readouterr().err)
    assert len(served.asked) == asked


def test_of_questions_at_once_no_answer_that_is_paid_for_is_lost(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    to_the_limit(served, first_passage)
    command = (*reading(served), "--out", "o", "--concurrency", "3", "--budget")
    assert main([*RUN, *command, "0.025"]) == 2
    capsys.readouterr()
    record = read_journal(Path("o"))
    assert record.stop == RunStop("budget", kind="no-room", usd=0.025)
    answers = [one for one in record.trials if one.answer is not None and one.answer.by == "model"]
    # No call begins that may pass the budget, also where others are in flight.
    assert len(answers) == len(served.asked) == 2
    whole = found(capsys, *command, "5")
    assert len(served.asked) == 7
    assert whole["all"] == found(capsys, *reading(served), "--out", "whole")["all"]


def test_a_budget_that_goes_on_known_answers_asks_nothing(served: Endpoint) -> None:
    rubric = json.loads(Path("eval/rubric.yaml").read_text())
    Path("eval/rubric.yaml").write_text(json.dumps({**rubric, "judge": {"preflight": "stop"}}))
    to_the_limit(served, first_passage)
    assert main([*RUN, *judging(served), "--memory", "python:own.py:Memory", "--out", "o", "--budget", "0.01"]) == 2
    assert len(served.asked) == 1
    record = read_journal(Path("o"))
    assert (record.exit_code, record.trials, record.header.budget) == (2, (), 0.01)
    assert record.stop is not None
    assert record.stop.cause == "budget"


def test_a_budget_is_one_for_all_memories(served: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    to_the_limit(served, first_passage)
    command = (*RUN, *reading(served), "--memory", "sqlite-fts,last-5", "--out", "o", "--budget", "0.09")
    assert main(command) == 2
    capsys.readouterr()
    assert len(served.asked) == 9
    assert sorted(len(read_journal(folder).trials) for folder in Path("o").iterdir()) == [2, 7]
    assert main(command) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    place = next(place for place, line in enumerate(lines) if line.startswith("memory n failed"))
    assert lines[place].endswith("tokens random last oracle read written cost recall p50 ingest money figures")
    money = [line.partition(" kept from ")[0].removesuffix(" 2").split()[-1] for line in lines[place + 1 : place + 3]]
    assert money == ["$0.07", "$0.07"]
    assert len(served.asked) == 14


def test_a_memory_that_answers_is_not_read_for(served: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    plain = found(capsys, *reading(served), "--memory", "sqlite-fts,python:own.py:Memory")
    assert len(served.asked) == 7
    assert ["reading" in one["all"] for one in plain["memories"]] == [True, False]
    assert plain["memories"][1]["all"]["metrics"]["answer_contains"]["n"] == 5
    assert [one["cost"]["calls"] for one in plain["memories"]] == [7, 0]


def test_the_prompt_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--reader", "openai:gpt-5.4-mini", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("sqlite-fts on locomo (few.json): 7 questions, 10 passages each, stored by the turn\n")
    assert f"openai:gpt-5.4-mini answers from what a memory finds, by the prompt {prompt_version('locomo')}:\n" in out
    assert out.endswith("\n7 calls of the reader at most\n")
    plain = found(capsys, "--reader", "openai:gpt-5.4-mini", "--dry-run")
    assert (plain["questions"]["temporal"], plain["prompt_text"], plain["calls"]) == (2, PROMPTS["locomo"], 7)
    several = ("--memory", "sqlite-fts,null", "--judge", "openai:gpt-5.5", "--dry-run")
    assert main([*RUN, "--reader", "openai:gpt-5.4-mini", *several]) == 0
    assert capsys.readouterr().out.endswith("\n14 calls of the reader and each judge at most\n")
    assert not Path("eval/_artifacts").exists()
    # It can be added to the command that is at hand.
    more = ("--out", "o", "--fresh", "--budget", "1", "--record", "shelf", "--fail-under")
    assert main([*RUN, "--reader", "openai:gpt-5.4-mini", *more, "reciprocal_rank=1", "--dry-run"]) == 0
    assert capsys.readouterr().out == out
    assert not any(Path(name).exists() for name in ("o", "shelf", "eval/_artifacts"))
