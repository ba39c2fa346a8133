"""Name the files in the folder of cassettes, and put a finished recording in its place."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.files import clock
from pytest_recall.files.disk import (
    check_link,
    exists,
    locked,
    make_folder,
    make_ignored,
    names_in,
    read_bytes,
    remove,
    write_bytes,
)
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import CASSETTE_SUFFIX
from pytest_recall.replay.cassette_file import (
    Cassette,
    are_answered_alike,
    last_recorded,
    matched,
    merged,
    read_draft,
    read_header,
    write_cassette,
)
from pytest_recall.replay.equality import equals, key_of
from pytest_recall.replay.exchange import Exchange, is_outage
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.tokens import have_one_answer
from pytest_recall.replay.wire_formats import trouble

FIXTURES = "_fixtures"
DRAFTS = ".drafts"
LOCK = ".lock"
AGAIN = "~"  # Before the number of a repeat; in the name of no case.
SHARED = "shared"
"""The scope of the cassette that all cases share, which no fixture has."""
ARM = "@"  # Before the name of a baseline; in the name of no case either.
_BETWEEN = "+"  # In the name of a draft between folder and file, in none of which it occurs.
_DRAFT = re.compile(rf"(?P<of>.+)\.[0-9a-f]{{16}}-\d+-\d+{re.escape(CASSETTE_SUFFIX)}")
_HASHED = re.compile(r".*-[0-9a-f]{12}", re.DOTALL)
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)  # by Windows
_count = itertools.count()


class Layer(NamedTuple):
    """A folder in which cassettes may be."""

    folder: Path
    name: str
    """What messages call the place that the folder stands for."""


class Library:
    """The cassettes below one folder: `<scenario>/<case>.ndjson`, and one for each wider fixture.

    What is recorded is written there. It is read from `layers`, of which the one that has recorded a case last counts;
    without them, from the folder alone.
    """

    def __init__(self, folder: Path, layers: Sequence[Layer] = ()) -> None:
        self.folder = folder
        self.layers = tuple(layers) or (Layer(folder, folder.name),)
        self._is_alone = all(layer.folder == folder for layer in self.layers)
        self._used: dict[str, Path] = {}

    def sources(self, path: Path) -> list[Path]:
        """Return the files in which the cassette `path` can be read, what was recorded last first.

        Raises RecallError for one of several that is damaged.
        """
        return [source for source in self._places(path) if exists(source)]

    def source(self, path: Path) -> Path:
        """Return the file in which the cassette `path` is read; it is not there if there is none."""
        return next(iter(self._places(path)), path)

    def _places(self, path: Path) -> list[Path]:
        """Return where the cassette `path` would be in the layers that count for it, the first choice first.

        The later trials of a series are beside the first one, in the layer that is used for that.
        """
        if self._is_alone:
            return [path]
        inside = _inside(path, self.folder)
        first = _first(inside)
        if first != inside and first in self._used:
            return [self._used[first] / inside]
        folders = [layer.folder for layer in self.layers if exists(layer.folder / first)]
        if len(folders) > 1:  # A cassette may have been recorded again since a run on a branch did.
            folders.sort(key=lambda folder: self._recorded_at(folder / first), reverse=True)
        return [folder / inside for folder in (folders if first == inside else folders[:1])]

    def latest(self, path: Path) -> Path:
        """Return the file in which what a cassette of any layer is of was recorded last."""
        return self.source(self.folder / self.inside(path))

    def passed_over(self, path: Path) -> str:
        """Return why a cassette is not the one that counts of those of the same; empty if it is.

        Raises RecallError where another one of the same is damaged.
        """
        latest = self.latest(path)
        if latest == path:
            return ""
        first = _first(self.inside(path))
        ours, other = self.layer(path).folder / first, self.layer(latest).folder / first
        if not exists(ours):
            return "the first trial of its series is not beside it"
        at = self._recorded_at(other)
        if at == self._recorded_at(ours):
            return f"{self.name(other)} was recorded at the same time, and is read first"
        return f"{self.name(other)} was recorded later, at {at}"

    def is_newer(self, path: Path, than: Path) -> bool:
        """Whether a cassette holds something else than another one, and that one was not recorded later.

        Raises RecallError for one that is damaged.
        """
        if not exists(than):
            return True
        return self._recorded_at(path) >= self._recorded_at(than) and read_bytes(path) != read_bytes(than)

    def _recorded_at(self, path: Path) -> str:
        """Return when a cassette was recorded last, in ISO 8601. Raises RecallError for one that is damaged."""
        return last_recorded(path, self.name(path))

    def use(self, source: Path) -> None:
        """Read the later trials of a series from the layer in which the first one is read, which is `source`."""
        if not self._is_alone:
            folder = self.layer(source).folder
            self._used[_inside(source, folder)] = folder

    def is_own(self, path: Path) -> bool:
        """Whether a cassette is in the folder that is written, and not in the file of a run on a branch."""
        return path.is_relative_to(self.folder)

    def layer(self, path: Path) -> Layer:
        """Return the layer that a cassette is in; of one that is elsewhere its folder."""
        for layer in self.layers:
            if path.as_posix().startswith(_before(layer.folder)):
                return layer
        return Layer(path.parent, path.parent.as_posix())

    def name(self, path: Path) -> str:
        """Return what messages call a cassette: by its place in the eval directory, or in the file of a run."""
        folder, name = self.layer(path)
        between = ": " if name.endswith(CASSETTE_SUFFIX) else "/"
        return f"{name}{between}{_inside(path, folder)}"

    def of_case(self, case_id: str, scenario: str, repeat: int = 1, arm: str = "") -> Path:
        """Return the cassette of a case; each baseline that is asked has its own, and each trial of a series."""
        beside = f"{ARM}{_short(_slug(arm), arm)}" if arm else ""
        again = f"{AGAIN}{repeat}" if repeat > 1 else ""
        return self.folder.joinpath(_slug(scenario or "_"), f"{_slug(case_id)}{beside}{again}{CASSETTE_SUFFIX}")

    def of_fixture(self, name: str, scope: str, place: str) -> Path:
        """Return the cassette of a fixture; `place` tells fixtures of one name apart, and their parameters."""
        return self.folder / FIXTURES / f"{_slug(f'{scope}-{name}', place)}{CASSETTE_SUFFIX}"

    @property
    def shared(self) -> Path:
        """The cassette of the calls that all cases share."""
        return self.of_fixture("calls", SHARED, "")

    def has_fixtures(self) -> bool:
        """Whether a fixture is recorded, which may make the calls of the cases."""
        return exists(self.folder / FIXTURES)

    def of_header(self, header: Mapping[str, Any]) -> Path | None:
        """Return the cassette of the case that a header names; None if it names none."""
        case_id, scenario, repeat = header.get("case"), header.get("scenario", ""), header.get("repeat", 1)
        arm = header.get("baseline", "")
        if isinstance(case_id, str) and isinstance(scenario, str) and isinstance(arm, str) and type(repeat) is int:
            return self.of_case(case_id, scenario, repeat, arm)
        return None

    def fits(self, path: Path, header: Mapping[str, Any]) -> bool:
        """Whether the cassette `path` has the name of what its header says it is the recording of."""
        own = self.of_header(header)
        if own is not None:
            return self.inside(path) == self.inside(own)
        fixture, scope = header.get("fixture"), header.get("scope")
        if not isinstance(fixture, str) or not isinstance(scope, str):
            return False
        # The place of the fixture is in the name alone, as a part of the hash.
        path, like = Path(self.inside(path)), Path(self.inside(self.of_fixture(fixture, scope, "")))
        return path.parent == like.parent and path.stem[:-12] == like.stem[:-12] and bool(_HASHED.fullmatch(path.stem))

    def inside(self, path: Path) -> str:
        """Return a cassette's path in the folder of its layer, with forward slashes."""
        return _inside(path, self.layer(path).folder)

    def files(self) -> list[Path]:
        """Return all finished cassettes, layer by layer, sorted in each."""
        return [path for layer in self.layers for path in self._files(layer.folder)]

    @staticmethod
    def _files(folder: Path) -> list[Path]:
        found = folder.rglob(f"*{CASSETTE_SUFFIX}") if folder.is_dir() else ()
        return sorted(path for path in found if DRAFTS not in path.relative_to(folder).parts)

    def headers(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield each finished cassette with its header, sorted by path. Raises RecallError for one that is damaged."""
        for path in self.files():
            yield path, read_header(path, self.name(path))

    def new_draft(self, path: Path) -> Path:
        """Return the path of a draft of the cassette `path` that no other process uses, nor has ever used."""
        unique = f"{clock.wall_ns():016x}-{os.getpid()}-{next(_count)}"
        return self.folder / DRAFTS / f"{self._draft_name(path)}.{unique}{CASSETTE_SUFFIX}"

    def drafts(self, path: Path | None = None) -> list[Path]:
        """Return the drafts of the cassette `path`, or of all, that were left behind; oldest first for each."""
        check_link(self.folder / DRAFTS)  # What is found there may be deleted.
        names = names_in(self.folder / DRAFTS)
        drafts = [(match["of"], self.folder / DRAFTS / name) for name in names if (match := _DRAFT.fullmatch(name))]
        return [draft for of, draft in sorted(drafts) if path is None or of == self._draft_name(path)]

    def check(self, path: Path) -> None:
        """Raise LinkError if a link leads out of the folder on the way to the cassette `path` or to its drafts.

        A folder that is such a link itself is refused as well; the place that it leads to can be named instead.
        """
        within = [parent for parent in path.parents if parent.is_relative_to(self.folder)]
        check_link(*reversed(within), path, self.folder / DRAFTS, self.folder / DRAFTS / LOCK)

    def finish(
        self,
        path: Path,
        header: Mapping[str, Any],
        exchanges: Iterable[Exchange],
        rules: Rules,
        *,
        shared: bool = False,
    ) -> bool:
        """Let a recording take its place: none, if it has no call. Raises OSError, and then has changed nothing.

        A `shared` one, which several processes make at the same time, joins what another process of the same run
        (`header["run"]`) has put there. Returns whether that has all of its answers.
        """
        news, has_all = list(exchanges), True
        if not news and not exists(path):
            return has_all
        with self._locked(path):
            if shared:
                earlier = _written_in(path, header.get("run"), rules)
                has_all = are_answered_alike(earlier, news, rules)
                news = merged(earlier, news, rules)
            if news:
                write_cassette(path, header, news, rules)
            else:
                remove(path)
        return has_all

    def share(self, path: Path, header: Mapping[str, Any], exchanges: Iterable[Exchange], rules: Rules) -> None:
        """Add to a cassette that all cases share; what it has is kept. Raises OSError, and then has changed nothing.

        What the processes of one run (`header["run"]`) have recorded is one recording, whichever writes first.
        """
        news = list(exchanges)
        if not news:
            return
        with self._locked(path):
            before: list[Exchange] = []
            if exists(known := self.source(path)):
                cassette = Cassette(known, str(known), rules)
                before = [one._replace(key=key_of(one.request, rules)) for one in cassette.exchanges()]
                begun, own = (str(one.get("recorded_at", "")) for one in (cassette.header, header))
                if cassette.header.get("run") == header.get("run"):
                    news = [*(one for one in before if one.at >= begun), *news]
                    before = [one for one in before if one.at < begun]
                    header = {**header, "recorded_at": min(begun, own)}
                elif begun > own:
                    header = _plain(cassette.header)
            if calls := best(before, news, rules):
                write_cassette(path, header, calls, rules)

    def take_over(self, source: Path, path: Path) -> None:
        """Let what a run on a branch has recorded, in `source`, take the place of the cassette `path`.

        Nothing is done for a cassette that is in its place. Of a series the later trials go that the run did not come
        to, and of calls that all cases share those that are there stay. Raises OSError or RecallError.
        """
        if source == path:
            return
        name = self.name(source)
        if exists(path) and read_header(source, name).get("scope") == SHARED:
            cassette = Cassette(source, name, Rules())
            rules = Rules().among(matched(cassette.header, name))
            self.share(path, _plain(cassette.header), cassette.exchanges(), rules)
            return
        with self._locked(path):
            make_folder(path.parent)
            write_bytes(path, read_bytes(source))
            inside = _inside(path, self.folder)
            if _first(inside) == inside:
                number = 2
                while exists(later := path.with_name(f"{path.stem}{AGAIN}{number}{path.suffix}")):
                    if not exists(source.with_name(later.name)):
                        remove(later)
                    number += 1

    def move(self, cassette: Cassette, target: Path, names: Mapping[str, str]) -> None:
        """Put a cassette in the place `target`, where none is, with these `names` in its header. Raises OSError."""
        self.check(target)
        with self._locked(cassette.path):
            write_cassette(target, {**_plain(cassette.header), **names}, cassette.exchanges(), cassette.rules)
            self.delete(cassette.path)

    def delete(self, path: Path) -> None:
        """Delete a cassette, and the folder of its scenario if no recording is left there. Raises OSError."""
        remove(path)
        with suppress(OSError):
            path.parent.rmdir()

    def recover(self, path: Path, rules: Rules) -> int:
        """Add to the cassette `path` what drafts of it hold that were left behind; return how many calls.

        What the provider did not answer is asked again, as the run that left it came to no verdict.
        """
        if not self.left_behind(path):
            return 0
        with self._locked(path):
            before: list[Exchange] = []
            header: dict[str, Any] = {}
            if exists(known := self.source(path)):
                cassette = Cassette(known, str(known), rules)
                before, header, rules = list(cassette.exchanges()), cassette.header, cassette.rules
            after = before
            drafts = self.left_behind(path)
            for draft in drafts:
                draft_header, exchanges = read_draft(draft, str(draft))
                answered = [one for one in exchanges if not is_outage(trouble(one))]
                header = header or draft_header
                if answered:
                    rules = rules.among(matched(draft_header, str(draft)))
                offset = len(after)
                news = (one._replace(seq=offset + one.seq, key=key_of(one.request, rules)) for one in answered)
                after = merged(after, news, rules)
            if len(after) > len(before):
                plain = _plain(header) | {"recorded_at": min(exchange.at for exchange in after)}
                write_cassette(path, plain, after, rules)
            for draft in drafts:
                remove(draft)
        return len(after) - len(before)

    def left_behind(self, path: Path | None = None) -> list[Path]:
        """Return those of `drafts` that no process of this machine is writing."""
        return [draft for draft in self.drafts(path) if not _is_writing(draft)]

    def _draft_name(self, path: Path) -> str:
        return _BETWEEN.join(path.relative_to(self.folder).with_suffix("").parts)

    @contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        self.check(path)
        make_ignored(self.folder / DRAFTS)
        with locked(self.folder / DRAFTS / LOCK):
            yield


def _inside(path: Path, folder: Path) -> str:
    """Return the path of a file inside a folder, with forward slashes; `relative_to` takes fifty times as long."""
    return path.as_posix().removeprefix(_before(folder))


@lru_cache(maxsize=256)
def _before(folder: Path) -> str:
    """Return what the paths of all files in a folder begin with."""
    text = folder.as_posix()
    return "" if text == "." else f"{text.rstrip('/')}/"


def _first(inside: str) -> str:
    """Return the path of the first trial of the series that a cassette belongs to, as it is inside their folder."""
    stem, again, number = inside.removesuffix(CASSETTE_SUFFIX).rpartition(AGAIN)
    return f"{stem}{CASSETTE_SUFFIX}" if again and number.isdecimal() else inside


def _plain(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a header says of its recording, without what is written about the file."""
    return {name: value for name, value in header.items() if name not in ("crc", "cassette", "rules")}


def best(before: Iterable[Exchange], news: Iterable[Exchange], rules: Rules) -> list[Exchange]:
    """Return the calls that a shared cassette keeps, in the order of their addresses.

    Of equal ones the different answers of that one of two recordings which was made later, which are the `news` if they
    were made at the same time. One that was not answered is kept if none with its key was, and one that says that
    nothing has changed since never: a client may have nothing.
    """
    every = [(part, one) for part, calls in enumerate((before, news)) for one in calls if not _is_unchanged(one)]
    whole = [(part, one) for part, one in every if _is_whole(one)]
    kept: dict[Hashable, list[Exchange]] = {}
    parts: dict[Hashable, list[tuple[int, Exchange]]] = {}
    for name, (part, one) in zip(equals([one for _, one in whole], rules), whole, strict=True):
        parts.setdefault(name, []).append((part, one))
    for name, same in parts.items():
        newest, _ = max(same, key=lambda made: (made[1].at, made[0]))
        kept[name] = _different([one for part, one in same if part == newest])
    answered = {one.key for _, one in whole}
    first: dict[str, int] = {}
    for part, one in every:
        if one.key not in answered and part == first.setdefault(one.key, part):
            kept[one.key] = [one]
    ordered = sorted(chain(*kept.values()), key=lambda one: (one.request.url, one.request.method, one.key))
    return [one._replace(seq=seq) for seq, one in enumerate(ordered)]


def _different(calls: Sequence[Exchange]) -> list[Exchange]:
    """Return the last of each of these calls that were answered alike."""
    kept: list[Exchange] = []
    for one in calls:
        kept = [*(other for other in kept if not have_one_answer((one, other))), one]
    return kept


def _is_unchanged(one: Exchange) -> bool:
    return one.response is not None and one.response.status == 304


def _is_whole(one: Exchange) -> bool:
    response = one.response
    return one.failure is None and response is not None and response.complete and response.status < 300


def _written_in(path: Path, run: Any, rules: Rules) -> list[Exchange]:
    """Return the calls of the cassette `path` if it was written in `run`: one that is damaged was not."""
    try:
        cassette = Cassette(path, str(path), rules)
        return list(cassette.exchanges()) if cassette.header.get("run") == run else []
    except (RecallError, FileNotFoundError):
        return []


def _is_writing(draft: Path) -> bool:
    """Whether the process lives that is named in a draft's file name."""
    process = int(draft.stem.rpartition(".")[2].split("-")[1])
    return process != os.getpid() and is_running(process)


def is_running(process: int) -> bool:
    """Whether a process of this machine lives; one that cannot be asked is taken to."""
    if os.name != "posix":
        return True  # There is no asking without ending it.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # It is someone else's.
    return True


def _short(slug: str, text: str) -> str:
    """Return the slug of `text`, or its hash where a draft's name would become longer than file systems allow."""
    return slug if len(slug) <= 20 else f"{slug[:7]}-{_digest(text)}"


# Cases of one scenario are in one folder, and a case asks for its place several times.
@lru_cache(maxsize=256)
def _slug(text: str, *more: str) -> str:
    """Return a file name that reads like `text` and is no other text's, also where case does not count."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80] or "x"
    if _RESERVED.fullmatch(plain):
        plain = f"_{plain}"
    # What already looks like a name with a hash would be taken for that one's.
    if plain == text and not more and plain == plain.lower() and not _HASHED.fullmatch(plain):
        return plain
    return f"{plain}-{_digest(text, *more)}"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
