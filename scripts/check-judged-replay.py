#!/usr/bin/env python3
"""Prove on made-up revisions of small agents that a judged replay lets no fail pass: what it decides is so.

    scripts/check-judged-replay.py                1,000 revisions
    scripts/check-judged-replay.py 60 --seed 7    so many, of this seed
    scripts/check-judged-replay.py --keep DIR     and leave the projects in DIR

Each agent is a small program of its own: a prompt, up to three calls, in a row or at once, a tool with a file of data,
a parser of answers, and judges by its expected value, a pattern, code or a model. A revision edits one or two of these,
or nothing, or only comments. The model, on loopback, says what the request alone decides. All agents of a round are
the cases of one project, which is run by the installed package in fresh processes:

- as it was, in full, and recorded;
- as revised, by a judged replay, in which nothing may reach the model, and in a pull request, which begins with one;
- as revised, in full, and recorded, which is the truth, and replayed once more;
- as it was, by a judged replay of what was recorded as revised: the change taken back.

A hole is a verdict or an answer of a replay that is not the one of the full run, a fail that the pull request did not
find, an edit of nothing that is not as recorded, or a revision that was recorded and is not as recorded. These are the
rules by which RTSCheck finds faults in tools that select tests (Zhu and others, ICSE 2019), with two more of them: what
is as recorded is so when the change is taken back, and what is not is not; a new case is asked, and one that has gone
is not looked for. A case that makes no call has no recording, and is always asked. Exit code 1 says that there is a
hole, with what it takes to see it again; 2 that a run did not come to its end.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from eval_runs import PROGRAM_FIXTURE, JsonHandler, drawn_arguments, environment, serving, trials

from pytest_recall.files.errors import RecallError
from pytest_recall.results.replay_text import reason_text
from pytest_recall.schedule.changes import TO_ASK, Changes, ReplayFinding, ReplayState, from_text

ROUND = 250
"""Revisions that are the cases of one project."""
WORDS = ("Red", "green", "BLUE", "red")
RUBRIC = "owner: us\nmax_due_cases: 0\nbox_1_cases: 0\nnew_traffic_sample: 0\n"
CALLING = """\
import os

import httpx

CLIENT = httpx.Client(trust_env=False, timeout=60)


def said(messages):
    asked = {"model": "m", "messages": messages}
    done = CLIENT.post(os.environ["UPSTREAM"] + "/v1/chat/completions", json=asked)
    return done.raise_for_status().json()["choices"][0]["message"]["content"]
"""
CONFTEST = (
    PROGRAM_FIXTURE
    + """

@pytest.fixture
def agent(program):
    return program.ask


@pytest.fixture
def judge_own(program):
    return program.judge


@pytest.fixture
def judge_graded(program):
    return program.graded
"""
)
SOURCE = """\
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from calling import said

SYSTEM = {system!r}
DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def tool(question):
    return {tool}


def parse(text):
    return {parse}


def messages(prompt):
    return [{{"role": "system", "content": SYSTEM}}, {{"role": "user", "content": prompt}}]


def ask(question):
    found, told = tool(question), []
    prompts = [{prompts}]
{asking}
    return {final}


def judge(answer, case):
    return {judge}


def graded(answer, case):
    prompt = f"{grading} {{answer.text}}. Expected: {{case.expected}}"
    return said([{{"role": "user", "content": prompt}}]).startswith("yes")
"""
IN_A_ROW = "    for prompt in prompts:\n        told.append(parse(said(messages(prompt()))))"
AT_ONCE = (
    "    with ThreadPoolExecutor(2) as pool:\n"
    "        told += map(parse, list(pool.map(said, [messages(prompt()) for prompt in prompts])))"
)
SYSTEMS = ("Be kind.", "Be short.", "Be short and kind.", "Answer with one color.")
QUESTIONS = ("sky", "grass", "the sea at night", "a rose", "Which color has an apple?", "snow")
PROMPTS = (
    "First: {question}",
    "What of {found}?",
    "Go on from {told[-1:]}",
    "Again: {question}",
    "{question} {found}",
    "Of {told} take one",
)
TOOLS = (
    "DATA[len(question) % len(DATA)]",
    "DATA[len(question) % len(DATA)].strip()",
    "DATA[0].upper()",
    "sorted(DATA)[0]",
    "question.title()",
    "' '.join(DATA)",
    "DATA[-1][:3]",
    "DATA[7]",
)
PARSES = (
    'text.split(": ")[1].split(".")[0]',
    're.search(r"Result: (\\w+)", text)[1]',
    'text.split(": ")[1].split(".")[0].lower()',
    'text.split(": ")[1].split(".")[0].upper()',
    "text",
    "text.splitlines()[-1]",
    'text.split(": ")[5]',
)
FINALS = ("(told or [found])[-1]", "', '.join(told)", "(told or [found])[0]", "f'{told[-1:]} {found}'", "found")
DATA = ("oak", "Ash", " elm", "fir", "yew")
JUDGES = (
    "bool(answer.text)",
    "len(answer.text) < 12",
    "answer.text == answer.text.lower()",
    "(case.expected.lower() in answer.text.lower(), 'not in it')",
    "1.0 if 'e' in answer.text else 0.2",
)
GRADINGS = ("Please grade:", "Please grade strictly:", "Please grade and be fair:")
ASKED_OF: tuple[list[Any], ...] = (
    ["exact"],
    ["contains"],
    [{"regex": "(?i)red|green"}],
    [{"regex": "^[a-z]+$"}],
    ["own"],
    ["graded"],
    ["exact", "graded"],
    ["own", "graded"],
)


@dataclass(frozen=True)
class Program:
    """An agent with its case, as plain values; `comments` counts lines that say nothing to Python."""

    question: str
    expected: str
    judges: tuple[Any, ...]
    scenario: str
    system: str
    prompts: tuple[str, ...]
    at_once: bool
    tool: str
    parse: str
    final: str
    data: tuple[str, ...]
    judge: str
    grading: str
    trials: int = 1
    comments: int = 0

    @property
    def calls(self) -> bool:
        """Whether it asks a model, or its judge does."""
        return bool(self.prompts) or "graded" in self.judges

    @property
    def source(self) -> str:
        """The module of the agent."""
        text = SOURCE.format(
            system=self.system,
            tool=self.tool,
            parse=self.parse,
            prompts=", ".join(f"lambda: f{prompt!r}" for prompt in self.prompts),
            asking=AT_ONCE if self.at_once else IN_A_ROW,
            final=self.final,
            judge=self.judge,
            grading=self.grading,
        )
        if self.comments:
            text = text.replace("told", "heard" if self.comments % 2 else "known")
        return '"""An agent."""\n' * min(self.comments, 1) + "# It says this.\n" * self.comments + text

    def row(self, case_id: str) -> dict[str, Any]:
        """Return the case."""
        plain: dict[str, Any] = {"id": case_id, "scenario": self.scenario, "dimension": "d", "input": self.question}
        plain |= {"expected": self.expected, "judges": list(self.judges)}
        return {**plain, "trials": self.trials} if self.trials > 1 else plain


class Revision(NamedTuple):
    """An agent as it was and as it is, and what was edited."""

    case_id: str
    kinds: tuple[str, ...]
    before: Program
    after: Program


def reply(messages: Sequence[Mapping[str, str]]) -> str:
    """Return what the model says, which the request alone decides."""
    first, second, *_ = hashlib.sha256(json.dumps(messages).encode()).digest()
    if messages[0]["content"].startswith("Please grade"):
        return "yes" if first % 4 else "no"
    return f"Result: {WORDS[first % len(WORDS)]}.\nSource: page {second % 3}"


class Model(JsonHandler):
    """Serves `reply` in the format of chat completions, and counts."""

    asked = 0

    def reply(self, asked: Any) -> Any:
        """Return the answer to a body."""
        Model.asked += 1
        message = {"role": "assistant", "content": reply(asked["messages"])}
        return {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}


# Agents and their revisions


def program(draw: random.Random) -> Program:
    """Return a made-up agent, whose answer is mostly the expected one."""
    made = Program(
        question=draw.choice(QUESTIONS),
        expected="",
        judges=tuple(draw.choice(ASKED_OF)),
        scenario="s",
        system=draw.choice(SYSTEMS),
        prompts=tuple(draw.choices(PROMPTS, k=draw.choice((0, 1, 1, 1, 2, 2, 3)))),
        at_once=draw.random() < 0.2,
        tool=draw.choice(TOOLS[:-1]),
        parse=draw.choice(PARSES[:-1]),
        final=draw.choice(FINALS),
        data=tuple(draw.sample(DATA, 3)),
        judge=draw.choice(JUDGES),
        grading=draw.choice(GRADINGS),
        trials=2 if draw.random() < 0.05 else 1,
    )
    return replace(made, expected=(answered(made) if draw.random() < 0.85 else "") or draw.choice(WORDS))


def answered(made: Program) -> str:
    """Return what an agent answers, as far as it can be told without its run."""
    lines = made.source.replace("from calling import said\n", "").splitlines()
    kept = "\n".join(line for line in lines if not line.startswith("DATA = "))
    scope: dict[str, Any] = {"DATA": list(made.data), "said": reply}
    exec(kept, scope)
    return str(scope["ask"](made.question))


def other(draw: random.Random, values: Sequence[Any], value: Any) -> Any:
    """Return one of `values` that is not `value`."""
    return draw.choice([one for one in values if one != value])


def edited_prompt(draw: random.Random, one: Program) -> Program:
    """Return an agent with another prompt: of the system, or of one of its calls."""
    if not one.prompts or draw.random() < 0.4:
        return replace(one, system=other(draw, SYSTEMS, one.system))
    place = draw.randrange(len(one.prompts))
    changed = other(draw, PROMPTS, one.prompts[place])
    return replace(one, prompts=(*one.prompts[:place], changed, *one.prompts[place + 1 :]))


def edited_parse(draw: random.Random, one: Program) -> Program:
    """Return an agent that makes something else of the answers."""
    if draw.random() < 0.3:
        return replace(one, final=other(draw, FINALS, one.final))
    return replace(one, parse=other(draw, PARSES, one.parse))


def edited_data(draw: random.Random, one: Program) -> Program:
    """Return an agent whose tool has other data: a word, their order, or one more."""
    way = draw.randrange(3)
    if way == 0:
        return replace(one, data=(*one.data, "box"))
    if way == 1:
        return replace(one, data=one.data[::-1])
    place = draw.randrange(len(one.data))
    return replace(one, data=(*one.data[:place], "lime", *one.data[place + 1 :]))


def edited_order(draw: random.Random, one: Program) -> Program:
    """Return an agent that makes its calls in another order, or at once."""
    if len(one.prompts) < 2 or draw.random() < 0.3:
        return replace(one, at_once=not one.at_once)
    return replace(one, prompts=one.prompts[::-1])


def edited_count(draw: random.Random, one: Program) -> Program:
    """Return an agent with a call more or less."""
    if one.prompts and draw.random() < 0.5:
        place = draw.randrange(len(one.prompts))
        return replace(one, prompts=one.prompts[:place] + one.prompts[place + 1 :])
    # One in two asks once more what it has asked before.
    more = draw.choice(one.prompts) if one.prompts and draw.random() < 0.5 else draw.choice(PROMPTS)
    return replace(one, prompts=(*one.prompts, more))


def edited_case(draw: random.Random, one: Program) -> Program:
    """Return an agent with another case: another question, expected value, list of judges or scenario."""
    way = draw.randrange(7)
    if way < 2:
        return replace(one, question=other(draw, QUESTIONS, one.question))
    if way < 4:
        return replace(one, expected=other(draw, (*WORDS, "none"), one.expected))
    if way < 6:
        return replace(one, judges=tuple(other(draw, ASKED_OF, list(one.judges))))
    return replace(one, scenario="t")


EDITS: dict[str, Callable[[random.Random, Program], Program]] = {
    "prompt": edited_prompt,
    "parse": edited_parse,
    "tool": lambda draw, one: replace(one, tool=other(draw, TOOLS, one.tool)),
    "data": edited_data,
    "order": edited_order,
    "count": edited_count,
    "judge": lambda draw, one: replace(one, judge=other(draw, JUDGES, one.judge)),
    "judge prompt": lambda draw, one: replace(one, grading=other(draw, GRADINGS, one.grading)),
    "case": edited_case,
    "comments": lambda draw, one: replace(one, comments=draw.randint(1, 4)),
    "nothing": lambda draw, one: one,
}
SILENT = ("comments", "nothing")
"""Edits that change nothing."""


def revisions(count: int, seed: int) -> Iterator[Revision]:
    """Yield so many revisions, each of an agent of its own; the first are one of each kind."""
    draw = random.Random(f"revisions {seed}")
    loud = [kind for kind in EDITS if kind not in SILENT]
    for number in range(count):
        before = program(draw)
        kinds: tuple[str, ...] = (list(EDITS)[number % len(EDITS)],)
        if kinds[0] not in SILENT and draw.random() < 0.3:
            kinds = (*kinds, draw.choice([kind for kind in loud if kind not in kinds]))
        after = before
        for kind in kinds:
            after = EDITS[kind](draw, after)
        yield Revision(f"r{number:04}", kinds, before, after)


# Their runs


class BrokenError(Exception):
    """A run that did not come to its end."""


class Came(NamedTuple):
    """What a case came to in a run: its outcome, the last answer, and the number of its trials."""

    outcome: str
    answer: str | None
    trials: int


class Project:
    """The agents of a round as the cases of one project."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.evals, self._url = folder, folder / "eval", url

    def write(self, programs: Mapping[str, Program]) -> None:
        """Write the agents and their cases, in place of those that are there."""
        shutil.rmtree(self.evals / "agents", ignore_errors=True)
        (self.evals / "agents").mkdir(parents=True)
        (self.folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        files = {"rubric.yaml": RUBRIC, "calling.py": CALLING, "conftest.py": CONFTEST}
        files["cases.jsonl"] = "".join(f"{json.dumps(one.row(case_id))}\n" for case_id, one in programs.items())
        for case_id, one in programs.items():
            files |= {f"agents/{case_id}.py": one.source, f"agents/{case_id}.json": json.dumps(one.data)}
        for name, text in files.items():
            (self.evals / name).write_text(text, encoding="utf-8")

    def run(self, *options: str) -> dict[str, Came]:
        """Run the cases in a fresh process, and return what each came to. Raises BrokenError."""
        shutil.rmtree(self.evals / "_artifacts", ignore_errors=True)
        command = [sys.executable, "-m", "pytest", "eval", "-p", "recall", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, "--tb=no", *options],
            cwd=self.folder, capture_output=True, text=True, check=False,
            env=environment(UPSTREAM=self._url, PYTHONDONTWRITEBYTECODE="1"),
        )  # fmt: skip
        if done.returncode not in (0, 1):
            said = f"{done.stdout}\n{done.stderr}"[-3000:]
            raise BrokenError(f"pytest {' '.join(options)}: exit code {done.returncode}\n{said}")
        return {case_id: came(rows) for case_id, rows in trials(self.evals).items()}

    def recorded(self) -> dict[str, Came]:
        """Run all cases in full and record them."""
        return self.run("--record", "--recall-mode=all")

    def replayed(self) -> Changes:
        """Return what a judged replay finds. Raises BrokenError if it sent something."""
        before, path = Model.asked, self.folder / "found.json"
        path.unlink(missing_ok=True)
        self.run("--record=missing", "--recall-dry-run", "--recall-mode=all", f"--recall-dry-run-file={path}")
        if Model.asked != before:
            raise BrokenError(f"a judged replay made {Model.asked - before} calls")
        return from_text(path.read_text(encoding="utf-8"), path.name)

    def pulled(self) -> dict[str, Came]:
        """Run what a pull request runs."""
        with tempfile.TemporaryDirectory() as scratch:
            there = Project(Path(shutil.copytree(self.folder, Path(scratch, "project"))), self._url)
            return there.run("--recall-mode=pr")


def came(rows: Sequence[Mapping[str, Any]]) -> Came:
    """Return what the trials of a case came to: all of them have to pass."""
    outcomes = {str(row["outcome"]) for row in rows}
    outcome = next((one for one in ("error", "failed") if one in outcomes), "passed")
    answer = rows[-1].get("answer")
    return Came(outcome, None if answer is None else answer["text"], len(rows))


# What is compared


def holes(
    revision: Revision,
    before: Came,
    after: Came,
    found: ReplayFinding | None,
    again: ReplayFinding | None,
    pulled: Came | None,
    back: ReplayFinding | None,
) -> Iterator[str]:
    """Yield what a judged replay, and the pull request, have wrong of a revision.

    `before` and `after` are its full runs, `found` and `again` its replays from the recordings of each, `pulled` what
    the pull request has in its journal, if anything, and `back` the replay of what was from what is recorded now.
    """
    if found is None or again is None or back is None:
        yield "was not replayed"
        return
    verdict = after.outcome != "error"
    # Of a run that ended in an error nothing is recorded; and under another scenario the recording is another one.
    same = revision.before.scenario == revision.after.scenario and revision.before.calls and revision.after.calls
    if same and verdict and before.outcome != "error" and as_recorded(found) != as_recorded(back):
        changed = back if as_recorded(found) else found
        yield f"is {found.state}, and {back.state} when the change is taken back: {reason_text(changed)}"
    if as_recorded(found):
        if after.outcome != before.outcome:
            yield f"is as recorded, and was {before.outcome} and is {after.outcome}"
        if revision.before.prompts and after.answer != before.answer:
            yield f"is as recorded, and answered {before.answer!r} and answers {after.answer!r}"
    elif found.state in (ReplayState.RECORDED, ReplayState.UNJUDGED):
        replayed = found.trials[-1].get("answer", {}).get("text") if found.trials else None
        if replayed != after.answer:
            yield f"is {found.state} with the answer {replayed!r}, and answers {after.answer!r}"
    if found.state is ReplayState.RECORDED and found.outcome != after.outcome:
        yield f"is {found.outcome} in the replay, and {after.outcome} in full"
    if found.breaks and (before.outcome, after.outcome) != ("passed", "failed"):
        yield f"is said to be broken, and was {before.outcome} and is {after.outcome}"
    silent = not set(revision.kinds).difference(SILENT)
    if silent and verdict and revision.before.calls and not as_recorded(found):
        yield f"has no edit and is {found.state}: {reason_text(found)}"
    if verdict and revision.after.calls and not as_recorded(again):
        yield f"was recorded as it is, and is {again.state} when it is replayed: {reason_text(again)}"
    if pulled is None:
        if found.state is not ReplayState.UNAFFECTED:
            yield f"is {found.state}, and the pull request has no trial of it"
        if after.outcome != before.outcome:
            yield f"was {before.outcome} and is {after.outcome}, and the pull request has no trial of it"
    elif pulled.outcome != after.outcome:
        yield f"is {pulled.outcome} in the pull request, and {after.outcome} in full"


def as_recorded(found: ReplayFinding) -> bool:
    """Return whether a replay found requests, answer and verdict to be those of the recording."""
    return found.state is ReplayState.UNAFFECTED or (found.state is ReplayState.RECORDED and not found.altered)


class Counts:
    """What was found, by kind of edit and by state."""

    def __init__(self) -> None:
        self.states: dict[str, Counter[str]] = {kind: Counter() for kind in EDITS}
        self.broken, self.in_vain, self.holes = Counter[str](), 0, list[str]()

    def take(self, revision: Revision, before: Came, after: Came, found: ReplayFinding | None) -> None:
        """Count a revision."""
        state = "missing" if found is None else str(found.state)
        for kind in revision.kinds:
            self.states[kind][state] += 1
        if (before.outcome, after.outcome) == ("passed", "failed"):
            self.broken[state] += 1
        if found is not None and found.state in TO_ASK and after[:2] == before[:2]:
            self.in_vain += 1

    def table(self) -> Iterator[str]:
        """Yield the counts by kind of edit and by state."""
        names = [str(state) for state in ReplayState]
        yield f"{'edit of':14}" + "".join(f"{name:>15}" for name in names)
        for kind, counts in self.states.items():
            yield f"{kind:14}" + "".join(f"{counts[name]:15,}" for name in names)


def check(every: Sequence[Revision], folder: Path, url: str, counts: Counts) -> None:
    """Run a round of revisions, and take in what they came to. Raises BrokenError."""
    project = Project(folder, url)
    was_there = {one.case_id: one.before for one in every} | {"old": every[0].before}
    is_there = {one.case_id: one.after for one in every} | {"new": every[0].after}
    project.write(was_there)
    before = project.recorded()
    project.write(is_there)
    found = project.replayed().findings
    pulled = project.pulled()
    after = project.recorded()
    again = project.replayed().findings
    project.write(was_there)
    back = project.replayed().findings
    new = found.get("new")
    if new is None or new.state is not ReplayState.NOT_RECORDED or "new" not in pulled:
        counts.holes.append(f"the case new is new: {new}, {pulled.get('new')}")
    if gone := [name for name, there in (("old", found), ("new", back)) if name in there]:
        counts.holes.append(f"cases that have gone were looked for: {', '.join(gone)}")
    for one in every:
        was, now, case_id = before[one.case_id], after[one.case_id], one.case_id
        counts.take(one, was, now, found.get(case_id))
        others = (found.get(case_id), again.get(case_id), pulled.get(case_id), back.get(case_id))
        for hole in holes(one, was, now, *others):
            counts.holes.append(f"{one.case_id} ({', '.join(one.kinds)}) {hole}\n{told(one)}")


def told(revision: Revision) -> str:
    """Return what a revision edits."""
    fields = {name: (value, getattr(revision.after, name)) for name, value in vars(revision.before).items()}
    return "\n".join(
        f"    {name}: {old!r}" + ("" if old == new else f" → {new!r}") for name, (old, new) in fields.items()
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Check as many revisions as asked for, and print what was found."""
    args = drawn_arguments(__doc__, arguments, "revisions", 1000)
    every, counts, begin = list(revisions(args.count, args.seed)), Counts(), time.perf_counter()
    with serving(Model) as url, tempfile.TemporaryDirectory() if args.keep is None else nullcontext(args.keep) as home:
        for start in range(0, len(every), ROUND):
            try:
                check(every[start : start + ROUND], Path(home, str(start)), url, counts)
            except (BrokenError, RecallError) as error:
                print(error, file=sys.stderr)
                return 2
            print(f"{min(start + ROUND, len(every)):,} of {len(every):,} revisions", file=sys.stderr, flush=True)
    print("\n".join(counts.table()))
    broken = ", ".join(f"{number} {state}" for state, number in sorted(counts.broken.items()))
    print(f"passed before and fails now: {counts.broken.total():,} ({broken or 'none'})")
    print(f"asked again with the same answer and verdict: {counts.in_vain:,}")
    took = time.perf_counter() - begin
    print(f"{len(counts.holes)} holes in {len(every):,} revisions of seed {args.seed}, {took:.0f} s")
    for hole in counts.holes[:20]:
        print(hole)
    return 1 if counts.holes else 0


if __name__ == "__main__":
    sys.exit(main())
