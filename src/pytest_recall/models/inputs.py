"""What a memory or a model is made of beside its code: what it opened, listed and read, kept with its run."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError

NAME = "memory-inputs.json"
"""The file in the folder of a run that says what its memory was made of."""
NAMES = "*"
"""Stands among the variables for the names of all of them."""
ABSENT = ""
"""The digest of a file that is not there."""
_DIGITS = 16
_NONE: Mapping[str, str] = MappingProxyType({})


class Inputs(NamedTuple):
    """What a memory or a model was made of, as far as that was seen while it worked."""

    files: Mapping[str, str] = _NONE
    """A digest of the content, by path."""
    folders: Mapping[str, str] = _NONE
    """A digest of the names in the folder, by path."""
    variables: Mapping[str, str] = _NONE
    """A digest of the value, by name; the digest is made with a key that is not stored with it."""
    outputs: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The names in a folder that do not count, since the memory has made these itself."""
    unknown: tuple[str, ...] = ()
    """Why there is more to it than can be known."""
    key: str = ""
    """The id of the key that the digests of `variables` are made with."""

    def joined(self, other: Inputs) -> Inputs:
        """Return both; what both have is as it was first."""
        outputs = {
            path: tuple(sorted({*self.outputs.get(path, ()), *other.outputs.get(path, ())}))
            for path in {**self.outputs, **other.outputs}
        }
        return Inputs(
            {**other.files, **self.files},
            {**other.folders, **self.folders},
            {**(other.variables if other.key == self.key or not self.key else {}), **self.variables},
            outputs,
            tuple(dict.fromkeys((*self.unknown, *other.unknown))),
            self.key or other.key,
        )

    @property
    def changed(self) -> str:
        """Return in words what is another now; empty if nothing is, as far as that can be known here."""
        for path, was in self.files.items():
            if (now := file_digest(path)) != was:
                return f"{path} {'is there now' if was == ABSENT else 'is gone' if now == ABSENT else 'has changed'}"
        for path, was in self.folders.items():
            if names_digest(names_in(path), self.outputs.get(path, ())) != was:
                return f"the files in {path} are others"
        secret = digest_key()
        for name, was in self.variables.items() if secret and self.key == key_id(secret) else ():
            if variable_digest(name, secret) != was:
                return "the environment has other variables" if name == NAMES else f"the variable {name} has changed"
        return ""

    @property
    def unknowable(self) -> str:
        """Return why it cannot be known whether something has changed; empty if it can be."""
        if self.unknown:
            return self.unknown[0]
        secret = digest_key()
        if self.variables and not (secret and self.key == key_id(secret)):
            return "it reads the environment, of which another user or machine has the digests"
        return ""


class Observability(Protocol):
    """What a memory or a model says of how far it can be seen what it is made of."""

    @property
    def elsewhere(self) -> str:
        """Why it cannot be known what it is made of; empty where it works in this process."""

    @property
    def observable(self) -> bool:
        """Whether there may be more to it than its code, which is seen as it works."""


class InputsRecord(NamedTuple):
    """What the folder of a run says of its memory."""

    inputs: Inputs
    ended: bool
    """Whether the command came to its end."""


def read_inputs(folder: Path) -> InputsRecord | None:
    """Return what is known of the memory of the run in a folder, None if nothing is. Raises RecallError."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        plain = json.loads(read_text(path))
        return InputsRecord(inputs_of_plain(plain), plain["ended"] is True)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RecallError(f"{path}: is not what a run writes; remove it, and all questions are asked again") from None


def inputs_of_plain(plain: Mapping[str, Any]) -> Inputs:
    """Return what a note has of them. Raises KeyError, TypeError or AttributeError for what is none."""
    outputs = {str(name): tuple(map(str, names)) for name, names in plain["outputs"].items()}
    unknown = tuple(map(str, plain["unknown"]))
    known = {name: plain[name] for name in Inputs._fields}
    return Inputs(**{**known, "outputs": outputs, "unknown": unknown})


def write_inputs(folder: Path, inputs: Inputs, *, ended: bool) -> None:
    """Write down what the memory of the run in a folder is made of. Raises OSError."""
    write_text(folder / NAME, json.dumps({**inputs._asdict(), "ended": ended}, default=dict, indent=1) + "\n")


def rerun_reason(folder: Path, client: Observability, *, ended: bool) -> str:
    """Return in words why what a memory has answered in a folder has to be asked again; empty if it need not be.

    A command that was stopped goes on with what is not seen to have changed. After one that came to its end, which its
    journal says by `ended`, a memory of which that cannot be known is another one. A run of an earlier version has no
    note.
    """
    record = read_inputs(folder)
    if record is None:
        record = InputsRecord(Inputs(unknown=("an earlier version ran it",) if client.observable else ()), ended)
    return reason_of(record._replace(ended=ended and record.ended), client)


def reason_of(record: InputsRecord, client: Observability) -> str:
    """Return in words why what rests on a record has to be asked again; empty if it need not be."""
    if changed := record.inputs.changed:
        return changed
    unknown = client.elsewhere or record.inputs.unknowable
    return f"what it is made of cannot be known, since {unknown}" if record.ended and unknown else ""


class InputsNote:
    """Keeps the note on a memory in the folder of a run up to date: `now` returns what is known of it by now.

    A run that `resumes` has what was known before as well.
    """

    def __init__(self, folder: Path, now: Callable[[], Inputs], *, resumes: bool) -> None:
        record = read_inputs(folder) if resumes else None
        self._folder, self._now = folder, now
        self._before = Inputs() if record is None else record.inputs
        self._written: Inputs | None = None

    def write(self) -> None:
        """Write what is known by now, where that is more than was written: an answer is kept after what it rests on."""
        known = self._before.joined(self._now())
        if known != self._written:
            write_inputs(self._folder, known, ended=False)
            self._written = known


def end(folder: Path) -> None:
    """Write that the command came to its end, and has left nothing open."""
    if (record := read_inputs(folder)) is not None and not record.ended:
        write_inputs(folder, record.inputs, ended=True)


def file_digest(path: str) -> str:
    """Return the digest of a file's content as it is now."""
    digest = content_digest(path)
    return ABSENT if digest is None else digest


def content_digest(path: str) -> str | None:
    """Return the digest of what a file holds, `ABSENT` where there is none; None for what makes its content when read.

    Devices and pipes do, and the files of `/proc`, of which the size is 0.
    """
    try:
        about = os.stat(path)  # noqa: PTH116 - in the audit hook each call counts.
        if not stat.S_ISREG(about.st_mode):
            return None
        whole, count = sha256(), 0
        with open(path, "rb") as file:  # noqa: PTH123
            while part := file.read(1 << 20):
                whole.update(part)
                count += len(part)
    except OSError:
        return ABSENT
    return None if count and not about.st_size else whole.hexdigest()[:_DIGITS]


def names_in(path: str) -> list[str]:
    """Return the names in a folder; none where there is no folder."""
    try:
        return os.listdir(path)  # noqa: PTH208
    except OSError:
        return []


def names_digest(names: Iterable[str], without: Iterable[str] = ()) -> str:
    """Return the digest of the names in a folder that are not among some."""
    return sha256("\0".join(sorted({*names} - {*without})).encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]


def variable_digest(name: str, secret: bytes, environ: Mapping[str, str] | None = None) -> str:
    """Return the digest of a variable of the environment by a key; empty where it is not set."""
    variables = os.environ if environ is None else environ
    value = "\0".join(sorted(variables)) if name == NAMES else variables.get(name)
    if value is None:
        return ABSENT
    return hmac.new(secret, f"{name}={value}".encode("utf-8", "surrogateescape"), sha256).hexdigest()[:_DIGITS]


def key_id(secret: bytes) -> str:
    """Return what tells a key from others, and says nothing of it."""
    return sha256(b"id of " + secret).hexdigest()[:_DIGITS]


@cache
def digest_key() -> bytes:
    """Return this user's key for digests of variables; empty where none can be kept.

    A value may be secret and short, and could be guessed from a digest without a key. So the key is not in the project,
    where runs are shared from.
    """
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        path = Path(state) / "pytest-recall" / "key"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            own = path.with_name(f"key-{secrets.token_hex(8)}")
            own.touch(0o600, exist_ok=False)
            own.write_bytes(secrets.token_bytes(32))
            try:
                os.link(own, path)  # Whole, and only the first of several processes.
            except FileExistsError:
                pass
            finally:
                own.unlink()
        secret = path.read_bytes()
    except (OSError, RuntimeError):
        return b""
    return secret if len(secret) == 32 else b""
