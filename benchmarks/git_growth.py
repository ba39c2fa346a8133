"""Print by how much `.git` grows in two weeks of a team that keeps its state and its recordings there.

    python benchmarks/git_growth.py                     # 800 cases, 14 days, 5 pull requests a day
    python benchmarks/git_growth.py --affected 200      # each of which affects 200 cases

Cassettes, rows and run files are written by the code that runs; the texts are made up, of words as an answer has them.
Each day: pull requests record what they affect into their refs and are merged, the run on main takes that over, and a
night moves the rows of a sixth of the cases. Nothing that stays as it is is written again.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from pytest_recall.replay.cassette_file import write_cassette
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.schedule.events import Event, Events, fold_events
from pytest_recall.schedule.run_file import name_of, run_file_text
from pytest_recall.schedule.state_file import parse_state
from pytest_recall.trials.trial import Outcome

WORDS = [f"{a}{b}" for a in ("re", "un", "pre", "con", "de", "in", "over") for b in ("port", "tain", "fund", "call")]
RULES = Rules()
BEGIN = date(2026, 1, 5)


def main() -> None:
    """Play the weeks and print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, told in (
        ("cases", 800, "cases of the set"),
        ("days", 14, "days"),
        ("pulls", 5, "pull requests a day"),
        ("affected", 40, "cases that each of them affects"),
        ("kilobytes", 4, "size of what a case asks and is answered"),
    ):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{told} (default: {value})")
    with tempfile.TemporaryDirectory() as folder:
        Team(Path(folder), parser.parse_args()).play()


class Team:
    """A repository with an eval set, and what happens to it."""

    def __init__(self, root: Path, args: argparse.Namespace) -> None:
        self.root = root
        self.args = args
        self.draw = random.Random(7)
        self.ids = [f"case-{number:04}" for number in range(args.cases)]
        self.state = parse_state("", "recall.yaml")
        self.pull = 0

    def play(self) -> None:
        """Play all days, and print how large `.git` is at the beginning and the end."""
        self.git("init", "-q", "-b", "main")
        for case_id in self.ids:
            self.record(self.root / "eval/cassettes", case_id, "first")
        self.fold(BEGIN, self.ids, "main")
        self.commit("Main is recorded")
        first = self.size()
        print(f"{self.args.cases:,} cases recorded on main: {first / 2**20:.1f} MB")
        for number in range(1, self.args.days + 1):
            day = BEGIN + timedelta(days=number)
            for _ in range(self.args.pulls):
                self.merged_pull(day)
            self.fold(day, self.draw.sample(self.ids, len(self.ids) // 6), "nightly")
            self.commit(f"Night {day}")
        last = self.size()
        refs = self.git("for-each-ref", "--format=%(refname)", "refs/recall/").split()
        for ref in refs:
            self.git("update-ref", "-d", ref)
        pruned = self.size()
        about = f"{self.args.days} days, {len(refs)} pull requests of {self.args.affected} affected cases"
        print(f"after {about}: {last / 2**20:.1f} MB, {(last - first) / 2**20:.1f} MB more")
        print(f"without the refs of the pull requests: {pruned / 2**20:.1f} MB")

    def merged_pull(self, day: date) -> None:
        """Have a pull request record what it affects, twice, and main take it over."""
        self.pull += 1
        affected = self.draw.sample(self.ids, self.args.affected)
        for push in (1, 2):
            part = affected if push == 1 else affected[: len(affected) // 5]
            with tempfile.TemporaryDirectory() as scratch:
                run = Path(scratch) / f"eval/run-{push}"
                for case_id in part:
                    self.record(run / "cassettes", case_id, f"pull {self.pull}, push {push}")
                events = self.events(day, part, f"pr{self.pull}")
                (run / "runs").mkdir()
                (run / f"runs/{name_of(events)}.yaml").write_text(run_file_text(events, self.state.rows))
                self.keep(Path(scratch), f"refs/recall/pull/{self.pull}")
        for case_id in affected:
            again = case_id in affected[: len(affected) // 5]
            self.record(self.root / "eval/cassettes", case_id, f"pull {self.pull}, push {1 + again}")
        self.fold(day, affected, f"pr{self.pull}")
        self.commit(f"Pull request {self.pull}")

    def keep(self, tree: Path, ref: str) -> None:
        """Add a folder to what a ref holds."""
        parents = self.git("for-each-ref", "--format=%(objectname)", ref).split()
        index = {"GIT_INDEX_FILE": str(tree / ".index"), "GIT_WORK_TREE": str(tree)}
        if parents:
            self.git("read-tree", parents[0], **index)
        self.git("add", "--force", "eval", **index)
        tree_id = self.git("write-tree", **index).strip()
        chain = [one for parent in parents for one in ("-p", parent)]
        self.git("update-ref", ref, self.git("commit-tree", tree_id, *chain, "-m", "Recordings").strip())

    def record(self, folder: Path, case_id: str, prompt: str) -> None:
        """Write the cassette of a case: the same of the same prompt."""
        draw = random.Random(f"{case_id} {prompt}")
        count = self.args.kilobytes * 1024 // 2
        asked, answer = (" ".join(texts(draw, count)) for _ in range(2))
        body = {"model": "m", "messages": [{"role": "system", "content": prompt}, {"role": "user", "content": asked}]}
        request = Request("POST", "https://api.example/v1/chat/completions", (), json.dumps(body).encode())
        reply = json.dumps({"choices": [{"message": {"role": "assistant", "content": answer}}]}).encode()
        response = Response(200, headers=(("content-type", "application/json"),), chunks=(reply,))
        exchange = Exchange(key_of(request, RULES), 0, "agent", request, response, at="2026-01-05T10:00:00+00:00")
        path = folder / "s" / f"{case_id}.ndjson"
        path.parent.mkdir(parents=True, exist_ok=True)
        header = {"case": case_id, "scenario": "s", "run": prompt, "recorded_at": "2026-01-05T10:00:00+00:00"}
        write_cassette(path, header, [exchange], RULES)

    def events(self, day: date, case_ids: list[str], who: str) -> Events:
        """Return the verdicts of a run: one in twenty fails."""
        drawn = ((case_id, self.draw.random() < 0.05) for case_id in case_ids)
        verdicts = (Event(one, Outcome.FAILED if failed else Outcome.PASSED, "wrong" * failed) for one, failed in drawn)
        return Events(f"{day}T120000", day, who, trials=len(case_ids), verdicts=tuple(verdicts))

    def fold(self, day: date, case_ids: list[str], who: str) -> None:
        """Fold a run into the rows."""
        events = self.events(day, case_ids, who)
        named = {name_of(events): events}
        text = self.state.updated(fold_events(self.state.rows, named), folded=sorted({*self.state.folded, *named}))
        (self.root / "eval/recall.yaml").write_text(text)
        self.state = parse_state(text, "recall.yaml")

    def commit(self, message: str) -> None:
        """Commit all that is there."""
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def size(self) -> int:
        """Return the bytes of `.git`, packed as git does it by itself."""
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")
        return sum(path.stat().st_size for path in (self.root / ".git").rglob("*") if path.is_file())

    def git(self, *command: str, **environ: str) -> str:
        """Return what git prints."""
        who = ("-c", "user.name=Team", "-c", "user.email=team@example.com")
        environ = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(self.root), **environ}
        done = subprocess.run(["git", *who, *command], cwd=self.root, env=environ, capture_output=True, check=True)
        return done.stdout.decode()


def texts(draw: random.Random, count: int) -> Iterator[str]:
    """Yield words of `count` bytes together."""
    while count > 0:
        word = draw.choice(WORDS)
        count -= len(word) + 1
        yield word


if __name__ == "__main__":
    main()
