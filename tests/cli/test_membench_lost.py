"""`recall memory run`: what it says of questions that fail, of evidence that cannot be told, and of a part of them."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets import cases
from pytest_recall.metrics import answers
from tests.cli.test_membench import RUN, found, trials
from tests.memory.services import Service, serving

REWRITES = """
class Memory:
    private = True

    def reset(self):
        self.told = []

    def store(self, content, metadata):
        self.told.append(f"{content.upper()} (noted)")

    def recall(self, query, limit, context):
        words = set(query.upper().split())
        return sorted(self.told, key=lambda one: -len(words & set(one.split())))[:limit]


class Fails(Memory):
    def recall(self, query, limit, context):
        raise RuntimeError("down")


class NamesSome(Memory):
    def recall(self, query, limit, context):
        found = super().recall(query, limit, context)
        return [text.removesuffix(" (noted)") for text in found] if len(query) % 2 else [
            {"text": text, "source": "D1:1"} for text in found
        ]


class HalfNamed(Memory):
    def recall(self, query, limit, context):
        return [{"text": text, "source": "D1:1"} if at % 2 else text
                for at, text in enumerate(super().recall(query, limit, context))]


class Answers(Memory):
    def answer(self, query, limit, context):
        return self.recall(query, 1, context)[0]
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(REWRITES)


def test_passages_in_other_words_are_no_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = (*RUN, "--memory", "python:mine.py:Memory", "--out", "o")
    assert main(command) == 0
    captured = capsys.readouterr()
    lines = [" ".join(line.split()) for line in captured.out.splitlines()]
    assert captured.err == ""
    assert any(" temporal 5 0 0 not measurable 0." in f" {line}" for line in lines)
    assert any(line.startswith("all 22 0 4 not measurable 0.") for line in lines)
    assert "evidence not measurable, since no passage names its source text: 18 questions" in lines
    assert {one["outcome"] for one in trials(tmp_path / "o")} == {"skipped"}
    assert main([*command, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["all"]["unmeasurable"], plain["categories"]["adversarial"]["unmeasurable"]) == (18, 0)
    assert plain["all"]["metrics"]["contains_at_k"]["n"] == 18
    assert main(["memory", "rescore", "o"]) == 0
    out = capsys.readouterr().out
    assert "  not measurable  0." in out
    assert out.endswith("names its source text: 18 questions\n")


def test_a_floor_of_evidence_is_not_reached_by_a_part_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    command = (*RUN, "--memory", "python:mine.py:NamesSome", "--out", "o")
    assert main(command) == 0
    capsys.readouterr()
    assert main([*command, "--fail-under", "evidence_recall_at_k=0", "--json"]) == 1
    captured = capsys.readouterr()
    count = json.loads(captured.out)["all"]["unmeasurable"]
    assert 1 < count < 18
    said = f"evidence is not measurable for {count} questions, which are in no mean of it"
    assert captured.err.endswith(f"recall: --fail-under: {said}\n")
    assert main([*command, "--fail-under", "contains_at_k=0"]) == 0


def test_passages_that_name_nothing_beside_others_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--memory", "python:mine.py:HalfNamed"]) == 0
    said = "some of the passages name no text that they are from, and count as no evidence: 18 questions\n"
    assert said in capsys.readouterr().out
    assert found(capsys, "--memory", "python:mine.py:HalfNamed")["all"]["partly_measurable"] == 18


def test_an_answer_is_judged_though_evidence_cannot_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    plain = found(capsys, "--memory", "python:mine.py:Answers")
    assert (plain["all"]["unmeasurable"], plain["all"]["unjudged"]) == (18, 0)
    assert plain["all"]["metrics"]["answer_contains"]["n"] == 18


def ingest(plain: dict[str, Any]) -> tuple[int, int]:
    """Return how many conversations and units were told."""
    return plain["ingest"]["conversations"], plain["ingest"]["units"]


@pytest.mark.parametrize("more", [(), ("--accumulate",)])
def test_a_run_that_is_resumed_counts_a_conversation_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, more: tuple[str, ...]
) -> None:
    whole = found(capsys, *more, "--out", "o")
    assert ingest(whole) == (2, 49)
    assert whole["all"]["partly_measurable"] == 0
    for left in (4, 13, 14):
        shutil.copytree(tmp_path / "o", tmp_path / str(left))
        path = tmp_path / str(left) / "trials.jsonl"
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: 23 + left]))
        assert main([*RUN, *more, "--out", str(left), "--json"]) == 0
        assert ingest(json.loads(capsys.readouterr().out)) == (2, 49)
        assert len(trials(tmp_path / str(left))) == 22


FIRST_FAILS = """
class Memory:
    private = True

    def reset(self):
        self.told = []
        self.first = True

    def store(self, content, metadata):
        self.told.append((content, metadata["id"]))

    def count(self):
        return len(self.told) - 1

    def recall(self, query, limit, context):
        first, self.first = self.first, False
        assert not first, "not yet"
        return [{"text": text, "source": id} for text, id in self.told if query in text or len(text) > 40][:limit]


class BreaksOnItsOwnWords(Memory):
    def recall(self, query, limit, context):
        assert query.endswith("?") or not any(query == text for text, _ in self.told), "cannot"
        self.first = False
        return super().recall(query, limit, context)
"""


def test_what_was_told_is_known_though_the_first_question_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "first.py").write_text(FIRST_FAILS)
    main([*RUN, "--memory", "python:first.py:Memory", "--json", "--out", "o"])
    plain = json.loads(capsys.readouterr().out)
    assert plain["all"]["failures"] == 2
    assert (ingest(plain), plain["readback"]["held"], plain["readback"]["asked"]) == ((2, 49), 47, 8)
    assert [one["error"] for one in trials(tmp_path / "o") if one["outcome"] == "error"] == [
        "memory recall: AssertionError: not yet"
    ] * 2
    main([*RUN, "--memory", "python:first.py:Memory", "--out", "o", "--keep-failed"])
    out = capsys.readouterr().out
    assert "\ningest: 49 units of about 916 tokens in 2 conversations, in " in out
    assert "texts lost or changed: it says that it holds 47 of 49 units" in out


def test_asking_units_back_breaks_no_question(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(FIRST_FAILS)
    plain = found(capsys, "--memory", "python:first.py:BreaksOnItsOwnWords")
    assert plain["all"]["failures"] == 0
    assert (ingest(plain), plain["readback"]["held"]) == ((2, 49), 47)


GOES_DOWN = """
class Memory:
    private = True
    left = 9

    def reset(self):
        self.told = []

    def store(self, content, metadata):
        self.told.append(content)

    def recall(self, query, limit, context):
        self.left -= 1
        assert self.left >= 0, "down"
        return [query] if query in self.told else self.told[:limit]
"""


def test_a_part_of_the_questions_is_said_to_be_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "down.py").write_text(GOES_DOWN)  # After five questions, and four units that are asked back.
    assert main([*RUN, "--memory", "sqlite-fts,python:down.py:Memory"]) == 2
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith("python:down.py:Memory 10 of 22 5 ") for line in lines)
    assert "python:down.py:Memory: not complete, with 10 of 22 questions" in lines
    (against,) = (line for line in lines if line.startswith("python:down.py:Memory against"))
    assert against == (
        "python:down.py:Memory against sqlite-fts, compared on 5 of 22 questions: No difference could have been shown."
    )
    assert any(line.startswith("the questions are about 1 conversation: of so few") for line in lines)


def test_what_fails_and_what_cannot_be_told_is_in_the_table_of_several(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "first.py").write_text(FIRST_FAILS)
    memories = ("mine.py:Memory", "first.py:Memory", "mine.py:Fails")
    assert main([*RUN, "--memory", ",".join(["sqlite-fts", *(f"python:{one}" for one in memories)])]) == 2
    captured = capsys.readouterr()
    lines = [" ".join(line.split()) for line in captured.out.splitlines()]
    # Passages that name no text that they are from.
    assert any(line.startswith("python:mine.py:Memory 22 0 not measurable – – 0.") for line in lines)
    assert (
        "python:mine.py:Memory: evidence not measurable, since no passage names its source text: 18 questions" in lines
    )
    (against,) = (line for line in lines if line.startswith("python:mine.py:Memory against"))
    assert against.startswith("python:mine.py:Memory against sqlite-fts, compared by contains alone: No ")
    # Questions that fail.
    for name, told in (
        ("first.py:Memory", "2 questions failed, the first one because of `memory recall: AssertionError: not yet`"),
        ("mine.py:Fails", "5 questions failed, the first one because of `memory recall: RuntimeError: down`"),
    ):
        assert f"python:{name}: {told}" in lines


class Busy(Service):
    """A service that is busy after each tenth text, and after each fifth question."""

    def reply(self, method: str, path: str, given: Any) -> tuple[int, bytes]:
        found = super().reply(method, path, given)
        every = {"/store": 10, "/recall": 5}.get(path, 0)
        if every and sum(one == f"POST {path}" for one, _ in self.asked) % every == 0:
            self.busy = [(429, "20")]
        return found


@pytest.mark.usefixtures("virtual_waits")
def test_waits_for_a_busy_service_are_told_and_in_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Busy()) as service:
        command = (*RUN, "--memory", service.url, "--out", "o")
        assert main(command) == 0
        lines = capsys.readouterr().out.splitlines()
        assert main([*command, "--json"]) == 0
        plain = json.loads(capsys.readouterr().out)
        busy = sum(path.startswith("busy POST") for path, _ in service.asked)
    assert any(line.startswith("latency: p50 ") for line in lines)
    (told,) = (line for line in lines if " tried again after " in line)
    assert told.endswith(" s of waiting in all, which is in no latency and no ingest")
    assert int(told.split()[0]) + plain["retried"]["requests"] <= busy
    assert plain["retried"]["requests"] >= 8
    assert plain["retried"]["seconds"] >= 20 * plain["retried"]["requests"]
    assert plain["recall_seconds"]["p99"] < 20
    assert plain["ingest"]["seconds"] < 20


def test_without_nltk_answers_have_no_verdict_and_all_other_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("nltk", "nltk.stem", "nltk.stem.porter"):
        monkeypatch.setitem(sys.modules, module, None)
    known = (answers._stemmer, answers.stem, cases.metrics_of)
    try:
        for one in known:
            one.cache_clear()
        code = main([*RUN, "--memory", "python:mine.py:Answers", "--out", "o"])
    finally:
        for one in known:
            one.cache_clear()
    ran = capsys.readouterr()
    told = "recall: locomo_f1 is left out: it needs nltk; run `pip install 'pytest-recall[metrics]'`\n"
    assert (code, ran.err) == (0, told)
    assert "answer F1" in ran.out
    kept = trials(tmp_path / "o")
    assert Counter(one["outcome"] for one in kept) == {"skipped": 18, "failed": 4}
    assert all("answer_token_f1" in one["measures"] for one in kept if one["outcome"] == "skipped")
    assert {one["error"] for one in kept if one["outcome"] == "skipped"} == {
        "LoCoMo's F1 decides on answers, and needs nltk; run `pip install 'pytest-recall[metrics]'`"
    }
