"""Note beside the answers of models that are code of the user what these models were made of when they gave them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.models.fingerprint import Fingerprint, fingerprint
from pytest_recall.models.inputs import Inputs, InputsRecord, Observability, inputs_of_plain, reason_of
from pytest_recall.models.model import Model

NAME = "model-inputs.json"
"""The file in the folder of a run that says what the models were made of that are code of the user."""
Places = Collection[tuple[str, int | None]]


class UserModel(Observability, Protocol):
    """A model that is code of the user: what it is made of decides what it answers, and not its name alone."""

    @property
    def name(self) -> str:
        """The selector."""

    def code(self) -> Iterable[Path]:
        """Return the files that say how it works, as far as they are here."""

    def inputs(self, models: Places = ()) -> Inputs:
        """Return what it has read so far beside its code."""


def user_model(model: Model, *, replayed: bool = False) -> UserModel | None:
    """Return the model if it is code of the user, None for one of a vendor.

    Where calls are `replayed`, a program is not run, so that its code decides nothing.
    """
    found: Any = getattr(model, "asked", model)  # What counts the calls of a model stands before it.
    observable = getattr(found, "observable", False)
    elsewhere = getattr(found, "elsewhere", "") and not replayed
    return found if observable or elsewhere else None


def made_of(model: Model, *, replayed: bool = False) -> Fingerprint:
    """Return what a model is made of; nothing of one of a vendor."""
    own = user_model(model, replayed=replayed)
    return Fingerprint() if own is None else fingerprint(own.code())


class ModelNote(NamedTuple):
    """What is known of a model that has answered."""

    made_of: Fingerprint
    """Its code."""
    inputs: Inputs = Inputs()
    """What it read."""
    ended: bool = False
    """Whether the command that asked it came to its end."""
    edition: int = 0
    """How often it was another one before."""

    def changed_to(self, made_of: Fingerprint, model: UserModel) -> str:
        """Return in words why its answers are asked again, of a model that is `made_of` this now; empty if not."""
        return made_of.changed_since(self.made_of) or reason_of(InputsRecord(self.inputs, self.ended), model)

    @property
    def plain(self) -> dict[str, Any]:
        """The note as plain JSON types."""
        return {**self.made_of._asdict(), **self.inputs._asdict(), "ended": self.ended, "edition": self.edition}


class ModelNotes:
    """The notes in a file on those `models` that are code of the user, given with their roles.

    What is noted there decides whether earlier answers are of the models that are asked now. Answers of a command that
    was stopped are kept by those of which no change is seen, and so they are of one that came to its end where it
    `resumes` that. `places` are the hosts and ports to which calls of models were heard. Raises RecallError for a file
    that is none.
    """

    def __init__(
        self,
        path: Path,
        models: Iterable[tuple[str, Model]],
        places: Callable[[], Places] = tuple,
        *,
        replayed: bool = False,
        resumes: bool = False,
    ) -> None:
        self._path, self._places, self._resumes = path, places, resumes
        found = ((role, user_model(model, replayed=replayed)) for role, model in models)
        self._models = {f"{role} {own.name}": own for role, own in found if own is not None}
        self._made_of = {key: fingerprint(own.code()) for key, own in self._models.items()}
        self.reload()

    def reload(self) -> None:
        """Look at the file again, as after it was set aside."""
        before = read_notes(self._path) if self._models else {}
        self.reasons: dict[str, str] = {}
        self._unnoted = [key for key in self._models if key not in before]
        self._now: dict[str, ModelNote] = {}
        self._written: dict[str, ModelNote] = {}
        for key, model in self._models.items():
            now = ModelNote(self._made_of[key])
            if (note := before.get(key)) is not None:
                note = note._replace(ended=note.ended and not self._resumes)
                if reason := note.changed_to(now.made_of, model):
                    self.reasons[key] = reason
                    now = now._replace(edition=note.edition + 1)
                else:
                    now = now._replace(inputs=note.inputs, edition=note.edition)
            self._now[key] = now

    @property
    def reason(self) -> str:
        """Why earlier answers are not of these models, or are not known to be; empty if they are of them."""
        if self.reasons:
            return next(f"the {key}: {reason}" for key, reason in self.reasons.items())
        return next((f"the {key}: it is not known of which code they are" for key in self._unnoted), "")

    @property
    def identities(self) -> list[str]:
        """What tells the answers of these models apart from those of others of the same name; none of a vendor's."""
        return [f"{key} {self._identity(key)}" for key in self._models]

    def identity(self, role: str, name: str) -> str:
        """Return the same of one model; empty of a vendor's."""
        key = f"{role} {name}"
        return self._identity(key) if key in self._models else ""

    def _identity(self, key: str) -> str:
        return f"{self._made_of[key].digest} {self._now[key].edition}"

    def write(self) -> None:
        """Write what is known by now, where that is more than was written: an answer is kept after what it rests on."""
        known = {
            key: note._replace(inputs=note.inputs.joined(self._models[key].inputs(self._places())))
            for key, note in self._now.items()
        }
        if known != self._written:
            _write(self._path, {**read_notes(self._path), **known})
            self._written = known


def read_notes(path: Path) -> dict[str, ModelNote]:
    """Return the notes in a file, none where there is no file. Raises RecallError."""
    if not path.is_file():
        return {}
    try:
        return {key: _note(plain) for key, plain in json.loads(read_text(path)).items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RecallError(f"{path}: is not what a run writes; remove it, and all models are asked again") from None


def end_notes(path: Path) -> None:
    """Write that the command came to its end, and has left nothing open."""
    notes = read_notes(path)
    if not all(note.ended for note in notes.values()):
        _write(path, {key: note._replace(ended=True) for key, note in notes.items()})


def _note(plain: Mapping[str, Any]) -> ModelNote:
    made_of = Fingerprint(str(plain["code"]), tuple(map(str, plain["packages"])))
    return ModelNote(made_of, inputs_of_plain(plain), plain["ended"] is True, int(plain["edition"]))


def _write(path: Path, notes: Mapping[str, ModelNote]) -> None:
    plain = {key: note.plain for key, note in notes.items()}
    write_text(path, json.dumps(plain, default=dict, indent=1) + "\n")
