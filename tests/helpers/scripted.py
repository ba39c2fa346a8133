"""Models that say what a script tells them: as objects, and as a file of a project whose cases they judge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_recall.cases.settings_fields import Judging
from pytest_recall.judges.panel import AUDITED, drawn
from pytest_recall.models.model import Ask, ModelError, Reply
from tests.helpers.project import DAY, ECHOING, Checkout, Project, case

_SECTION = re.compile(r"BEGIN (\w+) ([A-Z0-9 ]+)(?: \([^\n]*\))?\n(.*?)\nEND \1", re.DOTALL)


class Scripted:
    """A model that gives one reply after the other, the last of them for ever; an error is raised."""

    def __init__(self, *replies: str | Reply | ModelError, name: str = "scripted") -> None:
        self.name = name
        self.asks: list[Ask] = []
        self._replies = list(replies)

    def ask(self, ask: Ask) -> Reply:
        """Return the next reply."""
        self.asks.append(ask)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, ModelError):
            raise reply
        return Reply(text=reply) if isinstance(reply, str) else reply


def scores(reasoning: str = "It says so.", **given: int) -> str:
    """Return a reply with these scores."""
    return json.dumps({"reasoning": reasoning, "scores": given})


def better(choice: str, reasoning: str = "It is true.") -> str:
    """Return a reply to a comparison."""
    return json.dumps({"reasoning": reasoning, "better": choice})


def sections(material: str) -> dict[str, str]:
    """Return the fenced texts of a prompt by name."""
    return {name: text for _, name, text in _SECTION.findall(material)}


JUDGE = '''\
"""Judges that know the truth: an answer is good if it says `right`, or is a known one that passes."""

import hashlib
import json
import pathlib
import re

from pytest_recall.models.model import ModelError, Reply
from pytest_recall.judges.preflight import KNOWN_ANSWERS

KNOWN = {(one.judge, one.input, one.answer): one.passes for kind in KNOWN_ANSWERS.values() for one in kind}
SECTION = re.compile(r"BEGIN (\\w+) ([A-Z0-9 ]+)(?: \\([^\\n]*\\))?\\n(.*?)\\nEND \\1", re.DOTALL)


def is_good(judge, question, answer):
    return KNOWN.get((judge, question, answer), "right" in answer)


class Judge:
    """One that flips one of `flips` verdicts on cases, which ones is a matter of the answer and its name."""

    def __init__(self, name, flips=0):
        self.name = name
        self.flips = flips

    def ask(self, ask):
        with pathlib.Path(__file__).with_name("judged.txt").open("a") as log:
            log.write(self.name + "\\n")
        texts = {name: text for _, name, text in SECTION.findall(ask.messages[-1].content)}
        shape = ask.schema["properties"]
        question = texts["QUESTION"]
        if "better" in shape:
            first, second = (is_good("pairwise", question, texts[name]) for name in ("FIRST ANSWER", "SECOND ANSWER"))
            said = {"better": "tie" if first == second else "first" if first else "second"}
        elif "label" in shape:
            said = {"label": "correct" if is_good("paper", question, texts["ANSWER"]) else "wrong"}
        else:
            names = shape["scores"]["properties"]
            judge = "memory" if "hallucination" in names else "rubric"
            good = is_good(judge, question, texts["ANSWER"])
            digest = int(hashlib.sha256((self.name + texts["ANSWER"]).encode()).hexdigest(), 16)
            if self.flips and digest % self.flips == 0 and (judge, question, texts["ANSWER"]) not in KNOWN:
                good = not good
            levels = {name: about["enum"] for name, about in names.items()}
            said = {"scores": {name: max(level) if good else min(level) for name, level in levels.items()}}
        return Reply(text=json.dumps({"reasoning": self.name + " says so.", **said}), model=self.name + "-2026")


class Says:
    """One that always says the same, or breaks."""

    def __init__(self, reply):
        self.reply = reply

    def ask(self, ask):
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


oracle = Judge("oracle")
flipping = Judge("flipping", flips=20)
second = Judge("second", flips=20)
third = Judge("third")
refusing = Says(Reply(text="", stop="refused"))
prose = Says(Reply(text="I would give it full marks, 3 out of 3."))
cut_off = Says(Reply(text='{"reasoning": "Well', stop="length"))
quoting = Says(Reply(text='{"reasoning": "It has sesame-4711.", "scores": {"requirement": 0}}'))
generous = Says(Reply(text='{"reasoning": "Fine.", "scores": {"requirement": 1}}'))
slow = Says(ModelError("slow: no reply within 60 s; try again later"))
limited = Says(ModelError("limited: the provider answered 429; ask less often", temporary=True))
'''

JUDGED = ECHOING.with_files({"judge.py": JUDGE})
"""A project whose agent answers with the question, and whose judge is one of judge.py."""


def model(name: str) -> str:
    """Return the selector of a judge in judge.py."""
    return f"python:judge.py:{name}"


def judged(*cases: Mapping[str, Any], judge: str | Iterable[str] = "oracle", **rubric: Any) -> Project:
    """Return a project with these cases, and with these fields in its rubric, those of `judge` among them."""
    names = [judge] if isinstance(judge, str) else list(judge)
    table: dict[str, Any] = {"model": [model(name) for name in names]}
    table |= {name: rubric.pop(name) for name in Judging.model_fields if name in rubric}
    if "appellate" in table:
        table["appellate"] = model(table["appellate"])
    fields = {"owner": "us", "blocks": "failure", "judge": table, **rubric}
    text = "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items())
    return JUDGED.with_files({"eval/rubric.yaml": text}).with_cases(*cases)


def asks(case_id: str, answer: str, judge: Any = None) -> dict[str, Any]:
    """Return a case whose answer is `answer`, and which a model judges."""
    return case(case_id, input=answer, expected="it is right", judges=[judge or {"rubric": "is right"}])


AUDITED_CASE = next(name for n in range(1_000) if drawn(f"rubric/{(name := f'c{n}')}", DAY, AUDITED))
"""The id of a case whose pass an appellate judge checks, in the runs of these projects."""


def times_asked(checkout: Checkout) -> list[str]:
    """Return which judge was asked, for each time that one was."""
    log = checkout.path / "judged.txt"
    return log.read_text().split() if log.exists() else []
