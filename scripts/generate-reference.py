#!/usr/bin/env python3
"""Write the generated parts of docs/reference/ again, from the code that they describe.

    scripts/generate-reference.py            rewrite them
    scripts/generate-reference.py --check    only say what is out of date; exit code 1 if anything is

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`; the text
around it is written by hand. What a part says comes from the same strings that `--help`,
`pytest --fixtures` and the JSON Schemas print.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import pytest_recall
from pytest_recall import cli, ext, hookspec
from pytest_recall.cases.case import Case
from pytest_recall.cases.check_commands import schema_of
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import Replay
from pytest_recall.datasets.questions import BenchFile
from pytest_recall.judges import built_in, model_judges
from pytest_recall.judges.calibration import Label
from pytest_recall.metrics.retrieval import GROUPS, Retrieval
from pytest_recall.plugin import fixtures, option_rules, options, switch
from pytest_recall.replay import hosts, repeatable_calls

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "null": "`null`",
}
PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class Recorder:
    """Stands in for a parser, of pytest or of argparse, and keeps what is added to it."""

    def __init__(self, name: str = "", **about: Any) -> None:
        self.name = name
        self.about = about
        self.arguments: list[tuple[tuple[str, ...], dict[str, Any]]] = []
        self.settings: list[tuple[str, str, str]] = []
        self.commands: list[Recorder] = []

    def getgroup(self, name: str, description: str) -> Recorder:
        return self

    def addoption(self, *names: str, **about: Any) -> None:
        self.arguments.append((names, about))

    add_argument = addoption

    def addini(self, name: str, help: str, type: str = "string", default: object = None) -> None:
        self.settings.append((name, help, type))

    def add_parser(self, name: str, **about: Any) -> Recorder:
        self.commands.append(Recorder(name, **about))
        return self.commands[-1]

    def add_subparsers(self, **about: Any) -> Recorder:
        return self

    def add_mutually_exclusive_group(self) -> Recorder:
        return self

    def set_defaults(self, **defaults: Any) -> None:
        pass


def spelled(name: str) -> str:
    """Return an option of pytest as it is spelled where no setting says otherwise."""
    return f"--{'' if name in switch.SHORT else 'recall-'}{name}"


def pytest_options() -> Recorder:
    """Return the options and ini settings that the plugin adds."""
    recorder = Recorder()
    switch.add_settings(cast(pytest.Parser, recorder))
    options.define(recorder.addoption, spelled)
    return recorder


def commands() -> list[Recorder]:
    """Return the commands of `recall`, each with its arguments."""
    recorder = Recorder()
    cli.add_commands(recorder)
    return list(_flat(sorted(recorder.commands, key=lambda one: one.name)))


def _flat(found: Iterable[Recorder], above: str = "") -> Iterator[Recorder]:
    for one in found:
        one.name = f"{above}{one.name}"
        yield one
        yield from _flat(one.commands, f"{one.name} ")


def judges() -> dict[str, Callable[..., Any]]:
    """Return the built-in judges: the pure functions behind the fixtures, by name."""
    names = [name.removeprefix("judge_") for name in vars(fixtures) if name.startswith("judge_")]
    homes = (vars(built_in), model_judges.INQUIRIES)
    return {name: next(home[name] for home in homes if name in home) for name in names}


def shown(names: tuple[str, ...], about: dict[str, Any]) -> str:
    """Return an option or argument as it is written, such as `--date YYYY-MM-DD`."""
    if not names[0].startswith("-"):
        return str(about.get("metavar", "{" + ",".join(about.get("choices", ())) + "}"))
    if about.get("action") in ("store_true", "count"):
        return ", ".join(names)
    if about.get("action") is argparse.BooleanOptionalAction:
        return ", ".join((*names, f"--no-{names[0].removeprefix('--')}"))
    value = about.get("metavar") or ("{" + ",".join(about["choices"]) + "}" if "choices" in about else "")
    return f"{', '.join(names)} {value or names[0].lstrip('-').upper().replace('-', '_')}"


def option_part() -> Iterator[str]:
    for names, about in pytest_options().arguments:
        if about["help"] is argparse.SUPPRESS:
            continue  # It is for the plugin itself.
        yield f"### `{shown(names, about)}`"
        yield ""
        yield sentence(about["help"])
        yield ""


def rule_part() -> Iterator[str]:
    hidden = {names[0] for names, about in pytest_options().arguments if about["help"] is argparse.SUPPRESS}
    yield from ("| option | what it needs, or cannot be given with |", "| --- | --- |")
    for rule in option_rules.RULES:
        name, *others = (option_rules.shown(name, spelled) for name in (rule.option, *rule.others))
        if name not in hidden:
            joined = (" or " if rule.relation == "needs" else ", ").join(f"`{other}`" for other in others)
            yield f"| `{name}` | {rule.relation} {joined} |"
    yield ""


def ini_part() -> Iterator[str]:
    for name, help, kind in pytest_options().settings:
        yield f"### `{name}`"
        yield ""
        yield sentence(help) + (" One pattern per line." if kind == "linelist" else "")
        yield ""


def command_part() -> Iterator[str]:
    for command in commands():
        yield f"## `recall {command.name}`"
        yield ""
        yield sentence(command.about["description"])
        yield ""
        if details := command.about.get("epilog"):
            yield from ("```text", textwrap.dedent(details.strip("\n")).rstrip(), "```", "")
        if command.arguments:
            yield from ("| argument | what it does |", "| --- | --- |")
            for names, about in command.arguments:
                told = about.get("help", "")
                if told is not argparse.SUPPRESS:
                    told = told.replace("%(default)s", str(about.get("default")))
                    yield f"| `{cell(shown(names, about))}` | {cell(told)} |"
            yield ""


def judge_part() -> Iterator[str]:
    for name, check in judges().items():
        yield f"### `{name}`"
        yield ""
        # Of what asks a model, the last paragraph is about what comes from the rubric.
        paragraphs = (inspect.getdoc(check) or "").split("\n\n")
        yield "\n\n".join(paragraphs[:-1] if name in model_judges.INQUIRIES else paragraphs)
        yield ""
        yield from ("| argument | default |", "| --- | --- |")
        for parameter in inspect.signature(check).parameters.values():
            if parameter.name in ("answer", "case", *model_judges.GIVEN):
                continue
            yield f"| `{parameter.name}` | {usual(name, parameter)} |"
        if name in ("token_f1", "similarity", "recall_at_k"):
            yield "| `threshold` | the case's, else the rubric's, else `0.5` |"
        yield ""


def usual(judge: str, parameter: inspect.Parameter) -> str:
    """Return what an argument of a judge is where a case does not give it."""
    if judge == "benchmark" and parameter.name == "threshold":
        return "the case's, else the rubric's, else as above"
    if parameter.name == "threshold":
        return "the case's, else the rubric's, else " + {"memory": "`4/6`"}.get(judge, "`0.5`")
    if parameter.name == "evidence":
        return "the case's `evidence`"
    if parameter.name == "expected" and judge != "rubric":
        return "the case's `expected`"
    return "required" if (judge, parameter.name) == ("pairwise", "against") else f"`{written(parameter.default)}`"


def field_part(model: type[BaseModel]) -> Iterator[str]:
    yield from ("| field | default | what it is |", "| --- | --- | --- |")
    for name, field in model.model_fields.items():
        given = {} if isinstance(field.default, BaseModel) else field.default  # Its fields have a table of their own.
        default = "required" if field.default is PydanticUndefined else f"`{written(given)}`"
        yield f"| `{name}` | {default} | {cell(one_line(field.description or ''))} |"
    yield ""


def metric_part() -> Iterator[str]:
    yield from ("| metric | needs | value | what it is |", "| --- | --- | --- | --- |")
    for group in GROUPS:
        for name, metric in group.metrics.items():
            kind = "yes or no" if metric.share else "number" if metric.within[1] > 1 else "0 to 1"
            yield f"| `{name}` | {group.needs} | {kind} | {cell(metric.about)} |"
    yield ""


def fixture_part() -> Iterator[str]:
    yield from ("| fixture | scope | what it is |", "| --- | --- | --- |")
    # Read and not imported: what a fixture is made into differs between releases of pytest.
    for one in ast.parse(inspect.getsource(fixtures)).body:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith(("_", "judge_")):
            decorator = one.decorator_list[0]
            given = {word.arg: word.value for word in decorator.keywords} if isinstance(decorator, ast.Call) else {}
            scope = ast.literal_eval(given.get("scope", ast.Constant("function")))
            about = (ast.get_docstring(one) or "").split("\n\n")[0]
            yield f"| `{one.name}` | {scope} | {cell(one_line(about))} |"
    yield ""


def schema_part() -> Iterator[str]:
    for what, title in (("cases", "A case file"), ("rubric", "The rubric"), ("dataset", "A file that names a dataset")):
        built_in = schema_of(what)
        parts = built_in.get("$defs", {})
        yield from (f"## {title}: `recall check --schema {what}`", "")
        for name, part in (("", built_in), *sorted(parts.items())):
            if "properties" not in part:
                continue
            if name:
                yield from (
                    f"### `{name}`",
                    "",
                    *((one_line(part["description"]), "") if "description" in part else ()),
                )
            yield from ("| field | value | |", "| --- | --- | --- |")
            for field, about in part["properties"].items():
                need = "required" if field in part.get("required", ()) else "optional"
                yield f"| `{field}` | {cell(kind_of(about, parts))} | {need} |"
            yield ""


def kind_of(about: dict[str, Any], parts: dict[str, Any]) -> str:
    """Return in words what a JSON Schema allows."""
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{name.lower()})" if "properties" in parts[name] else "open"
    if "anyOf" in about:
        return ", or ".join(dict.fromkeys(kind_of(one, parts) for one in about["anyOf"]))
    if "enum" in about or "const" in about:
        return " or ".join(f"`{written(value)}`" for value in about.get("enum", [about.get("const")]))
    if isinstance(about.get("type"), list):
        return ", or ".join(kind_of({**about, "type": one}, parts) for one in about["type"])
    if about.get("type") == "array":
        return f"a list of: {kind_of(about.get('items', {}), parts)}"
    if about.get("type") == "object":
        values = about.get("additionalProperties")
        return f"a mapping to: {kind_of(values, parts)}" if isinstance(values, dict) else "a mapping"
    return f"{WORDS.get(about.get('type', ''), 'open')}{limits(about)}"


def limits(about: dict[str, Any]) -> str:
    """Return the bounds of a number or a text."""
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    found = [f"{sign} {about[name]:g}" for name, sign in signs.items() if name in about]
    if "maxLength" in about:
        found.append(f"{about['maxLength']} characters at most")
    return f" ({', '.join(found)})" if found else ""


def code_part(names: Iterable[str]) -> Iterator[str]:
    yield textwrap.fill(", ".join(f"`{name}`" for name in names) + ".", 119, break_on_hyphens=False)


def name_part() -> Iterator[str]:
    yield from ("| name | what it is |", "| --- | --- |")
    for name in pytest_recall.__all__:
        value = getattr(pytest_recall, name)
        about = (
            "The version of the package." if isinstance(value, str) else (inspect.getdoc(value) or "").split("\n\n")[0]
        )
        yield f"| `{name}` | {cell(about)} |"
    yield ""


def hook_part() -> Iterator[str]:
    """Yield each hook that extensions implement."""
    for name, spec in sorted(vars(hookspec).items()):
        if name.startswith("pytest_recall_"):
            yield from (
                "",
                f"### `{name}{inspect.signature(spec)}`",
                "",
                *textwrap.wrap(one_line(spec.__doc__ or ""), 118),
            )


def extension_part() -> Iterator[str]:
    """Yield the names of the public interface: classes with their fields and methods, then functions and constants."""
    found = {name: getattr(ext, name) for name in ext.__all__}
    classes = {name: value for name, value in found.items() if isinstance(value, type)}
    for name, value in classes.items():
        yield from ("", f"### `{name}`", "", *(inspect.getdoc(value) or "").splitlines())
        if "__init__" in vars(value) and not is_dataclass(value):
            yield from ("", f"`{name}{parameters(vars(value)['__init__']).removesuffix(' -> None')}`")
        rows = [*field_rows(value), *method_rows(value)]
        if rows:
            yield from ("", "| name | is |", "| --- | --- |", *rows)
    yield from ("", "### Functions and constants", "", "| name | is |", "| --- | --- |")
    for name in ext.__all__:
        value = found[name]
        if inspect.isfunction(value):
            yield f"| `{name}{parameters(value)}` | {cell(first_line(value.__doc__))} |"
        elif isinstance(value, int):
            yield f"| `{name}` | {value:,} |"
    yield "| `Channel` | What a call of a service goes through: it takes a Request, and what calls the service. |"
    yield "| `TIMEOUT_OPTION` | The option `timeout`, which `MemorySelector.timeout` reads as seconds. |"
    yield "| `hookimpl` | Marks a function as the implementation of a hook. |"
    yield "| `Judge` | A judge as a case file has it: its name, or a mapping from its name to its arguments. |"


def field_rows(cls: type) -> Iterator[str]:
    """Yield a row for each public field of a class, with what is written at it."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            if issubclass(cls, BaseModel):  # Its fields are described, and its annotations hold validators.
                yield f"| `{node.target.id}` | {cell(cls.model_fields[node.target.id].description or '')} |"
                continue
            usual = "" if node.value is None else f" = {default_of(node.value)}"
            kind = cell(ast.unparse(node.annotation) + usual)
            yield f"| `{node.target.id}: {kind}` | {cell(one_line(text_of(after)))} |"


def default_of(node: ast.expr) -> str:
    """Return the default of a field as it is written, of a dataclass's `field` what its factory makes."""
    factories = {"list": "[]", "dict": "{}"}
    if isinstance(node, ast.Call):
        return next((factories.get(ast.unparse(one.value), "...") for one in node.keywords), "...")
    return ast.unparse(node)


def text_of(node: ast.stmt | None) -> str:
    """Return the text that a statement is, such as what stands below a field; empty for any other statement."""
    value = node.value if isinstance(node, ast.Expr) else None
    return str(value.value) if isinstance(value, ast.Constant) else ""


def method_rows(cls: type) -> Iterator[str]:
    """Yield a row for each public method and property that a class itself has."""
    for name, value in vars(cls).items():
        if name.startswith("_") or name in getattr(cls, "_fields", ()):
            continue
        if isinstance(value, property):
            yield f"| `{name}` | {cell(first_line(value.__doc__))} |"
        elif inspect.isfunction(value) and value.__doc__:
            yield f"| `{name}{parameters(value)}` | {cell(first_line(value.__doc__))} |"


def parameters(function: Callable[..., Any]) -> str:
    """Return what a function takes and returns."""
    found = inspect.signature(function)
    own = [parameter for name, parameter in found.parameters.items() if name != "self"]
    return cell(str(found.replace(parameters=own)).replace("'", ""))


def first_line(doc: str | None) -> str:
    """Return what a docstring says first."""
    return one_line(inspect.cleandoc(doc or "").split("\n\n")[0])


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "options": option_part,
    "option-rules": rule_part,
    "ini": ini_part,
    "mark": lambda: iter(("```text", switch.MARK, "```")),
    "commands": command_part,
    "judges": judge_part,
    "case-fields": lambda: field_part(Case),
    "rubric-fields": lambda: field_part(Settings),
    "replay-fields": lambda: field_part(Replay),
    "label-fields": lambda: field_part(Label),
    "dataset-fields": lambda: field_part(BenchFile),
    "metrics": metric_part,
    "retrieval-fields": lambda: field_part(Retrieval),
    "telemetry-hosts": lambda: code_part(hosts.TELEMETRY),
    "telemetry-variables": lambda: code_part(hosts.VARIABLES),
    "telemetry-agents": lambda: code_part(sorted({name for one in hosts.AGENTS for name in one.hosts + one.ports})),
    "repeatable-hosts": lambda: code_part(repeatable_calls.HOSTS),
    "names": name_part,
    "extension-hooks": hook_part,
    "extension-names": extension_part,
    "fixtures": fixture_part,
    "schemas": schema_part,
}


def sentence(built_in: str) -> str:
    """Return a help text as a sentence; one that starts with a name keeps it as it is."""
    first = built_in if re.match(r"\w+:", built_in) else built_in[0].upper() + built_in[1:]
    return first.rstrip(".") + "."


def one_line(built_in: str) -> str:
    """Return `text` without its line breaks."""
    return " ".join(built_in.split())


def cell(built_in: str) -> str:
    """Return `text` as it stands in a table."""
    return built_in.replace("|", "\\|")


def written(value: object) -> str:
    """Return a default as it stands in a case file."""
    return {"None": "null", "True": "true", "False": "false", "()": "[]"}.get(repr(value), str(value))


def generated(page: str) -> str:
    """Return `page` with its generated parts as the code has them now."""

    def fill(match: re.Match[str]) -> str:
        return match[1] + "\n".join(PARTS[match[2]]()).rstrip("\n") + "\n" + match[3]

    return PART.sub(fill, page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a part is out of date")
    args = parser.parse_args()
    stale = 0
    used: set[str] = set()
    for path in sorted(REFERENCE.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        used.update(match[2] for match in PART.finditer(page))
        news = generated(page)
        if news == page:
            continue
        stale += 1
        name = path.relative_to(ROOT).as_posix()
        if args.check:
            sys.stdout.writelines(
                difflib.unified_diff(page.splitlines(True), news.splitlines(True), name, f"{name}, from the code")
            )
        else:
            path.write_text(news, encoding="utf-8", newline="\n")
            print(f"wrote {name}")
    if missing := PARTS.keys() - used:
        print(f"no page has the generated part {', '.join(sorted(missing))}")
        stale += 1
    return int(bool(stale)) if args.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
