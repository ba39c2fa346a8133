"""The commands `recall bench heatmap`, `report`, `misses` and `audit`: what a run came to, and its answers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.cli.common import Commands, counted, names, placeless, say
from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError, nearest

if TYPE_CHECKING:
    from pytest_recall.horizon.picture_data import Heatmap, SizeCurve
    from pytest_recall.horizon.published import PublishedRun


HEATMAP_DETAILS = """\
Draws heatmap.png into the run's folder: categories by checkpoint, all answers, and hallucination. A square of
fewer than five answers has a dot; one that was not asked shows the value before, paler and hatched. Beside it
recall-vs-size.png, means with bands against days, and failures-by-cause.png once an audit has grades.
With `-o NAME.png` they are called NAME-recall-vs-size.png and so on, so that several runs can share a folder.
Where no model judged, hallucination is hatched: it was not measured. Of passages that no model judged the squares
are the share of the relevant days found, with floors and ceiling below. The colours can be told apart by
colour-blind people; `published` are those of Recall Bench, which cannot.

  recall bench heatmap runs/mine
  recall bench heatmap runs/mine -o pictures/mine.svg --svg

Without matplotlib (pip install 'pytest-recall[pictures]') they are SVG, with less detail. A PNG beside an SVG of
its name, or the reverse, is removed if it is older than the run's answers and pytest-recall drew it.
exit codes: 0 drawn, 2 nothing was drawn
"""


def add_heatmap(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "heatmap", "draw the scores of a run as pictures", run_heatmap, HEATMAP_DETAILS)
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of the run")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="the heatmap's file; others go beside it (default: in RUN_DIR)"
    )
    parser.add_argument(
        "--colors", choices=("safe", "published"), default="safe", help="the palette of the heatmap (default: safe)"
    )
    parser.add_argument("--svg", action="store_true", help="draw SVG in place of PNG")


def run_heatmap(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.audit import read_regrades
    from pytest_recall.horizon.picture_data import causes, heatmap, sizes
    from pytest_recall.horizon.picture_files import answered_at, looked_at, write_pictures
    from pytest_recall.horizon.regrade import audited
    from pytest_recall.horizon.runs import read_run

    path, draw = _drawing(args)
    found, since = read_run(args.run_dir), answered_at(args.run_dir)
    drawn = {path: (draw.heatmap(heatmap(found)), since)}
    if found.evaluations:
        drawn[beside(path, "recall-vs-size")] = draw.sizes(sizes(found)), since
    else:
        say("the run's files hold no answers, so that there are no bands to draw")
    if groups := causes(audited(found, read_regrades(args.run_dir, found).regrades)):
        title = f"What was found: {found.adapter or found.name}"
        drawn[beside(path, "failures-by-cause")] = draw.causes(title, groups), looked_at(args.run_dir)
    told = write_pictures(drawn)
    print("\n".join(map(str, drawn)))
    for one in (*draw.said, *told):
        say(one)
    return 0


class _Drawing(NamedTuple):
    """What draws the pictures, and what is to be said of it."""

    heatmap: Callable[[Heatmap], bytes]
    sizes: Callable[[SizeCurve], bytes]
    causes: Callable[[str, Mapping[str, Sequence[tuple[str, int, int]]]], bytes]
    said: tuple[str, ...] = ()


def _drawing(args: argparse.Namespace) -> tuple[Path, _Drawing]:
    """Return the heatmap's file, and what draws it: matplotlib, or without it, SVG alone."""
    from pytest_recall.horizon import pictures

    format: pictures.Format = "svg" if args.svg else "png"
    if args.out is not None and args.out.suffix != f".{format}":
        other = "leave --svg out" if args.svg else "give --svg"
        raise RecallError(f"{args.out}: is to be {format.upper()}; call it *.{format}, or {other}")
    try:
        pictures.check_drawing()
    except RecallError as error:
        if args.out is not None and not args.svg:
            raise RecallError(f"{args.out}: {error}, or call it *.svg and give --svg") from None
        from pytest_recall.horizon import curve_svg, heatmap_svg

        plain = _Drawing(
            lambda found: heatmap_svg.heatmap_svg(found, args.colors).encode(),
            lambda found: curve_svg.sizes_svg(found).encode(),
            lambda title, groups: curve_svg.causes_svg(title, groups).encode(),
            ("SVG is drawn without matplotlib; for PNG, run `pip install 'pytest-recall[pictures]'`",),
        )
        return args.out or args.run_dir / "heatmap.svg", plain
    drawing = _Drawing(
        lambda found: pictures.draw_heatmap(found, args.colors, format),
        lambda found: pictures.draw_sizes(found, format),
        lambda title, groups: pictures.draw_causes(title, groups, format),
    )
    return args.out or args.run_dir / f"heatmap.{format}", drawing


def beside(heatmap: Path, name: str) -> Path:
    """Return the file of another picture: two runs drawn into one folder must not overwrite each other's."""
    return heatmap.with_name(f"{name if heatmap.stem == 'heatmap' else f'{heatmap.stem}-{name}'}{heatmap.suffix}")


REPORT_DETAILS = """\
Prints the mean points of a run with its interval, by category, hallucination beside it; how both change as
the days add up, on the same questions; how much of the relevant days a memory found that returns passages,
beside what returns as many tokens without searching; what the second judge changed, and how often the first
one judged the same answer in two ways. Of several runs each is compared with the first, on what both were asked.

A question is asked at many checkpoints. Its answers resemble each other, so that intervals are by question.

  recall bench report results/ea-180d-mempalace
  recall bench report results/ea-180d-mempalace results/ea-180d-recall --markdown > report.md
"""


def add_report(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "report", "report the scores of runs, with confidence intervals", run_report, REPORT_DETAILS
    )
    parser.add_argument(
        "run_dirs",
        type=Path,
        nargs="+",
        metavar="RUN_DIR",
        help="the folder of a run; the first is what others are compared with",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON")
    forms.add_argument("--markdown", action="store_true", help="print Markdown")


def run_report(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon import report_text
    from pytest_recall.horizon.runs import read_answered
    from pytest_recall.horizon.statistics import pairing, report

    # Two folders of one name, such as a/run and b/run, must not look alike.
    runs = [read_answered(path, str(path)) for path in args.run_dirs]
    reports, pairings = [report(one) for one in runs], [pairing(runs[0], other) for other in runs[1:]]
    if args.json:
        print(json.dumps(report_text.as_json(reports, pairings, runs), indent=2, ensure_ascii=False))
    else:
        print("\n".join(report_text.lines(reports, pairings, runs, markdown=args.markdown)))
    return 0


SEED = 42
AUDIT_DETAILS = """\
Writes audit/CHECKPOINT.jsonl into the run's folder, and a page to read beside it: of each checkpoint every
answer below 6, failures first, and a tenth of the perfect ones. With --persona, the texts of the relevant
days stand beside. Someone, a person or an agent, fills in `grade`, and `why` if there is something to say:

  agree                 the points are right, and the memory system is not at fault
  judge_false_negative  the judge gave too few points
  judge_false_positive  the judge gave too many points
  system_failure        the points are right, and the memory system is at fault; `cause` says where, as file:line
  case_defect           the question, its reference or its days are wrong

For a judge that is wrong, `corrected` may hold the right points; without them the answer is left out of the
re-graded mean. Exporting again loses nothing that is written. The grades are those of `recall judges audit`; files
that have them by earlier names, such as `"verdict": "qa-defect"`, are read as before.

--apply imports the grades. It prints the run as judged and as re-graded, and how often the judge is wrong, and
writes audit/audited.json, audit/defects.jsonl and the log in notes.md. Doing it again changes nothing.

  recall bench audit runs/mine --persona personas/executive-assistant --arcs arcs-180d.yaml
  recall bench audit runs/mine --apply

exit codes: 0 done, 1 by what was looked at the judge is wrong in more than 5 % of answers,
2 nothing was written, or no item has a grade
"""


MISSES_DETAILS = """\
Shows the answers to which not all relevant days came back: which days are absent, and what came instead, by rank,
with the memory's own scores; `+` marks a relevant day. A count by category comes first.

  recall bench misses runs/mine
  recall bench misses runs/mine --checkpoint 60d --categories synthesis --limit 20

Left out are questions about what must not be told, and answers of which it is not known what they are from.
"""
MISSES_SHOWN = 5


def add_misses(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "misses",
        "show which relevant days a run did not find, and what came instead",
        run_misses,
        MISSES_DETAILS,
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of a run")
    parser.add_argument("--checkpoint", metavar="LABEL", help="answers after this checkpoint only, such as 60d")
    parser.add_argument("--categories", type=names, metavar="A,B", help="questions of these categories only")
    parser.add_argument(
        "--limit",
        type=counted(1, 10_000),
        default=MISSES_SHOWN,
        metavar="N",
        help=f"show so many in full (default: {MISSES_SHOWN})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all of them")


def run_misses(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.misses import missed_days, missed_days_json, missed_days_lines
    from pytest_recall.horizon.runs import read_answered

    run = read_answered(args.run_dir, str(args.run_dir))
    every = [(stop.label, one) for stop in run.stops for one in stop.evaluations]
    labels = dict.fromkeys(label for label, _ in every)
    if args.checkpoint not in (None, *labels):
        raise RecallError(f"--checkpoint: {args.checkpoint!r} is not in this run{nearest(args.checkpoint, labels)}")
    known = {one.question.category for _, one in every}
    if unknown := [name for name in args.categories or () if name not in known]:
        raise RecallError(*(f"--categories: {name!r} is not in this run{nearest(name, known)}" for name in unknown))
    found, measured = missed_days(
        (label, one)
        for label, one in every
        if args.checkpoint in (None, label) and (not args.categories or one.question.category in args.categories)
    )
    if not measured:
        raise RecallError(
            f"{args.run_dir}: for no answer is it known what the memory returned: it answers by itself, or its passages"
            " do not name their source; there is nothing to show"
        )
    if args.json:
        print(json.dumps(missed_days_json(found, measured), indent=2, ensure_ascii=False))
    else:
        print("\n".join(missed_days_lines(found, args.limit, measured)))
    return 0


def add_audit(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "audit", "export answers for a second look, and import the grades", run_audit, AUDIT_DETAILS
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of the run")
    parser.add_argument("--checkpoint", metavar="LABEL", help="export this one only, such as 30d")
    parser.add_argument("--seed", type=int, metavar="N", help=f"what perfect answers are drawn by (default: {SEED})")
    parser.add_argument(
        "--persona", type=Path, metavar="DIR", help="the persona's folder, or `ferry-office`, for the texts of the days"
    )
    parser.add_argument("--arcs", metavar="FILE", help="its story (default: the run's, or the only one)")
    parser.add_argument("--apply", action="store_true", help="import the grades")
    parser.add_argument("--json", action="store_true", help="with --apply, print JSON")


def run_audit(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.runs import read_run

    _check(args)
    found = read_run(args.run_dir)
    if not found.evaluations:
        raise RecallError(f"{args.run_dir}: holds no answers, so that there is nothing to look at again")
    if args.apply:
        return _apply(args, found)
    from pytest_recall.horizon.audit import export, stops_of
    from pytest_recall.horizon.corpus import Corpus, shipped, story_name
    from pytest_recall.horizon.run_text import exported, page

    corpus = None
    if args.persona is not None:
        folder = args.persona if args.persona.is_dir() else shipped(str(args.persona)) or args.persona
        # The run says its story, unless it is a published one.
        corpus = Corpus(folder, story_name(folder, args.arcs or found.config.get("arcs")))
        corpus.days  # noqa: B018  # Says at once if the folder holds none.
    stops = stops_of(found, args.checkpoint)
    done = export(args.run_dir, found, stops, SEED if args.seed is None else args.seed, corpus, page)
    print("\n".join(exported([(str(one.path), one.items, one.grades, one.stale) for one in done])))
    if corpus is None:
        print("recall: without --persona the items hold no texts of the days", file=sys.stderr)
    return 0


def _apply(args: argparse.Namespace, found: PublishedRun) -> int:
    from pytest_recall.horizon import run_text
    from pytest_recall.horizon.audit import AUDITED, FOLDER, NOTES, read_regrades, write_defects
    from pytest_recall.horizon.regrade import audited

    read = read_regrades(args.run_dir, found)
    if not read.files:
        raise RecallError(f"{args.run_dir / FOLDER}: holds no items; `recall bench audit {args.run_dir}` writes them")
    told = audited(found, read.regrades)
    defects = write_defects(args.run_dir, read.regrades)
    plain = run_text.audit_json(told, read.waiting, defects)
    write_text(args.run_dir / FOLDER / AUDITED, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    path = args.run_dir / NOTES
    before = read_text(path, str(path)) if path.is_file() else ""
    after = run_text.notes(before, found, told, read.waiting, defects)
    if after != before:
        write_text(path, after)
    if args.json:
        print(json.dumps(plain, indent=2, ensure_ascii=False))
    else:
        print("\n".join(run_text.audit_lines(told, read.waiting, defects)))
    if not read.regrades:
        print("recall: no item has a grade yet", file=sys.stderr)
        return 2
    if not run_text.is_done(after):
        print(
            f"recall: {path}: `Analysis` names no cause as file:line yet; a run is done when it does", file=sys.stderr
        )
    return int(run_text.escalates(told))


def _check(args: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    if args.apply:
        for name in ("checkpoint", "seed", "persona", "arcs"):
            if getattr(args, name) is not None:
                raise RecallError(f"--{name} is for exporting, and --apply imports what is there; leave one out")
    elif args.json:
        raise RecallError("--json is for --apply; the export is always JSON Lines")
    if args.arcs is not None and args.persona is None:
        raise RecallError("--arcs is a file in the folder of --persona; give that too")
