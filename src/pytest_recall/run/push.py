"""Push: a run folded into the newest state of a branch, committed and pushed, until nobody was faster."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pytest_recall.core.record import Record
from pytest_recall.render.sentences import plural
from pytest_recall.run import finish
from pytest_recall.run.place import Place
from pytest_recall.run.state import KEEP_DAYS, compact
from pytest_recall.store.artifacts import FOLDER
from pytest_recall.store.files import locked, write_text
from pytest_recall.store.journal import NAME
from pytest_recall.store.remote import EMAIL, GitError, Remote
from pytest_recall.store.rubric import read_rubric

TRIES = 8
TRAILER = "Recall-Run"


class Pushed(NamedTuple):
    """What came of it: the commit if there is one, and a sentence."""

    commit: str | None
    said: str


def push(
    remote: Remote,
    place: Place,
    run: Path,
    record: Record,
    *,
    once: bool = False,
    dry: bool = False,
    sleep: Callable[[float], object] = time.sleep,
) -> Pushed:
    """Fold the run in the folder `run` into the state at the tip of the branch, and push that as eval-bot.

    The checkout at hand stays as it is. If somebody else pushes first, the run is folded into what they pushed, so
    that nothing of either is lost. The commit says which trials are in it, and no trial is folded into a branch again.
    With `once`, nothing is done on top of a commit of eval-bot. Raises RecallError if the branch takes no push; the run
    is then as it was, and can be pushed later.
    """
    inside = place.eval_dir.resolve().relative_to(remote.top.resolve())
    line = f"{TRAILER}: {run.name} {_digest(run)} "
    seen = ""
    count = 0
    while True:
        count += 1
        tip = remote.tip()
        if once and remote.author(tip) == EMAIL:
            return Pushed(None, f"the newest commit of {remote.branch} is eval-bot's own; nothing was pushed")
        folded = max((int(number) for number in remote.lines(tip, line) if number.isdecimal()), default=0)
        if folded and folded >= len(record.trials):
            return Pushed(None, f"{run.name}: already in the state of {remote.branch}")
        with remote.worktree(tip) as tree:
            rows = _fold(Place(tree, tree / inside), run, record, folded)
            message = f"Update the eval schedule\n\n{_counts(record, rows)}\n\n{line}{len(record.trials)}"
            commit = remote.commit(tree, inside.as_posix(), FOLDER, message)
            if commit is None:
                return Pushed(None, f"{run.name}: no row of {remote.branch} changes; nothing was pushed")
            if dry:
                return Pushed(None, f"{run.name}: would change {plural(rows, 'row')} of {remote.branch}")
            try:
                remote.push(commit)
            except GitError:
                # The tip has not moved, and still has not a while later: this is no race.
                if tip == seen or count == TRIES:
                    raise
                seen = tip
                sleep(0.2 * count)
                continue
        return Pushed(commit, f"{run.name}: {plural(rows, 'row')} changed; pushed {commit[:12]} to {remote.branch}")


def _digest(run: Path) -> str:
    """Return what tells runs of one name apart: two checkouts may have begun theirs in the same second."""
    with (run / NAME).open("rb") as file:
        return sha256(file.readline()).hexdigest()[:12]


def _fold(place: Place, run: Path, record: Record, folded: int) -> int:
    """Fold a run into the state at `place`, which has the first `folded` trials, and return how many rows changed."""
    # Whether it is in the state of the checkout at hand says nothing of this one.
    copy = place.artifacts.folder / run.name
    shutil.copytree(run, copy, dirs_exist_ok=True)
    (copy / finish.APPLIED).unlink(missing_ok=True)
    if folded:
        write_text(copy / finish.APPLIED, json.dumps({"trials": folded}) + "\n")
    rows = len(finish.apply(place, copy, record) or ())
    if record.header.mode == "nightly" and read_rubric(place.rubric, place.name(place.rubric)).state == "events":
        # The night is the one writer that moves older event files into the state file.
        with locked(place.lock):
            compact(place, date.fromisoformat(record.header.date), KEEP_DAYS, write=True)
    return rows


def _counts(record: Record, rows: int) -> str:
    header = record.header
    told = f"{header.mode} {header.date}: {plural(len(record.trials), 'trial')}, {plural(rows, 'row')} changed"
    return told if header.pr is None else f"{told}, for pull request {header.pr}"
