"""Gates in the text of a rubric: edits of single values, which leave comments, order and layout as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_recall.core.errors import RecallError
from pytest_recall.core.gate import Gate
from pytest_recall.store import strictyaml
from pytest_recall.store.files import read_text, write_text


def write_gates(path: Path, name: str, gates: Iterable[Gate], *, write: bool) -> None:
    """Put `gates` into the rubric in `path`: each in the place of the one that is about the same, else as the last.

    Of a gate that is there only its rate, `since` and `pr` change. Raises RecallError, with a sentence for each gate
    for which the form of the file leaves no place, and has then changed nothing; or OSError.
    """
    read_text(path, name)  # With its sentences about what cannot be read.
    text = path.read_bytes().decode("utf-8")  # As it is: whoever ends lines in another way keeps them.
    refused = []
    for gate in gates:
        after = _with_gate(text, name, gate)
        if after is None:
            line = strictyaml.flow(_fields(gate))
            refused.append(f"{name}: its form leaves no place for the gate `{gate.name}`; write `- {line}` yourself")
        else:
            text = after
    if refused:
        raise RecallError(*refused)
    if write:
        write_text(path, text)


def _with_gate(text: str, name: str, gate: Gate) -> str | None:
    """Return the text with the gate in it, or None if nothing but the gate can be told to have changed."""
    before = _loaded(text, name)
    gates = [Gate.model_validate(one) for one in before.get("gates") or ()]
    index = next((number for number, one in enumerate(gates) if one.about == gate.about), None)
    try:
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        if index is None:
            after = _added(text, root, gate)
            gates.append(gate)
        else:
            after = _changed(text, _value(root, "gates").value[index], gate)
            gates[index] = gate
        now = _loaded(after, name)
        # All else is as it was, to whoever reads it; what is between the values is not touched in the first place.
        fits = {**now, "gates": ()} == {**before, "gates": ()}
        fits = fits and [Gate.model_validate(one) for one in now["gates"]] == gates
    except (RecallError, yaml.YAMLError, LookupError, AttributeError, TypeError, ValueError, StopIteration):
        return None
    return after if fits else None


def _loaded(text: str, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = strictyaml.load(text.removeprefix("\ufeff").replace("\r\n", "\n"), name)
    return loaded


def _fields(gate: Gate) -> dict[str, Any]:
    plain = gate.model_dump(exclude_defaults=True)
    if str(plain.get("pr", "")).isdecimal() and str(int(plain["pr"])) == plain["pr"]:
        plain["pr"] = int(plain["pr"])
    return plain


def _value(mapping: yaml.MappingNode, key: str) -> Any:
    return next(value for name, value in mapping.value if name.value == key)


def _changed(text: str, node: yaml.MappingNode, gate: Gate) -> str:
    """Return the text with the rate of the gate, `since` and `pr`; those that are not there yet follow the rate."""
    pairs = {key.value: (key, value) for key, value in node.value}
    fields = _fields(gate)
    news = {name: fields.get(name) for name in ("at_least", "since", "pr") if name in fields or name in pairs}
    edits: list[tuple[int, int, str]] = []
    anchor = pairs["at_least"]
    for name, given in news.items():
        if name in pairs:
            anchor = pairs[name]
            start, end = anchor[1].start_mark.index, anchor[1].end_mark.index
            written = _written(given, anchor[1].style)
            edits.append((start, end, written if start < end else f" {written}"))
            continue
        key, value = anchor
        if node.flow_style:
            quote = '"' if key.style == '"' else ""
            edits.append((*(value.end_mark.index,) * 2, f", {quote}{name}{quote}: {_written(given, key.style)}"))
        else:
            end, ending = _line_end(text, value.end_mark.index)
            edits.append((end, end, f"{ending}{' ' * key.start_mark.column}{name}: {_written(given, None)}"))
    # From the end, so that places before stay where they are; what follows one and the same place keeps its order.
    for _, (start, end, written) in sorted(enumerate(edits), key=lambda one: (one[1][0], one[0]), reverse=True):
        text = text[:start] + written + text[end:]
    return text


def _added(text: str, root: yaml.MappingNode, gate: Gate) -> str:
    """Return the text with another gate, as the last one is written."""
    fields = _fields(gate)
    flow = "{" + ", ".join(f"{key}: {_written(value, None)}" for key, value in fields.items()) + "}"
    if all(key.value != "gates" for key, _ in root.value):
        end, ending = _line_end(text, len(text.rstrip("\r\n")))
        lines = ["gates:", *_block(fields, "  ")]
        return text[:end] + ending + ending.join(lines) + (text[end:] or ending)
    gates = _value(root, "gates")
    if not gates.value:
        place = gates.end_mark.index - 1
        return text[:place] + flow + text[place:]
    last = gates.value[-1]
    if gates.flow_style:
        place = last.end_mark.index
        return f"{text[:place]}, {flow}{text[place:]}"
    end, ending = _line_end(text, _last_index(last))
    indent = " " * gates.start_mark.column
    lines = [f"{indent}- {flow}"] if last.flow_style else _block(fields, indent)
    return text[:end] + ending + ending.join(lines) + text[end:]


def _block(fields: Mapping[str, Any], indent: str) -> list[str]:
    lines = [f"{key}: {_written(value, None)}" for key, value in fields.items()]
    return [f"{indent}{'  ' if number else '- '}{line}" for number, line in enumerate(lines)]


def _last_index(node: Any) -> int:
    """Return where the text of a node ends; block collections name the next thing, after blanks and comments."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        return int(node.end_mark.index)
    return _last_index(node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1])


def _line_end(text: str, place: int) -> tuple[int, str]:
    """Return where the line of `place` ends, without its end, and how lines end there."""
    end = text.find("\n", place)
    if end < 0:
        return len(text), "\r\n" if "\r\n" in text else "\n"
    return (end - 1, "\r\n") if text[end - 1] == "\r" else (end, "\n")


def _written(value: Any, style: str | None) -> str:
    """Return a value as it is written, in the quotes that stand there already."""
    if value is None or isinstance(value, float):
        return json.dumps(value)
    if style == "'":
        return "'" + str(value).replace("'", "''") + "'"
    if style == '"':
        return strictyaml.flow(str(value))
    plain = isinstance(value, int) or (strictyaml.scalar(value) == value and _is_plain(value))
    return str(value) if plain else strictyaml.flow(value)


def _is_plain(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum() and text.isascii() and text[0] != "-"
