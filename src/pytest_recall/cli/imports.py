"""`recall import`: an eval set of promptfoo, deepeval or inspect_ai as a case file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pytest_recall.cases.importers.carry import ImportOptions, word
from pytest_recall.cases.importers.import_text import as_json, lines
from pytest_recall.cases.importers.run import ENDINGS, TOOLS, bring_in, judge_of, put, text_of
from pytest_recall.cli.common import Commands, placeless
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural

DETAILS = """\
FILE is a config of promptfoo (.yaml, .json), goldens that deepeval has saved (.json, .jsonl, .csv), or
samples or a log of inspect_ai (.json, .jsonl, .csv). Files that it names are read if they are in its
folder. No code is run, and nothing is fetched.

Without -o, the cases go to standard output and the report to standard error. Exits with 0 if all was
carried over, with 1 if something was left out, which the report names, and with 2 if no case was made.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "import",
        "turn an eval set of promptfoo, deepeval or inspect_ai into cases, and say what is left out",
        run,
        DETAILS,
    )
    parser.add_argument("tool", choices=TOOLS, help="whose set it is")
    parser.add_argument("file", type=Path, metavar="FILE", help="the file of the set")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="CASES", help="write a case file, .yaml or .jsonl, which is not there yet"
    )
    parser.add_argument("--append", action="store_true", help="put the cases below those of the file that -o names")
    parser.add_argument(
        "--default-judge",
        action="append",
        default=[],
        metavar="JUDGE",
        help="who judges cases that bring no judge, as in a case file, such as token_f1; may be repeated",
    )
    parser.add_argument("--scenario", metavar="NAME", help="the scenario of the cases (default: by the file)")
    parser.add_argument("--dimension", metavar="NAME", help="their dimension (default: correctness)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would become of the set")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    output: Path | None = args.out
    if output is not None and output.suffix not in ENDINGS:
        raise RecallError(f"{output}: a case file ends in .yaml, .yml or .jsonl; give such a name")
    if args.append and output is None:
        raise RecallError("--append: to which file? name it with -o")
    wanted = ImportOptions(
        scenario=_word("--scenario", args.scenario),
        dimension=_word("--dimension", args.dimension) or "correctness",
        judges=tuple(judge_of(text) for text in args.default_judge),
    )
    made = bring_in(args.tool, Path.cwd() / args.file, args.file.as_posix(), wanted)
    rows = [case.row for case in made.cases]
    shown = output is None and not args.dry_run
    if rows and output is not None and not args.dry_run:
        put(rows, Path.cwd() / output, output.as_posix(), append=args.append)
    if shown:
        print(text_of(rows), end="")
    report = json.dumps(as_json(made), indent=2, ensure_ascii=False) if args.json else "\n".join(lines(made))
    print(report, file=sys.stderr if shown else sys.stdout)
    if not rows:
        raise RecallError(f"{args.file.as_posix()}: no case was made of it; see why above")
    if output is not None and not args.json:
        done = "would write" if args.dry_run else "wrote"
        print(f"\n{done} {plural(len(rows), 'case')} to {output.as_posix()}")
    return int(any(remark.left for remark in made.remarks))


def _word(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    if word(text) != text.lower():
        raise RecallError(f"{option}: {text!r} is not a word; start with a letter, and use letters, digits and `-`")
    return text
