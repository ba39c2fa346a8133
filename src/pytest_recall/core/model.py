"""Model: what is asked of a language model and what it replies, whoever stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from pytest_recall.core.call import Tokens
from pytest_recall.core.errors import RecallError

Stop = Literal["end", "length", "refused"]
"""How a reply ended: by itself, at the limit of tokens, or since the provider or the model refused."""


class Message(NamedTuple):
    """One message of a conversation; `role` is `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is asked of a model. The last of `messages` is the user's.

    `max_tokens` limits the reply; `temperature` and `seed` are left to the provider where they
    are None; with `schema`, a JSON Schema of an object, the reply has to be JSON that fits it.
    """

    messages: tuple[Message, ...]
    system: str = ""
    max_tokens: int = 1024
    temperature: float | None = None
    seed: int | None = None
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model replied. `model` is its name as the provider says it, None if it does not.

    `tokens` are None where nobody counted; `ignored` names what of the ask had no effect;
    `attempts` counts the calls that it took.
    """

    text: str
    stop: Stop = "end"
    model: str | None = None
    tokens: Tokens | None = None
    ignored: tuple[str, ...] = ()
    attempts: int = 1


class ModelError(RecallError):
    """A model that could not be asked: one sentence, with what to do. `temporary` if it may work later.

    `after` are the seconds that whoever refused asks to be left alone, None if it does not say:
    whoever tries again needs the number, and cannot read it from a sentence.
    """

    def __init__(self, message: str, *, temporary: bool = False, after: float | None = None) -> None:
        super().__init__(message)
        self.temporary = temporary
        self.after = after


class Model(Protocol):
    """Somebody who replies. `name` is the selector that led here, as a person wrote it."""

    @property
    def name(self) -> str:
        """Return the selector."""
        ...

    def ask(self, ask: Ask) -> Reply:
        """Return the reply; may be called from several threads. Raises ModelError."""
        ...
