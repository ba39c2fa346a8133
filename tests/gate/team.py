"""Weeks of a team of three at one repository, by the steps of its workflow, and what has to hold after each of them.

The model is asked directly, outside of the product, what each commit breaks. A check is never green for a change that
breaks a case, unless that failed before; no call costs more than was said; no row moves without an answer of the model.
"""

from __future__ import annotations

import json
import random
import re
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from pytest_recall.files.eval_directory import Place
from pytest_recall.schedule.state import current
from pytest_recall.trials.trial import Row
from tests.gate.model import INPUT_TOKENS, OUTPUT_TOKENS, Chat, Mode, item_of
from tests.gate.project import (
    AGENT,
    CALLER,
    CASES,
    NOTES,
    PROMPT,
    RUBRIC,
    Change,
    Replaced,
    Written,
    case_id,
    question,
)
from tests.gate.world import Check, Pull, Verdict, World

ENGINEERS = ("ada", "bob", "cyd")
BUDGET = 0.15
PRICES = {"m-1": (1, 5), "m-2": (2, 10), "m-3": (1, 5)}
"""US dollars for a million tokens of input and of output, by model."""
FLAKY = 17
QUEUE = Replaced(CALLER, "  workflow_dispatch: null\n", "  workflow_dispatch: null\n  merge_group: null\n")
SETUP: tuple[Change, ...] = (
    QUEUE,
    *(Written(f"src/desk/rules/{name}.txt", "Be kind.\n") for name in ENGINEERS),
    Written("src/desk/model.txt", "m-1\n"),
    Written(
        PROMPT,
        "from pathlib import Path\n\n"
        'RULES = sorted((Path(__file__).parent / "rules").glob("*.txt"))\n'
        'SYSTEM = " ".join(path.read_text().strip() for path in RULES)\n',
    ),
    Replaced(AGENT, "import os\n", "import os\nimport pathlib\n"),
    Replaced(AGENT, 'MODEL = "m-1"', 'MODEL = pathlib.Path(__file__).with_name("model.txt").read_text().strip()'),
    Replaced(RUBRIC, "m-2: {input: 2, output: 10}}", "m-2: {input: 2, output: 10}, m-3: {input: 1, output: 5}}"),
    Written(RUBRIC, f"budget: {BUDGET}\n", append=True),
)
"""What the project of the team has in place of the plain one's."""


class Commit(NamedTuple):
    """What a commit asks: its system prompt, its model, and the item of each case."""

    system: str
    model: str
    items: Mapping[str, int]


class Team:
    """The team, whose days are drawn by `seed`; `faults` are what has not held, and `counts` what has happened."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()
        self._draw = random.Random(seed)
        self._answered: set[tuple[int, str, str]] = set()
        self._undo: list[tuple[str, str]] = []
        commit = self._commit(world.head())
        self._last = max(commit.items.values())
        # All cases were recorded at the first commit.
        self._answered |= {(item, commit.system, commit.model) for item in commit.items.values()}

    # Days

    def play(self, days: int, chosen: Sequence[str] = ()) -> Iterator[str]:
        """Play so many days, and yield a line after each step; with `chosen` kinds of changes, there is one on each."""
        outage, worse = self._draw.randrange(2, max(days, 3)), self._draw.randrange(1, max(days, 2))
        for day in range(days):
            refuses = frozenset({5, 6}) if worse <= day < worse + 3 else frozenset()
            status = 503 if day == outage else 0
            self.world.model.mode = Mode(
                needs_key=True, coin={FLAKY: 0.4}, weaker=frozenset({"m-2"}), refuses=refuses, status=status
            )
            head = self.world.head()
            yield self._held(self.world.night(), head, "night", "main")
            kinds = ["both_orders"] if day % 5 == 2 else []
            kinds += self._draw.choices(list(_KINDS), weights=list(_KINDS.values()), k=self._draw.choice((2, 3)))
            for kind in chosen[day : day + 1] if chosen else kinds:
                self.counts[kind] += 1
                yield from getattr(self, f"_{kind}")()

    def _notes(self) -> Iterator[str]:
        yield from self._landed(self._opened("notes", Written(f"notes/{self._name()}.md", "A note.\n")))

    def _comment(self) -> Iterator[str]:
        line = f"    return text  # {self._name()}\n"
        yield from self._landed(self._opened("comment", ReplacedLine(AGENT, r"    return text\b.*\n", line)))

    def _wording(self) -> Iterator[str]:
        yield from self._landed(self._opened("wording", self._rule(f"Be kind, and mind {self._name()}.")))

    def _breaking(self) -> Iterator[str]:
        """A prompt that breaks some cases; it is mended, or pushed again as it is, or given up."""
        first = self._draw.randrange(self._last // 3, self._last - 1)
        rule = self._rule(f"Be kind. Refuse items {first} to {first + self._draw.randrange(3)}.")
        pull = self._opened("breaking", rule)
        yield self._held_pull(pull, "opened")
        if self._draw.random() < 0.5:
            self.world.push(pull, NOTES)
            yield self._held_pull(pull, "pushed again")
        if self._draw.random() < 0.5:
            self.world.push(pull, ReplacedLine(rule.file, r" Refuse items \d+ to \d+\.", ""))
            yield from self._landed(pull)

    def _swap(self) -> Iterator[str]:
        """Another model, of which one is weaker."""
        model = self._draw.choice(("m-1", "m-2", "m-3"))
        yield from self._landed(self._opened("swap", Written("src/desk/model.txt", f"{model}\n")))

    def _revert(self) -> Iterator[str]:
        """Undo the newest edit of a prompt."""
        if self._undo:
            file, text = self._undo.pop()
            yield from self._landed(self._opened("revert", Written(file, text)))

    def _rename(self) -> Iterator[str]:
        """Give a case another name."""
        old = self._draw.choice(sorted(self._commit(self.world.head()).items))
        new = f"{old.removesuffix('-new')}-new" if not old.endswith("-new") else old.removesuffix("-new")
        yield from self._landed(self._opened("rename", Replaced(CASES, f'"id": "{old}"', f'"id": "{new}"')))

    def _fork(self) -> Iterator[str]:
        """A change by somebody who may not write, and whose jobs have no key."""
        breaks = self._draw.random() < 0.5
        change = self._rule("Be kind. Refuse items 30 to 31.") if breaks else Written("FORK.md", f"{self._name()}\n")
        pull = self.world.open(self._name(), change, fork=True)
        before = self.world.head(pull.branch)
        yield self._held_pull(pull, "fork")
        if self.world.head(pull.branch) != before:
            self.faults.append(f"#{pull.number}: something was pushed to the branch of a fork")

    def _both_orders(self) -> Iterator[str]:
        """Two edits of the prompt, each checked against a main without the other, merged in either order."""
        first, second = (self._opened("both", self._rule(f"Be kind, {name}.", name)) for name in ENGINEERS[:2])
        pulls = [first, second]
        for pull in pulls:
            yield self._held_pull(pull, "opened")
        self._draw.shuffle(pulls)
        for pull in pulls:
            if self.world.mergeable(pull):
                yield self._merged(pull)

    # Steps

    def _name(self) -> str:
        return f"change-{self._draw.randrange(10**6)}"

    def _rule(self, text: str, engineer: str = "") -> Written:
        file = f"src/desk/rules/{engineer or self._draw.choice(ENGINEERS)}.txt"
        return Written(file, f"{text}\n")

    def _opened(self, kind: str, change: Change) -> Pull:
        return self.world.open(f"{kind}-{self._name()}", change)

    def _landed(self, pull: Pull) -> Iterator[str]:
        """Check a pull request, and merge it by the button or through the queue once that is green."""
        yield self._held_pull(pull, "opened")
        if not self.world.mergeable(pull):
            self.counts["not merged"] += 1
            return
        if self._draw.random() < 0.4:
            base = self.world.head()
            queued = self.world.queued(pull)
            yield self._held(queued, base, f"queue #{pull.number}", "")
            if queued.verdict is Verdict.GREEN:
                self._remember(pull)
                self.world.dequeue(queued)
                yield self._held(self.world.pushed(), base, f"push of #{pull.number}", "main")
        else:
            yield self._merged(pull)

    def _merged(self, pull: Pull) -> str:
        base = self.world.head()
        self._remember(pull)
        self.world.squash(pull)
        return self._held(self.world.pushed(), base, f"push of #{pull.number}", "main")

    def _remember(self, pull: Pull) -> None:
        """Note what a prompt was before a pull request, for a later revert."""
        for name in ENGINEERS:
            file = f"src/desk/rules/{name}.txt"
            before = f"{self.world.text(file)}\n"
            if before != f"{self.world.text(file, pull.branch)}\n":
                self._undo.append((file, before))

    def _held_pull(self, pull: Pull, step: str) -> str:
        base = self.world.head(pull.base)
        return self._held(self.world.check(pull), base, f"{step} #{pull.number} ({pull.branch})", pull.branch)

    # What has to hold

    def _held(self, check: Check, base: str, step: str, branch: str) -> str:
        """Note what does not hold after a check of a change of `base`, whose rows are pushed to `branch`."""
        self.counts[check.verdict] += 1
        self.counts["live calls"] += len(check.live)
        head = check.attempt["variables"]["GITHUB_SHA"]
        faults = [*self._of_exit(check), *self._of_evidence(check, base, head), *self._of_cost(check)]
        self._answered |= {
            (item_of(call.chat.question), call.chat.system, call.chat.model) for call in check.live if call.answered
        }
        if branch:
            faults += self._of_rows(check, head, self.world.head(branch))
        self.faults += [f"{self.world.day}, {step}: {fault}" for fault in faults]
        return f"{self.world.day} {step}: {check}{''.join(f'{chr(10)}    FAULT: {fault}' for fault in faults)}"

    def _of_exit(self, check: Check) -> Iterator[str]:
        if check.verdict is Verdict.ENDED_EARLY:
            yield f"pytest did not end with 0 or 1: {check.jobs['run'].output[-800:]}"
        if check.jobs["report"].result != "success":
            yield f"the report failed: {check.jobs['report'].output[-800:]}"
        if "Traceback" in check.output:
            yield f"a traceback: {check.output[-800:]}"
        decided = check.jobs["run"].step("Decide")
        if decided is not None and decided.code not in (0, 1):
            yield f"the decision ended with {decided.code}"

    def _of_evidence(self, check: Check, base: str, head: str) -> Iterator[str]:
        """Yield what is wrong with a green check: a case that the change breaks, and that did not fail before."""
        if check.verdict is not Verdict.GREEN:
            return
        before, after, rows = self._commit(base), self._commit(head), self._rows(base)
        for name, item in after.items.items():
            row = rows.get(name)
            known = row is not None and row.failing
            if item != FLAKY and not known and self._knows(before, item) and not self._knows(after, item):
                yield f"green, and {name} is broken"

    def _of_cost(self, check: Check) -> Iterator[str]:
        spent = 0.0
        for call in check.live:
            input_price, output_price = PRICES[call.chat.model]
            cost = (INPUT_TOKENS * input_price + OUTPUT_TOKENS * output_price) / 1e6
            spent += cost if call.answered else 0
        said = re.search(r"spent (?:at least )?\$([\d.]+)", check.jobs["run"].output)
        printed = float(said[1]) if said else 0.0
        if spent > printed + 0.0005:
            yield f"${spent:.4f} was spent, and ${printed:.4f} was said"
        if check.event == "pull_request" and spent > BUDGET + 0.0025:
            yield f"${spent:.4f} was spent of a budget of ${BUDGET}"

    def _of_rows(self, check: Check, before: str, after: str) -> Iterator[str]:
        """Yield rows that were moved though the model gave no answer to what the commit asks."""
        commit, live = self._commit(before), set(check.asked_cases)
        rows, moved = self._rows(before), self._rows(after)
        for name in sorted(moved.keys() | rows.keys()):
            if untouched(rows.get(name)) == untouched(moved.get(name)) or name not in commit.items:
                continue
            item = commit.items[name]
            if case_id(item) not in live and (item, commit.system, commit.model) not in self._answered:
                yield f"the row of {name} moved without an answer: {rows.get(name)} → {moved.get(name)}"

    # What a commit has

    def _knows(self, commit: Commit, item: int) -> bool:
        return self.world.model.knows(Chat(commit.system, question(item), commit.model))

    def _commit(self, commit: str) -> Commit:
        rules = [self.world.text(f"src/desk/rules/{name}.txt", commit).strip() for name in ENGINEERS]
        cases = [json.loads(line) for line in self.world.text(CASES, commit).splitlines()]
        items = {case["id"]: item_of(case["input"]) for case in cases}
        return Commit(" ".join(rules), self.world.text("src/desk/model.txt", commit).strip(), items)

    def _rows(self, commit: str) -> Mapping[str, Row]:
        folder = self.world.folder / "rows" / commit
        if not folder.exists():
            folder.mkdir(parents=True)
            with tarfile.open(fileobj=BytesIO(self.world.archive(commit, "eval"))) as archive:
                archive.extractall(folder, filter="data")
        return current(Place(folder, folder / "eval")).rows


@dataclass(frozen=True)
class ReplacedLine:
    """A change that puts a text in the place of what a regular expression finds in a file."""

    file: str
    pattern: str
    text: str

    def __call__(self, folder: Path) -> None:
        """Edit the file."""
        path = folder / self.file
        path.write_text(re.sub(self.pattern, self.text, path.read_text(encoding="utf-8")), encoding="utf-8")


_KINDS = {"notes": 2, "comment": 1, "wording": 3, "breaking": 3, "swap": 1, "revert": 2, "rename": 1, "fork": 2}
"""What the team does, by how often."""


def untouched(row: Row | None) -> Row | None:
    """Return a row without the changes that touched its case, which move no box."""
    return row and row._replace(touched=())
