"""Selector: how a person names a model, in one line of text, and what it is taken apart into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import SplitResult, urlsplit

from pytest_recall.core.errors import RecallError, nearest

Kind = Literal["openai", "anthropic", "azure", "claude", "codex", "copilot", "command", "python"]
"""Who is asked, and how: over HTTP by an SDK, as a program on this machine, or as an object in Python."""
KINDS: tuple[Kind, ...] = get_args(Kind)
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
    """A selector, taken apart. `text` is what the person wrote.

    `target` is the model's id, the deployment, the command line or `MODULE:NAME`; it is empty
    where the program or the endpoint chooses. `url` is the endpoint, None for the usual one.
    """

    text: str
    kind: Kind
    target: str = ""
    url: str | None = None


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
    if kind == "python" and not all(part.strip() for part in _place_and_name(rest)):
        raise RecallError(f"{text!r}: which name of the module? write {_form(kind)}")
    return Selector(text=text, kind=kind, target=rest)


def place_and_name(selector: Selector) -> tuple[str, str]:
    """Return the module or file, and the name in it, of a `python` selector."""
    return _place_and_name(selector.target)


def _place_and_name(target: str) -> tuple[str, str]:
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
        raise RecallError("a URL with a user or a password in it is no selector; put the key into the environment")
    if not usable or any(char.isspace() for char in url):
        raise RecallError(f"{text!r}: {url!r} is no URL; write one like http://127.0.0.1:8080/v1")


def _form(kind: str) -> str:
    forms = [form for form in FORMS if form.startswith((f"{kind}:", f"{kind}["))]
    return f"`{forms[0]}`"
