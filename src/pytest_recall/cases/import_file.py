"""Import an eval set of another tool: read it, convert it, write the case file, and say what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.foreign_file import TABLES, Folder, read_document, with_columns
from pytest_recall.cases.imports import ImportedSet, Importer, ImportOptions, Judge, Remark
from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import create_text, read_text, write_text
from pytest_recall.files.errors import RecallError, fault_text
from pytest_recall.files.json_lines import as_lines
from pytest_recall.files.strict_yaml import block
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.files.wording import plural

ENDINGS = (".yaml", ".yml", ".jsonl")


def import_set(importer: Importer, path: Path, name: str, options: ImportOptions) -> ImportedSet:
    """Return what becomes of the set in a file, called `name`. Raises RecallError if it cannot be read."""
    if options.delimiter != "," and path.suffix.lower() not in TABLES:
        raise RecallError(f"--delimiter: {name} is no table (.csv, .tsv), whose cells it could part; leave it out")
    document = replace(read_document(path, name, options.delimiter), files=Folder(path, name).read)
    document = with_columns(document, options.names)
    try:
        made = importer.convert(document, options)
    except KeyboardInterrupt:
        raise
    except RecallError as error:
        if error.messages:
            raise
        raise RecallError(f"{name}: the importer `{importer.name}` refuses it, and does not say why") from None
    except BaseException as error:  # It may be anyone's code.
        code = getattr(importer.convert, "__code__", None)
        why = fault_text(error, "" if code is None else code.co_filename)
        raise RecallError(f"{name}: the importer `{importer.name}` has a fault ({why})") from error
    if not isinstance(made, ImportedSet):
        what = f"returns {type(made).__name__}, and no ImportedSet"
        raise RecallError(f"{name}: the importer `{importer.name}` has a fault: `convert` {what}")
    for case in list(made.cases):
        if not _reads_back(case.row):
            made.refuse(case, "holds what a case file cannot", "write it by hand")
    return made


def text_of(rows: Sequence[Mapping[str, Any]], ending: str = ".yaml") -> str:
    """Return rows as the text of a case file, with an empty line between them in YAML."""
    return as_lines(rows) if ending == ".jsonl" else "\n".join(block([row]) for row in rows)


def put(rows: Sequence[Mapping[str, Any]], path: Path, name: str, *, append: bool) -> None:
    """Write rows as a new case file, or below those of one that is there.

    Raises RecallError if it is there and `append` is off, if it is not in order, or has one of the ids.
    """
    text = text_of(rows, path.suffix)
    if not path.exists():
        CaseFile(path, name, text).cases()
        create_text(path, text)
        return
    if not append:
        raise RecallError(f"{name}: is there already; give another name, or --append to put the cases below its own")
    held = read_text(path, name)
    own = CaseFile(path, name, held)
    own.cases()
    if twice := [str(row["id"]) for row in rows if row["id"] in own.lines]:
        said = [
            f"{name}:{own.lines[one]}: id: `{one}` is there already; take it out, or import into another file"
            for one in twice
        ]
        raise RecallError(*said[:MAX_PROBLEMS])
    between = "" if path.suffix == ".jsonl" or not own.lines else "\n"
    joined = f"{held}{'' if not held or held.endswith(chr(10)) else chr(10)}{between}{text}"
    try:
        fits = list(CaseFile(path, name, joined).lines) == [*own.lines, *(str(row["id"]) for row in rows)]
    except RecallError:
        fits = False
    if not fits:
        raise RecallError(f"{name}: is not a plain list of rows that begin with `- id`; import into another file")
    write_text(path, joined)


def delimiter_of(text: str) -> str:
    """Return the character that `--delimiter` names. Raises RecallError."""
    if text == "tab":
        return "\t"
    if len(text) != 1 or text in '"\r\n':
        raise RecallError(f"--delimiter: {text!r} is no delimiter; give one character, such as `;`, or `tab`")
    return text


def names_of(given: Sequence[str]) -> dict[str, str]:
    """Return the names of columns that `--map KNOWN=OWN` gives, by the name that is known. Raises RecallError."""
    names: dict[str, str] = {}
    for text in given:
        known, sign, own = text.partition("=")
        if not sign or not known or not own or known in names or own in names.values():
            raise RecallError(f"--map: {text!r} names no column once; write `--map input=question`, once for each")
        names[known] = own
    return names


def judge_of(text: str) -> Judge:
    """Return a judge as `--default-judge` has it, `token_f1` or `similarity: {threshold: 0.8}`. Raises RecallError."""
    value = strict_yaml.load(text, "--default-judge") if text.strip() else None
    fits = isinstance(value, str) or (isinstance(value, Mapping) and len(value) == 1)
    named = value if isinstance(value, str) else next(iter(value), "") if fits and value else ""
    if not fits or not str(named).isidentifier():
        raise RecallError(
            f"--default-judge: {text!r} is not a judge; write `token_f1`, or `similarity: {{threshold: 0.8}}`"
        )
    return value if isinstance(value, str) else dict(value or {})


def _reads_back(row: Mapping[str, Any]) -> bool:
    try:
        return bool(strict_yaml.load(block([row]), "") == [row])
    except (RecallError, ValueError):
        return False


def lines(made: ImportedSet) -> Iterator[str]:
    """Yield the report: the sum, what is left out or differs by kind, and then every one by its place."""
    yield f"{plural(len(made.cases), 'case')} of {plural(made.found, 'test')}{_ids(made)}"
    groups = (
        ("no case", [r for r in made.remarks if r.whole]),
        ("left out", [r for r in made.remarks if r.left and not r.whole]),
        ("carried over, not quite the same", [r for r in made.remarks if not r.left]),
    )
    for title, remarks in groups:
        if not remarks:
            continue
        yield ""
        yield f"{title}:"
        for (what, advice), count in Counter((r.what, r.advice) for r in remarks).items():
            yield f"  {count:>3}  {what}: {advice}"
    if any(r.left for r in made.remarks):
        yield ""
        yield "where:"
        yield from (f"  {_where(remark)}" for remark in made.remarks if remark.left)


def _ids(made: ImportedSet) -> str:
    counted = Counter(case.named_by for case in made.cases)
    return f"; ids from {', '.join(f'{name} ({count})' for name, count in counted.items())}" if counted else ""


def _where(remark: Remark) -> str:
    about = remark.case or ("no case" if remark.whole else "")
    return f"{remark.place}: {f'{about}: ' if about else ''}{remark.what}"


def as_json(made: ImportedSet) -> dict[str, Any]:
    """Return the report as JSON has it."""
    return {
        "found": made.found,
        "carried": len(made.cases),
        "no_case": made.dropped,
        "cases": [{"id": c.id, "place": c.place, "id_from": c.named_by} for c in made.cases],
        "remarks": [
            {
                "place": r.place,
                "case": r.case or None,
                "kind": "no case" if r.whole else "left out" if r.left else "differs",
                "what": r.what,
                "advice": r.advice,
            }
            for r in made.remarks
        ],
    }
