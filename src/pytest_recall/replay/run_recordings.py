"""Keep what one run on a branch has recorded in one file beside its run file, so that branches share no cassette.

The file has a heading, then its cassettes as they are, each below a line with its path in the folder of cassettes, and
an end mark that counts them. Who reads them unpacks the file once, into a folder beside the artifacts.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Container, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.files.disk import check_pulled, make_folder, open_file, read_bytes, remove, write_bytes
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import CASSETTE_SUFFIX, Place
from pytest_recall.files.wording import listed, plural
from pytest_recall.replay.cassette_file import read_lines
from pytest_recall.replay.cassette_library import Layer, Library, is_running
from pytest_recall.replay.cassette_lines import CRC_BYTES, sealed, unsealed
from pytest_recall.replay.recorded_parts import secrets_in

VERSION = 1
UNPACKED = ".recordings"
"""The folder among the artifacts into which these files are unpacked, each into one of its own."""
RECORDING = ".recording"
"""The folder among the artifacts with what a run on a branch is recording, in a folder for each process."""
_HEADING = b'"recordings":'
_PATH = b'"path":'


class PackedRun(NamedTuple):
    """The file with what one run has recorded."""

    path: Path
    at: str
    """When it was written, in ISO 8601."""


def files_of_runs(place: Place, but: Container[str] = ()) -> list[PackedRun]:
    """Return the files with recordings of runs, the newest first; those that messages name as in `but` are left out.

    Raises RecallError for one that is none.
    """
    paths = (path for path in _paths(place) if place.name(path) not in but)
    found = [_heading(path, place.name(path)) for path in paths]
    return sorted(found, key=lambda one: (one.at, one.path), reverse=True)


def _paths(place: Place) -> list[Path]:
    folder = place.run_files
    return sorted(path for path in folder.iterdir() if path.suffix == CASSETTE_SUFFIX) if folder.is_dir() else []


def _heading(path: Path, name: str) -> PackedRun:
    try:
        with open_file(path, "rb") as file:
            line = file.readline().removesuffix(b"\n")
    except OSError as error:
        raise RecallError(f"{name}: cannot be read ({error.strerror}); check that it is readable") from None
    check_pulled(line, name)
    if not line.startswith(_HEADING, CRC_BYTES):
        raise RecallError(f"{name}:1: holds no recordings of a run; restore it from git, or delete it")
    fields = _fields(line, name, 1)
    if fields["recordings"] != VERSION:
        raise RecallError(f"{name}:1: version {fields['recordings']!r} is not known to this pytest-recall; upgrade it")
    return PackedRun(path, str(fields.get("at", "")))


def _fields(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        return unsealed(line, name, number)
    except RecallError:
        raise RecallError(f"{name}:{number}: is damaged; restore the file from git, or delete it") from None


def pack(folder: Path, paths: Iterable[Path], at: datetime) -> bytes:
    """Return the content of a file with the cassettes `paths`, which are below `folder`; `at` is the time."""
    parts = [sealed({"recordings": VERSION, "at": at.isoformat(timespec="microseconds")})]
    count = 0
    for path in sorted(paths):
        parts += (sealed({"path": path.relative_to(folder).as_posix()}), read_bytes(path))
        count += 1
    return b"".join((*parts, sealed({"recordings": count})))


def write_packed(folder: Path, stem: str, data: bytes) -> Path:
    """Write a file of recordings whose name begins with `stem`, and return its path. Raises OSError."""
    path = folder / f"{stem}-{_digest(data)[:6]}{CASSETTE_SUFFIX}"
    make_folder(folder)
    write_bytes(path, data, durable=True)
    return path


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def cassettes_in(path: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the cassettes in a file of recordings: their paths in the folder of cassettes, and their content.

    Raises RecallError for a file that is damaged, cut off, or would write elsewhere.
    """
    *lines, rest = read_lines(path, name)
    _heading(path, name)
    found: list[tuple[str, list[bytes]]] = []
    end = -1
    for number, line in enumerate(lines[1:], 2):
        if end >= 0:
            raise RecallError(f"{name}:{number}: stands behind the end mark; restore the file from git, or delete it")
        if line.startswith(_PATH, CRC_BYTES):
            inside = _relative(_fields(line, name, number).get("path"), name, number)
            if any(inside == known for known, _ in found):
                raise RecallError(f"{name}:{number}: {inside} is there twice; restore the file from git, or delete it")
            found.append((inside, []))
        elif line.startswith(_HEADING, CRC_BYTES):
            end = _fields(line, name, number)["recordings"]
        elif found:
            found[-1][1].append(line)
        else:
            raise RecallError(f"{name}:{number}: belongs to no cassette; restore the file from git, or delete it")
    if rest or end != len(found):
        raise RecallError(f"{name}:{len(lines) + 1}: was cut off; restore the file from git, or delete it")
    for inside, content in found:
        yield inside, b"".join(line + b"\n" for line in content)


def _relative(inside: object, name: str, number: int) -> str:
    """Return the path of a cassette if it stays in the folder that it is unpacked into. Raises RecallError."""
    parts = inside.split("/") if isinstance(inside, str) else []
    odd = any(part in ("", ".", "..") or not part.isprintable() or {"\\", ":"} & {*part} for part in parts)
    if not isinstance(inside, str) or odd or not inside.endswith(CASSETTE_SUFFIX):
        raise RecallError(f"{name}:{number}: {inside!r} is not the path of a cassette; restore the file from git")
    return inside


def layers_of(place: Place, but: Container[str] = ()) -> tuple[Layer, ...]:
    """Return the recordings of runs on branches, unpacked, as `files_of_runs`. Raises RecallError or OSError."""
    return tuple(_unpacked(place, one.path) for one in files_of_runs(place, but))


def damaged(place: Place) -> dict[str, str]:
    """Return the files with recordings of runs that cannot be read, by name, each with what is wrong."""
    found = {}
    for path in _paths(place):
        try:
            _unpacked(place, path)
        except RecallError as error:
            found[place.name(path)] = str(error)
    return found


def _unpacked(place: Place, path: Path) -> Layer:
    name = place.name(path)
    # By its content: a file that was damaged and is restored, or edited, is another one.
    digest = _digest(b"\n".join(read_lines(path, name)))
    target = place.artifacts.folder / UNPACKED / f"{path.stem}-{digest}"
    if not target.is_dir():
        cassettes = list(cassettes_in(path, name))
        place.artifacts.make()
        make_folder(target.parent)
        # Workers do the same at the same time: each into a folder of its own, and one of them takes its place.
        draft = Path(tempfile.mkdtemp(prefix=".", dir=target.parent))
        for inside, content in cassettes:
            make_folder((draft / inside).parent)
            write_bytes(draft / inside, content)
        try:
            draft.rename(target)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            if not target.is_dir():
                raise
    return Layer(target, name)


def forget_unpacked(place: Place, but: Container[str] = ()) -> None:
    """Delete what was unpacked of files that are gone by now, or that messages name as in `but`."""
    there = {layer.folder.name for layer in layers_of(place, but)}
    folder = place.artifacts.folder / UNPACKED
    for unpacked in folder.iterdir() if folder.is_dir() else ():
        if unpacked.name not in there and not unpacked.name.startswith("."):
            shutil.rmtree(unpacked, ignore_errors=True)


def layers_from(place: Place, folder: Path, but: Container[str] = ()) -> tuple[Layer, ...]:
    """Return where the cassettes of an eval directory are read while what is recorded is written into `folder`.

    What this run records comes first, then what runs on branches have recorded, as `layers_of` says, and the cassettes
    last. Empty where there is nothing but the cassettes. Raises RecallError or OSError.
    """
    above = () if folder == place.cassettes else (Layer(folder, place.name(folder)),)
    layers = (*above, *layers_of(place, but))
    return (*layers, Layer(place.cassettes, place.name(place.cassettes))) if layers else ()


def library_of_runs(place: Place) -> Library:
    """Return all cassettes of an eval directory, those of runs on branches before the others. Raises RecallError."""
    own = Layer(place.cassettes, place.name(place.cassettes))
    return Library(place.cassettes, layers_from(place, place.cassettes) or (own,))


def taken_over(place: Place) -> list[Path]:
    """Return the files of which the cassettes hold all, or what was recorded later. Raises RecallError or OSError."""
    return [one.path for one in files_of_runs(place) if not lacking(place, _unpacked(place, one.path))]


def lacking(place: Place, layer: Layer) -> list[Path]:
    """Return the recordings in a file of a run of which the cassettes hold neither them nor what was recorded later.

    Raises RecallError for one that is damaged.
    """
    own = Layer(place.cassettes, place.name(place.cassettes))
    both = Library(own.folder, (own, layer))
    files = Library(layer.folder).files()
    return [path for path in files if both.is_newer(path, own.folder / path.relative_to(layer.folder))]


def without_secrets(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the cassettes below `folder`, and the paths from there of those in which a secret is found."""
    clean: list[Path] = []
    secret: list[str] = []
    for path in Library(folder).files():
        if any(any(secrets_in(line)) for line in read_lines(path, path.name)):
            secret.append(path.relative_to(folder).as_posix())
        else:
            clean.append(path)
    return clean, secret


def write_recorded(place: Place, folder: Path, stem: str, now: datetime) -> list[str]:
    """Write what a run has recorded into `folder` beside its run file, and return what is to be said of it.

    A cassette in which a secret is found is left out. Drafts of cases that came to no verdict stay in the folder, for
    the next run that records. Raises OSError or RecallError.
    """
    clean, secret = without_secrets(folder)
    messages = []
    if clean:
        path = write_packed(place.run_files, stem, pack(folder, clean, now))
        messages.append(f"{place.name(path)}: {plural(len(clean), 'recording')}; commit it with the branch")
    if secret:
        messages.append(f"left out of the recordings, since a secret is in them: {listed(secret)}")
    for cassette in Library(folder).files():
        remove(cassette)
    if not Library(folder).drafts():
        shutil.rmtree(folder, ignore_errors=True)
    return messages


def clear_taken_over(place: Place) -> list[str]:
    """Delete the files of runs on branches that the cassettes have taken over, and return what is to be said of it."""
    files = taken_over(place)
    for path in files:
        remove(path)
    forget_unpacked(place)
    return [f"{place.name(path)}: taken over into {place.name(place.cassettes)}, and deleted" for path in files]


def recording_folder(place: Place, branch: str, run: str) -> Path:
    """Return the folder into which the run that is called `run` records on a branch.

    What runs on this branch that were killed have recorded goes on in it, the newest of each. `run` ends with the
    number of its process. Raises OSError.
    """
    place.artifacts.make()
    folders = place.artifacts.folder / RECORDING / _digest(branch.encode("utf-8", "surrogatepass"))
    own = folders / run
    make_folder(own)
    for folder in sorted(folders.iterdir(), reverse=True):
        process = folder.name.rpartition("-")[2]
        if folder != own and process.isdecimal() and not is_running(int(process)):
            for path in [path for path in folder.rglob("*") if path.is_file()]:
                target = own / path.relative_to(folder)
                if not target.exists():
                    make_folder(target.parent)
                    path.replace(target)
            shutil.rmtree(folder, ignore_errors=True)
    return own
