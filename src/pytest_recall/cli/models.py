"""`recall judges models`: how a model is named, and whether it replies."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time

from pytest_recall.cli.common import Commands, placeless, print_forms
from pytest_recall.files.errors import one_line
from pytest_recall.models.model import FORMS, Ask, Message, ModelError, Reply, parse
from pytest_recall.models.prices import price_of_reply
from pytest_recall.models.provider import ModelSettings, Provider
from pytest_recall.models.rate import Retry
from pytest_recall.models.resolve import resolve
from pytest_recall.trials.cost_text import dollars

CHECK = """\
Asks for one word, a single time and without a second attempt, and prints how long the reply
took, the model as the provider names it, the tokens, the list price, and which settings have
no effect there. It costs next to nothing, and finds a wrong key before a run does.

  recall judges check openai
  recall judges check anthropic:claude-haiku-4-5
  recall judges check 'openai:qwen3:8b;http://127.0.0.1:11434/v1'
  recall judges check http://127.0.0.1:8080/v1
  recall judges check claude
  recall judges check 'command:python my_model.py'

Exits with 1 if no reply came, and a sentence says why.
"""
LIST = """\
Asks no model: it looks whether the package is installed, the key is set and the program is on PATH.
"""
_QUESTION = Ask(messages=(Message("user", "Reply with the one word: ready"),), max_tokens=256)
# One of each form, so that what is missing for it can be looked up.
_SAMPLES = {
    "openai": "openai",
    "openai:ID": "openai:ID",
    "openai:ID;URL": "openai:ID;http://127.0.0.1/v1",
    "http://HOST:PORT/v1#ID": "http://127.0.0.1/v1#ID",
    "anthropic:ID": "anthropic:ID",
    "anthropic:ID;URL": "anthropic:ID;http://127.0.0.1",
    "azure:DEPLOYMENT": "azure:DEPLOYMENT",
    "azure:DEPLOYMENT;URL": "azure:DEPLOYMENT;http://127.0.0.1",
    "claude[:MODEL]": "claude",
    "codex[:MODEL]": "codex",
    "copilot[:MODEL]": "copilot",
}


def add(commands: Commands) -> None:
    """Add the commands."""
    check = placeless(commands, "check", "ask a model for one word, and print what came of it", run_check, CHECK)
    check.add_argument("selector", metavar="SELECTOR", help="the model; `recall judges models` prints the forms")
    check.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="how many seconds to wait (default: 60)"
    )
    check.add_argument("--json", action="store_true", help="print JSON")
    placeless(commands, "models", "list how a model can be named, and what is missing here for each", run_list, LIST)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def run_list(args: argparse.Namespace) -> int:
    """Run `recall judges models`."""
    return print_forms(FORMS, _missing)


def _missing(form: str) -> str:
    if form not in _SAMPLES:
        return ""
    with resolve(_SAMPLES[form]) as model:
        try:
            model.ready()
        except ModelError as error:
            return str(error).removeprefix(f"{model.name}: ")
    return ""


def run_check(args: argparse.Namespace) -> int:
    """Run `recall judges check`."""
    parse(args.selector)
    said: list[str] = []
    settings = ModelSettings(timeout=args.timeout, retry=Retry(attempts=1, total=args.timeout), say=said.append)
    start = time.monotonic()
    try:
        with resolve(args.selector, settings=settings) as model:
            reply = model.ask(_QUESTION)
            seconds = time.monotonic() - start
            usd = price_of_reply(model, reply)
            _print(args.json, model, reply, seconds, usd, said)
    except ModelError as error:
        if args.json:
            print(json.dumps({"version": 1, "selector": args.selector, "ok": False, "error": str(error)}, indent=2))
        else:
            print(f"recall: {error}", file=sys.stderr)
        return 1
    return 0


def _print(as_json: bool, model: Provider, reply: Reply, seconds: float, usd: float | None, said: list[str]) -> None:
    tokens = {} if reply.tokens is None else {k: n for k, n in reply.tokens._asdict().items() if n is not None}
    if as_json:
        plain = {
            "version": 1,
            "selector": model.name,
            "ok": True,
            "seconds": round(seconds, 3),
            "text": reply.text,
            "stop": reply.stop,
            "model": reply.model,
            "tokens": tokens or None,
            "usd": usd,
            "ignored": list(reply.ignored),
            "notes": said,
        }
        print(json.dumps(plain, indent=2, ensure_ascii=False))
        return
    ends = {"end": "", "length": ", cut off at the limit of tokens", "refused": ", a refusal"}
    print(f"{model.name} replied in {seconds:.2f}s: {one_line(reply.text, 60)!r}{ends[reply.stop]}")
    counted = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in tokens.items())
    print(f"model    {one_line(reply.model) if reply.model else 'not named'}")
    print(f"tokens   {counted or 'not counted'}")
    print("price unknown" if usd is None else f"price    {dollars(usd)}")
    print(f"ignored  {', '.join(reply.ignored) or 'nothing'}")
    for note in said:
        print(note)
