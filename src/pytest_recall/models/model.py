"""Define what a language model is asked and what it replies, and how a selector names one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, get_args
from urllib.parse import SplitResult, urlsplit

from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.replay.exchange import Tokens

SelectorKind = Literal["openai", "anthropic", "azure", "claude", "codex", "copilot", "command", "python"]
"""Who is asked, and how: over HTTP by an SDK, as a program on this machine, or as an object in Python."""
KINDS: tuple[SelectorKind, ...] = get_args(SelectorKind)
DEFAULTS: dict[str, str] = {"openai": "gpt-5.4-mini"}
"""The models of kinds that may be named alone."""

FORMS: dict[str, str] = {
    "openai": f"a small model of OpenAI, {DEFAULTS['openai']}",
    "openai:ID": "a model of OpenAI",
    "openai:ID;URL": "a model behind another endpoint that speaks the same, such as llama.cpp, Ollama or vLLM",
    "http://HOST:PORT/v1#ID": "the same; without #ID the only model that the endpoint lists",
    "anthropic:ID": "a model of Anthropic",
    "anthropic:ID;URL": "a model behind another endpoint that speaks the same",
    "azure:DEPLOYMENT": "a deployment at Azure OpenAI, its endpoint in AZURE_OPENAI_ENDPOINT",
    "azure:DEPLOYMENT;URL": "the same, with the endpoint here",
    "claude[:MODEL]": "the program `claude`, without tools",
    "codex[:MODEL]": "the program `codex`, in a read-only sandbox",
    "copilot[:MODEL]": "the program `copilot`, without tools",
    "command:PROGRAM ARGS": "a program that reads the prompt from standard input and prints the reply",
    "python:MODULE:NAME": "a function or a model of your own; also python:FILE.py:NAME",
}
"""Every form of a selector, and what it selects."""

_OVER_HTTP = ("openai", "anthropic", "azure")
_PROGRAMS = ("claude", "codex", "copilot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """A selector, taken apart."""

    text: str
    """What the person wrote."""
    kind: SelectorKind
    target: str = ""
    """The model's id, the deployment, the command line or `MODULE:NAME`; empty where the program or the endpoint
    chooses."""
    url: str | None = None
    """The endpoint; None for the usual one."""


def parse(text: str) -> Selector:
    """Return the selector that `text` is. Raises RecallError with one sentence."""
    text = text.strip()
    kind, colon, rest = text.partition(":")
    rest = rest.strip()
    if kind.lower() in ("http", "https"):
        return _endpoint(text)
    if kind not in KINDS:
        known = [*KINDS, "http"]
        raise RecallError(f"{text!r}: no model is selected like this{nearest(kind.lower(), known)}")
    if colon and not rest:
        raise RecallError(f"{text!r}: there is nothing after the colon; write {_form(kind)}")
    if kind in _OVER_HTTP:
        target, semicolon, url = (part.strip() for part in rest.partition(";"))
        target = target or ("" if semicolon else DEFAULTS.get(kind, ""))
        if not target:
            raise RecallError(f"{text!r}: which one? write {_form(kind)}")
        if semicolon:
            _check_url(text, url)
        return Selector(text=text, kind=kind, target=target, url=url if semicolon else None)
    if kind not in _PROGRAMS and not rest:
        raise RecallError(f"{text!r}: which one? write {_form(kind)}")
    if kind == "python" and not all(part.strip() for part in place_and_name(rest)):
        raise RecallError(f"{text!r}: which name of the module? write {_form(kind)}")
    return Selector(text=text, kind=kind, target=rest)


def place_and_name(target: str) -> tuple[str, str]:
    """Return the module or file, and the name in it, of the target of a `python` selector."""
    # From the right: a file on Windows has a colon of its own.
    place, _, name = target.rpartition(":")
    return place, name


def _endpoint(text: str) -> Selector:
    url, _, target = text.partition("#")
    _check_url(text, url)
    return Selector(text=text, kind="openai", target=target, url=url)


def _check_url(text: str, url: str) -> None:
    try:
        parts: SplitResult | None = urlsplit(url)
        usable = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = None, False
    if parts is not None and "@" in parts.netloc:
        raise RecallError("a URL with a user or a password in it is not a selector; put the key into the environment")
    if not usable or any(char.isspace() for char in url):
        raise RecallError(f"{text!r}: {url!r} is no URL; write one like http://127.0.0.1:8080/v1")


def _form(kind: str) -> str:
    forms = [form for form in FORMS if form.startswith((f"{kind}:", f"{kind}["))]
    return f"`{forms[0]}`"


StopReason = Literal["end", "length", "refused"]
"""How a reply ended: by itself, at the limit of tokens, or since the provider or the model refused."""


class Message(NamedTuple):
    """One message of a conversation."""

    role: str
    """`user` or `assistant`."""
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is asked of a model."""

    messages: tuple[Message, ...]
    """The last is the user's."""
    system: str = ""
    max_tokens: int = 1024
    """Limits the reply."""
    temperature: float | None = None
    """None leaves it to the provider."""
    seed: int | None = None
    """None leaves it to the provider."""
    schema: Mapping[str, Any] | None = None
    """A JSON Schema of an object; with it the reply has to be JSON that fits it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model replied."""

    text: str
    stop: StopReason = "end"
    model: str | None = None
    """Its name as the provider says it; None if it does not."""
    tokens: Tokens | None = None
    """None where no one counted."""
    ignored: tuple[str, ...] = ()
    """What of the ask had no effect."""
    attempts: int = 1
    """How many calls it took."""


_THINKING, _THOUGHT = "<think>", "</think>"


def without_thinking(text: str) -> str:
    """Return a reply without the `<think>…</think>` that it begins with, if it does.

    So models without an API for their reasoning hand it over (DeepSeek-R1, Qwen 3). It ends at the first end mark; one
    that has none is all of the reply.
    """
    if not text.lstrip().startswith(_THINKING):
        return text
    thinking, end, rest = text.partition(_THOUGHT)
    return rest if end else thinking


class ModelError(RecallError):
    """A model that could not be asked: one sentence, with what to do. `temporary` if it may work later.

    `after` are the seconds that the provider asks to wait, None if it does not say:
    the retry needs the number, and cannot read it from a sentence.
    """

    def __init__(self, message: str, *, temporary: bool = False, after: float | None = None) -> None:
        super().__init__(message)
        self.temporary = temporary
        self.after = after


class Model(Protocol):
    """What replies to asks. `name` is the selector that led here, as a person wrote it."""

    @property
    def name(self) -> str:
        """Return the selector."""
        ...

    def ask(self, ask: Ask) -> Reply:
        """Return the reply; may be called from several threads. Raises ModelError."""
        ...


SETTINGS = ("temperature", "max_tokens", "seed", "schema")
"""What of an ask is a wish about the reply, and is not said in the prompt."""

_NAMES = {"user": "User", "assistant": "Assistant"}


def prompt_of(ask: Ask) -> str:
    """Return everything of the ask that can be said in text, as one prompt."""
    if len(ask.messages) == 1:
        said = ask.messages[0].content
    else:
        said = "\n\n".join(f"{_NAMES.get(role, role)}: {content}" for role, content in ask.messages)
    return "\n\n".join(part for part in (system_of(ask, in_words=True), said) if part)


def system_of(ask: Ask, *, in_words: bool) -> str:
    """Return the system prompt, with the schema `in_words` if the model takes no schema."""
    words = schema_in_words(ask.schema) if in_words and ask.schema is not None else ""
    return "\n\n".join(part for part in (ask.system, words) if part)


def schema_in_words(schema: Mapping[str, Any]) -> str:
    """Return a request for JSON that fits `schema`."""
    written = json.dumps(schema, ensure_ascii=False)
    return f"Reply with a JSON object that fits this JSON Schema, and with nothing else:\n{written}"


def unheeded(ask: Ask, heeded: Collection[str] = ()) -> tuple[str, ...]:
    """Return which settings the ask gives beside those that are `heeded`."""
    return tuple(name for name in SETTINGS if getattr(ask, name) is not None and name not in heeded)
