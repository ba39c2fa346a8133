#!/usr/bin/env python3
"""Seed faults of six kinds into small agents, and compare the cause that is named with the one that is true.

    scripts/check-causes.py               60 faults
    scripts/check-causes.py 12 --seed 7   so many, of this seed
    scripts/check-causes.py --keep DIR    and leave the project in DIR

Each agent is a small program of its own: a prompt, a tool between two calls, a parser of the answer, an exact judge and
one by a model. All of them are the cases of one project, whose first night records them. Then come days of three pull
requests each, which ask what they affect, with `confirm: evidence`. Each has one fault, and edits three other agents
in a way that breaks nothing:

- prompt: the system prompt asks for something else;
- code: the answer is parsed in another way, or the second call is worded in another way;
- tool: the tool finds something else;
- judge: the judge is asked to grade in another way.

All but the parser pass in their own pull request, by luck, and are merged; so their case falls at night, when the main
branch is run. Two kinds are in no pull request:

- model: another model answers, with or without another name;
- flake: the agent is answered wrongly at random from a day on.

Each run is one of the installed package in a fresh process, against a model on loopback. A cause is right if the first
scorecard that has the case among its regressions names the pull request of the fault and no other, and no cause that is
not so; of a model, that no change touched the case; of a flake, that no change touched it, and nothing but chance, or
that two trials do not tell it from a model: `the provider, the data or chance`.
Exit code 1 says that fewer than 95 % are right, 2 that a run did not come to its end.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from eval_runs import PROGRAM_FIXTURE, JsonHandler, drawn_arguments, environment, serving

MERGED = ("prompt", "code", "tool", "judge")
"""Kinds of faults that a pull request brings."""
KINDS = (*MERGED, "model", "flake")
A_DAY = 3
"""Pull requests of a day."""
BESIDE = 3
"""Agents that a pull request edits in a way that breaks nothing."""
LATER = 5
"""Nights after the last fault, in which what falls by chance may still fall."""
LEAST = 0.95
"""The share of causes that have to be right."""
DAY = date(2026, 1, 5)
RUBRIC = "owner: us\nmax_due_cases: 0\nbox_1_cases: 0\nnew_traffic_sample: 0\nconfirm: evidence\n"
CONFTEST = (
    PROGRAM_FIXTURE
    + """

import os

import httpx

CLIENT = httpx.Client(trust_env=False, timeout=60)


def said(case, *messages):
    asked = {"model": f"model-of-{case}", "messages": [{"role": "user", "content": text} for text in messages]}
    done = CLIENT.post(os.environ["UPSTREAM"] + "/v1/chat/completions", json=asked)
    return done.raise_for_status().json()["choices"][0]["message"]["content"]


@pytest.fixture
def agent(program):
    return lambda question: program.ask(said, question)


@pytest.fixture
def judge_graded(program):
    return lambda answer, case: program.grade(said, answer.text)
"""
)
PROGRAM = """\
SYSTEM = {system!r}


def ask(said, question):
    first = said({case_id!r}, SYSTEM, question)
    found = f"{{first}} on {found}"
    return said({case_id!r}, SYSTEM, question, first, f"{second} {{found}}"){parse}


def grade(said, text):
    return said({case_id!r}, f"{grading} {{text}}").startswith("yes")
"""
FAULTY = ("in rhyme", "Later came", "page seventy", "Grade without mercy:")
"""Words of a request by which the model has a fault, as soon as it is merged."""


@dataclass(frozen=True)
class Program:
    """An agent, as plain values."""

    case_id: str
    system: str = "Be kind."
    found: str = "page seven"
    second: str = "Then came"
    grading: str = "Grade:"
    parse: str = ""

    @property
    def source(self) -> str:
        """The module of the agent."""
        return PROGRAM.format(**vars(self))


class Fault(NamedTuple):
    """A fault of a kind in a case, which begins on a day, counted from 1, and is in a pull request if it is merged."""

    case_id: str
    kind: str
    day: int
    pr: str = ""
    silent: bool = False

    def edited(self, one: Program) -> Program:
        """Return the agent with the fault."""
        if self.kind == "prompt":
            return replace(one, system=f"{one.system} Answer {FAULTY[0]}.")
        if self.kind == "code":
            return replace(one, second=FAULTY[1]) if self.silent else replace(one, parse="[:5]")
        if self.kind == "tool":
            return replace(one, found=FAULTY[2])
        return replace(one, grading=FAULTY[3])


@dataclass
class World:
    """What the model knows: the faults that it shows by now, and whether what is merged is asked for."""

    seed: int = 0
    main: bool = True
    begun: dict[str, Fault] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)


WORLD = World()


class Model(JsonHandler):
    """Answers chat completions as `WORLD` has it."""

    def reply(self, asked: Any) -> Any:
        """Return the answer to a body."""
        case_id, texts = asked["model"].removeprefix("model-of-"), [one["content"] for one in asked["messages"]]
        fault = WORLD.begun.get(case_id)
        renamed = fault is not None and fault.kind == "model" and not fault.silent
        message = {"role": "assistant", "content": said(case_id, texts, fault)}
        name = "model-2" if renamed else "model-1"
        return {"model": name, "choices": [{"message": message, "finish_reason": "stop"}]}


def said(case_id: str, texts: Sequence[str], fault: Fault | None) -> str:
    """Return what the model says to the messages of a case."""
    merged = WORLD.main and any(word in text for word in FAULTY for text in texts)
    if texts[0].startswith("Grade"):
        return "no" if merged else "yes"
    if len(texts) == 2:
        return "A book"
    WORLD.asked[case_id] += 1
    wrong = merged or (fault is not None and fault.kind == "model")
    if fault is not None and fault.kind == "flake":
        wrong = random.Random(f"{WORLD.seed} {case_id} {WORLD.asked[case_id]}").random() < 0.5
    return "It is wrong." if wrong else "It is right."


def corpus(count: int, seed: int) -> list[Fault]:
    """Return so many faults, of all kinds in turn, by the day on which they begin."""
    draw, merged = random.Random(f"faults {seed}"), 0
    found = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        # What is in no pull request begins on some day of those that have one.
        days = -(-count * len(MERGED) // (len(KINDS) * A_DAY))
        day, pr = draw.randint(1, max(1, days)), ""
        if kind in MERGED:
            day, pr = 1 + merged // A_DAY, str(101 + merged)
            merged += 1
        found.append(Fault(f"f{number:03}", kind, day, pr, silent=number // len(KINDS) % 2 == 1))
    return sorted(found, key=lambda fault: fault.day)


class BrokenError(Exception):
    """A run that did not come to its end."""


class Project:
    """The agents as the cases of one project, and their runs."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.evals, self._url = folder, folder / "eval", url

    def begin(self, programs: Mapping[str, Program]) -> None:
        """Write the project."""
        (self.evals / "agents").mkdir(parents=True)
        (self.folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (self.evals / "rubric.yaml").write_text(RUBRIC, encoding="utf-8")
        (self.evals / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        asked = {"scenario": "s", "dimension": "d", "judges": [{"contains": "right"}, "graded"]}
        rows = [{"id": case_id, "input": f"Where is {case_id}?", **asked} for case_id in programs]
        (self.evals / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        for one in programs.values():
            self.write(one)
        self._git("init", "-q", "--initial-branch", "main")
        self.commit("Begin")

    def commit(self, message: str) -> None:
        """Commit all that has changed, as a merge does: what is in no commit is no suspect of a later fall."""
        self._git("add", "-A")
        self._git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", message, "--allow-empty")

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder, check=True, capture_output=True)

    def write(self, one: Program) -> None:
        """Write an agent."""
        (self.evals / "agents" / f"{one.case_id}.py").write_text(one.source, encoding="utf-8")

    def run(self, day: int, *options: str, pr: str = "") -> dict[str, Any]:
        """Run in a fresh process, and return the scorecard. Raises BrokenError."""
        told = {"GITHUB_REF": f"refs/pull/{pr}/merge"} if pr else {}
        command = [sys.executable, "-m", "pytest", "eval", "-p", "recall", "-q", "-p", "no:cacheprovider"]
        dated = f"--recall-date={DAY + timedelta(days=day)}"
        done = subprocess.run(
            [*command, "--tb=no", dated, *options],
            cwd=self.folder, capture_output=True, text=True, check=False,
            env=environment(UPSTREAM=self._url, PYTHONDONTWRITEBYTECODE="1", **told),
        )  # fmt: skip
        if done.returncode not in (0, 1):
            said = f"{done.stdout}\n{done.stderr}"[-3000:]
            raise BrokenError(f"pytest {' '.join(options)}: exit code {done.returncode}\n{said}")
        card: dict[str, Any] = json.loads((self.evals / "_artifacts" / "scorecard.json").read_text(encoding="utf-8"))
        return card


class Named(NamedTuple):
    """What a scorecard says of a case that fell: the likely cause, what points to it, the suspects, and where."""

    label: str
    facts: str
    suspects: tuple[str, ...] | None
    where: str


_UNTOLD = "outside"
"""Said where a fail is confirmed before its trials could tell a model from chance."""
RIGHT = {
    "prompt": {"prompt"},
    "code": {"code", "change"},
    "tool": {"code", "change"},
    "judge": {"judge", "change"},
    "model": {"model", "provider", _UNTOLD},
    "flake": {"chance", "not confirmed", _UNTOLD},
}


def right(fault: Fault, named: Named | None) -> bool:
    """Return whether a fault is put down to what it is."""
    if named is None or named.label not in RIGHT[fault.kind]:
        return False
    return named.suspects == (fault.pr,) if fault.pr else not named.suspects


def fallen(card: Mapping[str, Any], where: str) -> Iterator[tuple[str, Named]]:
    """Yield what a scorecard says of each case that fell, or whose fail was not confirmed."""
    for one in card["failed"]:
        if one["regression"]:
            suspects = None if one["suspects"] is None else tuple(one["suspects"])
            yield one["id"], Named(one["cause"]["label"], json.dumps(one["cause"]["facts"]), suspects, where)
        elif one["standing"] == "not confirmed":
            yield one["id"], Named("not confirmed", one["note"], (), where)


def play(every: Sequence[Fault], seed: int, project: Project) -> dict[str, Named]:
    """Play the days of all faults, and return what is said first of each case that falls. Raises BrokenError."""
    draw = random.Random(f"beside {seed}")
    found: dict[str, Named] = {}
    WORLD.__init__(seed=seed)  # type: ignore[misc]
    programs = {f"f{number:03}": Program(f"f{number:03}") for number in range(len(every))}
    programs |= {f"b{number:03}": Program(f"b{number:03}") for number in range(max(len(every), BESIDE))}
    project.begin(programs)
    nothing = [case_id for case_id, _ in fallen(project.run(0, "--record", "--recall-mode=all"), "")]
    project.commit("Record")
    if nothing:
        raise BrokenError(f"falls without a fault: {', '.join(nothing)}")
    last = max(fault.day for fault in every)
    for day in range(1, last + LATER + 1):
        if day > last and len(found) == len(every):
            break
        for fault in (one for one in every if one.day == day and one.pr):
            beside = draw.sample([one for one in programs if one.startswith("b")], BESIDE)
            for case_id in beside:
                programs[case_id] = replace(programs[case_id], system=f"{programs[case_id].system} Be short.")
            programs[fault.case_id] = fault.edited(programs[fault.case_id])
            for case_id in (*beside, fault.case_id):
                project.write(programs[case_id])
            project.commit(f"#{fault.pr}")
            WORLD.main = False
            card = project.run(day, "--record=missing", "--recall-mode=pr", pr=fault.pr)
            WORLD.main = True
            project.commit(f"Merge #{fault.pr}")
            for case_id, named in fallen(card, f"pull request {fault.pr}"):
                found.setdefault(case_id, named)
        WORLD.begun |= {fault.case_id: fault for fault in every if fault.day <= day}
        for case_id, named in fallen(project.run(day, "--record", "--recall-mode=all"), f"night {day}"):
            found.setdefault(case_id, named)
        project.commit(f"Night {day}")
        print(f"day {day}: {len(found)} of {len(every)} have fallen", file=sys.stderr, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Seed as many faults as asked for, and print what they are put down to."""
    args = drawn_arguments(__doc__, arguments, "faults", 60)
    every, begin = corpus(args.count, args.seed), time.perf_counter()
    with serving(Model) as url, tempfile.TemporaryDirectory() if args.keep is None else nullcontext(args.keep) as home:
        try:
            found = play(every, args.seed, Project(Path(home, "project"), url))
        except BrokenError as error:
            print(error, file=sys.stderr)
            return 2
    good = dict.fromkeys(KINDS, 0)
    for fault in every:
        good[fault.kind] += right(fault, found.get(fault.case_id))
    print(f"{'fault':8}{'seeded':>8}{'right':>8}")
    for kind in KINDS:
        print(f"{kind:8}{sum(fault.kind == kind for fault in every):8}{good[kind]:8}")
    share = sum(good.values()) / len(every)
    for fault in every:
        if not right(fault, named := found.get(fault.case_id)):
            print(f"{fault.case_id}, {fault.kind}, #{fault.pr or '-'} on day {fault.day}: {named or 'did not fall'}")
    print(f"{sum(good.values())} of {len(every)} causes are right ({share:.0%}), {time.perf_counter() - begin:.0f} s")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
