"""What the contract is about: three commands that ask questions, each in a small project, and as a real process.

The agent, or the memory, asks a model on the loopback device once for each question: what was asked is counted there,
where no code of ours is. An answer begins with the name of the code that gave it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from pytest_recall.files.eval_directory import Artifacts
from pytest_recall.trials.journal import NAME, read_journal
from pytest_recall.trials.record import Record
from tests.datasets.files import few, write_few
from tests.helpers import command, programs
from tests.helpers.command import Done
from tests.helpers.persona import profile, questions, write_persona
from tests.helpers.project import DAY, case, cases_yaml
from tests.helpers.screens import RUN
from tests.models.endpoint import Answer, Asked, Endpoint, Script, chat

FIRST, SECOND = "first", "second"
"""The names of two codes that answer."""
USD = 0.01
"""What a call costs: it writes one token, and what it reads is free."""
_RUBRIC = {"owner": "us", "prices": {"scripted": {"input": 0, "output": USD * 1e6}}}
_CASES = tuple(case(f"c{n}", judges=["contains"], expected=f"an answer {n}") for n in range(8))
_ASK = """\
import httpx


def ask(question):
    said = [{{"role": "user", "content": question}}]
    body = {{"model": "scripted", "max_tokens": 1, "messages": said}}
    reply = httpx.post({url!r} + "/v1/chat/completions", json=body, timeout=60).raise_for_status()
    return "{code}: " + reply.json()["choices"][0]["message"]["content"]


"""
_AGENT = """\
import pytest


@pytest.fixture
def agent():
    return ask
"""
_MEMORY = """\
class Memory:
    private = concurrent = True

    def reset(self):
        self.texts = []

    def store(self, content, metadata):
        self.texts.append({"text": content, "source": metadata["id"]})

    def recall(self, query, limit, context):
        return [one for one in self.texts if query == one["text"]][:limit]

    def answer(self, query, limit, context):
        return ask(query)
"""


def _write_cases(folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "eval/cases.yaml").write_text(cases_yaml(*_CASES), encoding="utf-8")


def _write_persona(folder: Path) -> None:
    write_persona(folder)
    run = {"ranges": {"start": 3, "end": 6, "step": 3}}
    (folder / "clerk.profile.yaml").write_text(profile("python:own.py:Memory", run=run), encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A command that asks, and its project. What has a default is what the other two commands do."""

    name: str
    write: Callable[[Path], None]
    """Writes the project, without the code that answers."""
    references: Mapping[str, str]
    """The right answer to each question."""
    code: str
    """The file with the code that answers."""
    source: str
    command: tuple[str, ...]
    """The module, and its arguments."""
    resume: tuple[str, ...] = ()
    """What is added to the command to resume a run."""
    fresh: tuple[str, ...] = ("--fresh",)
    """What is added to ask all again."""
    three_at_once: tuple[str, ...] = ("--concurrency=3",)
    """What is added to ask three questions at once."""
    journal: Callable[[Path], Path] = lambda folder: folder / "o"
    """Returns the folder of the last run in that of the project."""
    says: str = ""
    """How the lines of its output begin that are about a stop; what it prints as an error is about that anyway."""
    results: tuple[tuple[str, ...], ...] = ()
    """The commands that print what a run comes to, beside its scorecard, as JSON."""
    interrupted: int = 130
    """The exit code after Ctrl-C."""
    refused: int = 2
    """The exit code where nothing may be asked."""
    unanswered: int = 2
    """The exit code where the model did not answer."""
    outage: str = "undecided"
    """What its journal calls that: whether a memory or its model is down is the same to a command."""
    sees_code: bool = True
    """Whether a change of the code that answers is seen, and all is asked again."""
    one_budget: bool = False
    """Whether the budget is one for all parts of a run, and not of each command."""


PYTEST = Subject(
    name="pytest",
    write=_write_cases,
    references={one["input"]: one["expected"] for one in _CASES},
    code="eval/conftest.py",
    source=_AGENT,
    command=("pytest", "eval", "-p", "no:cacheprovider", "--recall-mode=all", f"--recall-date={DAY}"),
    says="recall: |partial: |chosen but|to resume: |spent |  error: |      the same",
    resume=("--recall-resume",),
    fresh=(),
    three_at_once=("--recall-concurrency=3",),
    journal=lambda folder: Artifacts(folder / "eval").runs()[-1],
    interrupted=2,
    refused=4,
    unanswered=1,
    outage="outage",
    sees_code=False,
    one_budget=True,
)
MEMORY_RUN = Subject(
    name="memory-run",
    write=write_few,
    references={one["question"]: str(one.get("answer", "No.")) for row in few() for one in row["qa"]},
    code="own.py",
    source=_MEMORY,
    command=("pytest_recall", "memory", "run", "few.json", "--memory", "python:own.py:Memory", "--out", "o"),
    results=(("memory", "rescore", "o"),),
)
BENCH_RUN = Subject(
    name="bench-run",
    write=_write_persona,
    references={one["question"]: one["answer"] for one in questions(range(1, 7))},
    code="own.py",
    source=_MEMORY,
    command=("pytest_recall", "bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png", "--out", "o"),
    results=(("bench", "rescore", "o"), ("bench", "report", "o")),
)
SUBJECTS = (PYTEST, MEMORY_RUN, BENCH_RUN)


class Finding(NamedTuple):
    """What a run comes to, which is the same whether it was made in one part or in several."""

    answers: Mapping[str, tuple[str, str]]
    """The outcome and the answer of each question, by id."""
    card: Mapping[str, Any]
    """The scorecard, without the name of the run."""
    results: tuple[Any, ...]
    """What the other commands print, without times."""


class Site:
    """The project of a subject in a folder, with the model that its code asks."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        self.subject, self.folder = subject, folder
        self.model = Endpoint(self._answer)
        self._go = Event()
        self._said: list[str] = []
        self._more: tuple[str, ...] = ()
        (folder / "eval").mkdir(parents=True)
        (folder / "eval/rubric.yaml").write_text(json.dumps(_RUBRIC), encoding="utf-8")
        subject.write(folder)
        self.write_code(FIRST)

    def close(self) -> None:
        """End the model."""
        self._go.set()
        self.model.close()

    def write_code(self, name: str) -> None:
        """Write the code that answers, which is another one under another name."""
        text = _ASK.format(code=name, url=self.model.url) + self.subject.source
        (self.folder / self.subject.code).write_text(text, encoding="utf-8")

    def _answer(self, asked: Asked) -> Answer:
        question = _question(asked)
        place = [*self.subject.references].index(question)
        answer = chat("Nothing." if place % 3 == 1 else self.subject.references[question])
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        return answer._replace(body={**answer.body, "model": "scripted", "usage": usage})

    def _late(self, asked: Asked) -> Answer:
        self._go.wait(60)
        return self._answer(asked)

    def begin(self, *more: str) -> subprocess.Popen[str]:
        """Begin the command in a process group of its own."""
        module, *arguments = self.subject.command
        self._more = more
        return programs.begin(self.folder, *arguments, *more, module=module)

    def run(self, *more: str, answers: int | None = None, then: Script | None = None) -> int:
        """Run the command to its end and return its exit code; after so many answers the model does something else."""
        self.model.script = [self._answer] if answers is None or then is None else [*[self._answer] * answers, then]
        return self.ended(self.begin(*more)).code

    def ended(self, process: subprocess.Popen[str]) -> Done:
        """Wait for the end of a process, and return what it came to."""
        out, err = process.communicate(timeout=60)
        print(out, err)  # pytest shows it of a test that fails.
        assert "Traceback" not in out + err
        told = [line for line in out.splitlines() if self.subject.says and re.match(self.subject.says, line)]
        self._said += [f"$ {' '.join([self.subject.name, *self._more])}", *told, *err.splitlines()]
        self._said += [f"exit code {process.returncode}", ""]
        return Done(process.returncode, out, err)

    def screen(self) -> str:
        """Return what the commands that have come to their end have said of stops, and of what they resume."""
        text = "\n".join(self._said).replace(str(self.folder), "FOLDER")
        return re.sub(r"127\.0\.0\.1:\d+", "HOST", RUN.sub("RUN", text))

    @contextmanager
    def waiting(self, answers: int, *more: str, calls: int = 1) -> Iterator[subprocess.Popen[str]]:
        """Begin the command, and hand it out once it has so many answers, and waits for those to so many `calls`."""
        self._go.clear()
        self.model.script = [*[self._answer] * answers, self._late]
        before = len(self.model.asked)
        with self.begin(*more) as process:
            try:
                limit = time.monotonic() + 30
                while len(self.model.asked) < before + answers + calls:
                    assert process.poll() is None, process.communicate()
                    assert time.monotonic() < limit, "it does not ask"
                    time.sleep(0.01)
                yield process
            finally:
                if process.poll() is None:
                    programs.kill(process)

    def killed(self, answers: int, *more: str, calls: int = 1) -> None:
        """Kill the command with SIGKILL when it has so many answers, and waits for others."""
        with self.waiting(answers, *more, calls=calls) as process:
            programs.kill(process)
        assert process.returncode == -signal.SIGKILL

    def interrupted(self, answers: int) -> int:
        """Interrupt the command when it waits for an answer, which comes then; return its exit code."""
        with self.waiting(answers) as process:
            os.killpg(process.pid, signal.SIGINT)
            self._go.set()
            return self.ended(process).code

    def questions(self) -> list[str]:
        """Return what the model was asked since this was called last."""
        asked = list(map(_question, self.model.asked))
        self.model.asked.clear()
        return asked

    @property
    def journal(self) -> Path:
        """The journal of the last run."""
        return self.subject.journal(self.folder) / NAME

    @property
    def record(self) -> Record:
        """What that has."""
        return read_journal(self.journal.parent)

    @property
    def journals(self) -> int:
        """How many journals there are, those that were set aside included."""
        return len(list(self.folder.rglob(NAME)))

    def finding(self) -> Finding:
        """Return what the last run comes to."""
        card = self._printed("score", str(self.journal.parent))
        trials = self.record.trials
        answers = {one.case_id: (one.outcome.value, one.answer.text if one.answer else "") for one in trials}
        results = tuple(_timeless(self._printed(*arguments)) for arguments in self.subject.results)
        return Finding(answers, {name: one for name, one in card.items() if name != "run"}, results)

    def recall(self, *arguments: str) -> Done:
        """Run `recall` in this process."""
        return command.run(self.folder, *arguments)

    def _printed(self, *arguments: str) -> dict[str, Any]:
        done = self.recall(*arguments, "--json")
        assert done.out, done.err
        plain: dict[str, Any] = json.loads(done.out)
        return plain


def open_ids(record: Record) -> list[str]:
    """Return the ids of what is to be asked yet, in their order."""
    done = {one.case_id for one in record.trials if one.outcome.is_verdict}
    return [id for id, _ in record.header.picks if id not in done]


def codes(record: Record) -> set[str]:
    """Return the names of the codes that have answered."""
    return {one.answer.text.partition(":")[0] for one in record.trials if one.answer is not None}


_TIMES = ("timestamp", "seconds", "recall_seconds", "ingest")


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(inner) for name, inner in value.items() if name not in _TIMES}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


def _question(asked: Asked) -> str:
    text: str = asked.body["messages"][-1]["content"]
    return text
