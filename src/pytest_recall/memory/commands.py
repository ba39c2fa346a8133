"""The commands `recall memory check` and `list`: try a memory system, and list how one is named."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from pytest_recall.cases.memory_part import Fact, MemoryPart
from pytest_recall.cli.common import Commands, placeless, print_forms, say
from pytest_recall.files import clock
from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.registry import registry
from pytest_recall.trials.concurrency import Loop

if TYPE_CHECKING:
    from pytest_recall.memory.kind import MemoryForm, MemoryKind
    from pytest_recall.memory.selector import MemoryKinds
    from pytest_recall.memory.session import Readback

CHECK = """\
Resets the memory, stores three facts, asks each of them back by its own words, and resets it
again. A reset deletes everything that a system holds: for one that is not made here and now,
such as a service or a file, this is refused without --yes.

  recall memory check sqlite-fts
  recall memory check mem0
  recall memory check python:my_project.memory:Client --yes
  recall memory check 'command:my-memory --config throwaway.toml' --yes
  recall memory check http://127.0.0.1:8080 --yes

Exits with 1 if a call failed or a fact did not come back, and says which. A fact that came back
in other words is reported, and no error: some systems rewrite what they keep.
"""
LIST = """\
Asks no model: it looks whether what a form needs is installed.
"""
_FACTS = MemoryPart(
    facts=(
        Fact(id="bridge", text="The bridge at Ollerton closes every winter for repairs."),
        Fact(id="violin", text="Marta plays the violin on Tuesday evenings."),
        Fact(id="boat", text="Our boat is moored beside the old paper mill."),
    )
)


def add_memory(commands: Commands) -> None:
    """Add the commands."""
    check = placeless(commands, "check", "store three facts in a memory, and ask for them", run_check, CHECK)
    check.add_argument("selector", metavar="SELECTOR", help="the memory; `recall memory list` prints the forms")
    check.add_argument("--yes", action="store_true", help="allow the resets, which delete all that the memory holds")
    check.add_argument("--json", action="store_true", help="print JSON")
    placeless(commands, "list", "list the forms of a memory selector, and what is missing for each", run_list, LIST)


def run_list(args: argparse.Namespace) -> int:
    """Run `recall memory list`."""
    kinds = registry().memories()
    forms = {kind.written(form): (kind, form) for kind, form in kinds.forms()}
    code = print_forms(
        {written: form.about for written, (_, form) in forms.items()},
        lambda written: _missing(kinds, *forms[written]),
        lambda written: ", ".join(f";{option.name}=" for option in forms[written][0].options),
    )
    for why in (*kinds.left_out, *dict.fromkeys(kinds.refused.values())):
        say(why)
    return code


def _missing(kinds: MemoryKinds, kind: MemoryKind, form: MemoryForm) -> str:
    from pytest_recall.memory.resolve import resolve

    if not (example := kind.example(form)):
        return ""
    try:
        client = resolve(example, kinds)
        kinds.call(kind, client.ready)
        kinds.call(kind, client.close)
    except RecallError as error:
        return str(error)
    return ""


def run_check(args: argparse.Namespace) -> int:
    """Run `recall memory check`."""
    from pytest_recall.memory.resolve import resolve
    from pytest_recall.memory.session import Memory

    kinds = registry().memories()
    client = resolve(args.selector, kinds)
    for why in kinds.left_out:
        say(why)
    if not client.private and not args.yes:
        raise RecallError(
            f"{client.name}: the check begins with a reset, which deletes everything that it holds; add --yes if this"
            " is a store to throw away"
        )
    loop = Loop()
    memory = Memory(client, wait=loop.wait)
    begin = clock.monotonic()
    try:
        try:
            memory.ready()
            memory.healthcheck()
            found, answer = memory.check(_FACTS)
        finally:
            memory.close()
            loop.close()
    except CaseError as error:
        return _failed(args, client.name, error)
    _print(args.json, client.name, found, answer, clock.monotonic() - begin)
    return 1 if found.missing else 0


def _failed(args: argparse.Namespace, name: str, error: CaseError) -> int:
    if args.json:
        plain = {"version": 1, "selector": name, "ok": False, "stage": error.stage, "error": str(error)}
        print(json.dumps(plain, indent=2))
    else:
        print(f"recall: {name}: {error}", file=sys.stderr)
    return 1


def _print(as_json: bool, name: str, found: Readback, answer: str | None, seconds: float) -> None:
    if as_json:
        plain: dict[str, Any] = {
            "version": 1,
            "selector": name,
            "ok": not found.missing,
            "seconds": round(seconds, 3),
            "stored": found.stored,
            "asked": found.asked,
            "same": found.same,
            "changed": found.changed,
            "missing": found.missing,
            "held": found.held,
            "answers": answer is not None,
        }
        print(json.dumps(plain, indent=2))
        return
    print(f"{name} {found}, in {seconds:.2f}s")
    print(f"answers  {'by itself' if answer is not None else 'with its passages'}")
    print(f"count    {'not told' if found.held is None else found.held}")
