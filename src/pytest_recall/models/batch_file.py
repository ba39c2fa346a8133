"""Keep what was submitted to batch APIs, and which run waits for it, in a file to which all runs append."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.files import clock
from pytest_recall.files.disk import check_link, locked, make_ignored, open_file
from pytest_recall.files.json_lines import objects

if TYPE_CHECKING:
    from filelock import BaseFileLock

NAME = "batches.jsonl"


class BatchPlace(NamedTuple):
    """A call in a batch."""

    batch: str
    custom_id: str


class BatchLog:
    """The file. Lines of three kinds: a `batch` that was submitted, results that a process `claims`, results `taken`.

    Calls are named by the key of what was asked, never by what it was. A claim holds for as long
    as its process lives, which it shows by a lock that the operating system frees: what a run
    that was killed had waited for, or got and made nothing of, is there for the next one.
    Threads share it only one at a time. All methods raise OSError and RecallError.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self.path = folder / NAME
        self._run = run
        self._token = f"{run}.{os.getpid()}"
        self._presence: BaseFileLock | None = None
        self._offset = 0
        self._begun: dict[str, datetime] = {}
        self._places: dict[str, list[BatchPlace]] = {}
        self._owners: dict[BatchPlace, str] = {}
        self._runs: dict[str, set[str]] = {}
        self._taken: set[BatchPlace] = set()
        self._free: set[BatchPlace] = set()
        self._dead: set[str] = set()

    def submitted(self, batch: str, api: str, base_url: str, calls: Iterable[tuple[str, str]]) -> None:
        """Write down a batch with its calls, each by its key and its id in the batch: they are this process's."""
        self._appear()
        told = {"batch": batch, "api": api, "base_url": base_url, "calls": [list(call) for call in calls]}
        with locked(self._lock):
            self._append(told)

    def claim(self, key: str, now: datetime, kept_days: int) -> BatchPlace | None:
        """Take over the first result for `key` that is neither waited for nor taken; None if there is none.

        What is older than `kept_days` is not there any more.
        """
        if not self._offset:
            self._read()
        open_ = [place for place in self._places.get(key, ()) if place not in self._taken]
        if own := next((place for place in open_ if place in self._free), None):
            self._free.discard(own)
            return own
        if all(self._owners[place] == self._token for place in open_):
            return None
        self._appear()
        with locked(self._lock):
            self._read()
            for place in self._places[key]:
                if place in self._taken or self._lives(self._owners[place]):
                    continue
                if now - self._begun[place.batch] < timedelta(days=kept_days):
                    self._append({"claims": place.batch, "calls": [place.custom_id]})
                    return place
        return None

    def free(self, places: Iterable[BatchPlace]) -> None:
        """Let these results, which are this process's, be claimed by it once more: no one has made anything of them."""
        self._free.update(place for place in places if self._owners.get(place) == self._token)

    def take(self, places: Iterable[BatchPlace]) -> None:
        """Write down that these results are no longer waited for."""
        grouped: dict[str, list[str]] = {}
        for place in places:
            grouped.setdefault(place.batch, []).append(place.custom_id)
        if grouped:
            with locked(self._lock):
                for batch, custom_ids in grouped.items():
                    self._append({"taken": batch, "calls": custom_ids})

    def left(self) -> list[str]:
        """Return the batches of which this run has submitted or claimed calls and not taken the results."""
        self._read()
        mine = {place.batch for place in self._owners if place not in self._taken}
        return [batch for batch in self._begun if batch in mine and self._run in self._runs[batch]]

    def close(self) -> None:
        """Let go of the claims."""
        if self._presence is not None:
            self._presence.release()
            self._presence_of(self._token).unlink(missing_ok=True)
            self._presence = None

    @property
    def _lock(self) -> Path:
        return self.path.with_name(".batches.lock")

    def _presence_of(self, token: str) -> Path:
        return self.path.with_name(f".batching-{token}")

    def _appear(self) -> None:
        """Show that this process lives, before it owns anything."""
        if self._presence is None:
            from filelock import FileLock

            make_ignored(self.path.parent)
            self._presence = FileLock(self._presence_of(self._token), timeout=0, thread_local=False)
            self._presence.acquire()

    def _lives(self, token: str) -> bool:
        """Whether the process is there that had taken this name."""
        if token == self._token or token in self._dead:
            return token == self._token
        from filelock import FileLock, Timeout

        path = self._presence_of(token)
        if path.exists():
            check_link(path)
            try:
                with FileLock(path, timeout=0):
                    pass
            except Timeout:
                return True
            path.unlink(missing_ok=True)
        self._dead.add(token)
        return False

    def _append(self, told: Mapping[str, Any]) -> None:
        """Append a line that is on the disk when this returns: it says what has been paid for."""
        line = {**told, "at": clock.now().isoformat(timespec="seconds"), "run": self._run, "by": self._token}
        check_link(self.path)
        with open_file(self.path, "ab+") as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":  # What a killed process began takes no other line with it.
                    file.write(b"\n")
            file.write(json.dumps(line).encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._read()

    def _read(self) -> None:
        """Take in the lines that have come since the last time."""
        try:
            with open_file(self.path, "rb") as file:
                file.seek(self._offset)
                news = file.read()
        except FileNotFoundError:
            return
        whole = news[: news.rfind(b"\n") + 1]
        self._offset += len(whole)
        for _, line, problem in objects(whole.decode("ascii", "replace")):
            if not problem:
                self._learn(line)

    def _learn(self, line: Mapping[str, Any]) -> None:
        try:
            by, run, calls = str(line["by"]), str(line["run"]), line["calls"]
            if "batch" in line:
                batch = str(line["batch"])
                self._begun[batch] = datetime.fromisoformat(line["at"]).astimezone(UTC)
                self._runs[batch] = {run}
                for key, custom_id in calls:
                    place = BatchPlace(batch, custom_id)
                    self._owners[place] = by
                    self._places.setdefault(key, []).append(place)
            elif "claims" in line:
                self._runs[line["claims"]].add(run)
                self._owners.update((BatchPlace(line["claims"], custom_id), by) for custom_id in calls)
            elif "taken" in line:
                self._taken.update(BatchPlace(line["taken"], custom_id) for custom_id in calls)
        except (KeyError, TypeError, ValueError):
            return  # Of a later version, or by someone else's hand.
