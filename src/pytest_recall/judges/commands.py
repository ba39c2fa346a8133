"""The commands `recall judges calibrate`, `audit`, `check` and `models`: judging models, tried and compared."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import JudgeKind
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import (
    BUDGET_HELP,
    TIME_HELP,
    Commands,
    add_files,
    add_record,
    case_paths,
    command,
    dollars,
    duration,
    job_here,
    place_of,
    placeless,
    print_forms,
    print_report,
    recording_of,
    say,
    whole,
)
from pytest_recall.files import clock
from pytest_recall.files.disk import check_replaced, locked, write_text
from pytest_recall.files.errors import RecallError, StoppedError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.json_lines import as_lines
from pytest_recall.files.sections import terminal_body
from pytest_recall.files.wording import dollars as in_dollars
from pytest_recall.files.wording import one_line, plural, same_command
from pytest_recall.judges.audit import GRADES, Grading, Only, grading, picks
from pytest_recall.judges.audit_file import append_grades, export, labels, read_grades, read_import
from pytest_recall.judges.calibrate import Calibrated, LabelledSet, panel_of
from pytest_recall.judges.calibration_file import Replies, append_labels, read_labels, write_calibrations
from pytest_recall.judges.judges_text import calibration_report, regraded_section
from pytest_recall.models.input_log import watch
from pytest_recall.models.model import FORMS, Ask, Message, ModelError, Reply, parse
from pytest_recall.models.model_notes import NAME as MODEL_NOTES
from pytest_recall.models.model_notes import ModelNotes, end_notes
from pytest_recall.models.prices import call_of, price_of_reply
from pytest_recall.models.provider import ModelSettings, Provider
from pytest_recall.models.rate import Retry
from pytest_recall.models.resolve import model_of, resolve
from pytest_recall.replay.budget import Meter, spent_text
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import Tape
from pytest_recall.runs import finish
from pytest_recall.trials.command_cassette import let_through_of, meter_of, player_of, taped, untaped
from pytest_recall.trials.cost import spend_of
from pytest_recall.trials.cost_text import budget_line
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.memory_calls import model_places
from pytest_recall.trials.priced import check_prices
from pytest_recall.trials.record import Record

CALIBRATE_DETAILS = """\
LABELS has one JSON object on each line: an answer, with the verdict of a person.
  {"id": "1", "question": "…", "expected": "…", "answer": "…", "label": "pass"}
More fields: passages, score (0 to 1), judge, criteria, arguments, labelled_by, note. `recall judges audit
RUN --to-labels LABELS` adds answers of a run that someone has graded.

Each answer is judged as a run would: the same prompts, votes and retries. The appellate judge is asked
about all of them. A judgement that cannot be read, or does not arrive, is listed separately, and is not a score.

Replies are kept in eval/_artifacts/calibration: run the same command again to resume a killed calibration.
One whose prompts have not changed, nor the code of a judge that is yours, asks nothing. --fresh asks again.
With --record or --replay the calls go by the cassette DIR/_calibration/<name of LABELS>-<kind>.ndjson.

With --budget no call begins that may cost more than is left. What was not judged then is listed, nothing is
written, and the exit code is 2: run the same command again to resume.

Exits with 1 if a judge falls short of `min_kappa` under `judge` in the rubric.
"""


def add_calibrate(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "calibrate",
        "compare judging models with people, on labelled answers",
        run_calibrate,
        CALIBRATE_DETAILS,
    )
    parser.add_argument("labels", type=Path, metavar="LABELS", help="the labelled answers, a .jsonl file")
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="SELECTOR",
        help="the model that judges; several are a panel (default: `judge` in the rubric)",
    )
    parser.add_argument(
        "--appellate-judge",
        metavar="SELECTOR",
        help="the model that decides on appeal (default: `appellate` under `judge` in the rubric)",
    )
    parser.add_argument(
        "--kind", choices=get_args(JudgeKind), default="rubric", help="which judge it is (default: rubric)"
    )
    add_record(parser, "; no reply is kept elsewhere", "the judges")
    parser.add_argument("--budget", type=dollars, metavar="USD", help=BUDGET_HELP)
    parser.add_argument("--write", action="store_true", help="write the result to eval/calibration.yaml")
    parser.add_argument("--fresh", action="store_true", help="ask again what was asked before")
    parser.add_argument("--dry-run", action="store_true", help="print how many calls it would make, and make none")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--markdown", action="store_true", help="print Markdown")


def run_calibrate(args: argparse.Namespace) -> int:
    """Run the command."""
    _check_calibrate(args)
    place = place_of(args)
    rubric_name, labels_name = place.name(place.rubric), str(args.labels)
    rubric = read_settings(place.rubric, rubric_name)
    labels = read_labels(args.labels, labels_name)
    digest = hashlib.sha256(args.labels.read_bytes()).hexdigest()
    player = player_of(rubric, recording_of(args).mode)
    watch()
    found = partial(model_of, kind="judge", player=player, root=place.root, say=say, ready=not args.dry_run)
    try:
        # Which passes are audited is drawn by the answers' ids, the same ones each time.
        panel = panel_of(rubric, tuple(args.judge), args.appellate_judge, rubric_name, "calibration", found)
    except RecallError as error:
        raise RecallError(f"calibrate: {error}") from None
    # What a cassette holds is complete, whatever was asked before.
    by_cassette = player.mode != "off"
    heard: list[Tape] = []
    notes = None
    if not by_cassette:
        judges = [("judge", one) for one in panel.roles.values()]
        notes = ModelNotes(_notes(place, args), judges, lambda: {one for tape in heard for one in model_places(tape)})
        for key, why in notes.reasons.items():
            say(f"the {key}: {why}; what it replied before does not count")
    bench = LabelledSet(labels, labels_name, args.kind, panel, rubric, notes)
    if bench.left_out:
        say(f"{plural(bench.left_out, 'label')} of other judges left out")
    replies = Replies(None if by_cassette else place.artifacts.calibration(args.kind), fresh=args.fresh)
    need = bench.need(replies)
    if args.dry_run:
        kept = f"; of {need.kept:,} more the reply is kept" if need.kept else ""
        print(f"{plural(len(bench.labels), 'answer')}: {plural(need.calls, 'call')}, or more where replies fail{kept}")
        return 0
    progress = _progress if need.calls else _silent
    if args.budget is not None:
        check_prices(panel.roles, rubric, rubric_name, say)
    meter = player.meter = None if args.budget is None else meter_of(place, rubric, args.budget)
    try:
        if by_cassette:
            names = [one.name for one in panel.roles.values()]
            judged = partial(bench.judge, replies, progress, _open)
            done, tape = _by_cassette(args, player, place, rubric, names, judged)
        else:
            place.artifacts.make()
            with untaped(player, rubric) as tape:
                heard.append(tape)
                done = bench.judge(replies, progress, meter.closed if meter else _open)
        why = "" if meter is None else _told(meter)
    except KeyboardInterrupt:
        told = "begin again" if by_cassette else f"the replies are kept: {same_command()}"
        raise StoppedError(f"stopped; {told}") from None
    finally:
        if meter is not None:
            meter.close()
    let_through = let_through_of(player, tape)
    report = calibration_report(done.agreements, spend_of(done.calls), done.left, why, let_through)
    print_report(report, args)
    if done.left:
        unwritten = f"{place.name(place.calibration)} is as it was; " if args.write else ""
        say(f"{unwritten}the replies are kept: {same_command(options='without --fresh' * args.fresh)}")
        return 2
    if notes is not None:
        end_notes(_notes(place, args))
    if args.write:
        _write(place, done, digest)
    short = [told for one in done.agreements if (told := one.shortfall(rubric.judge.min_kappa))]
    for told in short:
        say(told)
    return int(bool(short))


def _notes(place: Place, args: argparse.Namespace) -> Path:
    """Return the file of the notes on the judges whose replies are kept."""
    replies = place.artifacts.calibration(args.kind)
    return replies.with_name(f"{replies.stem}-{MODEL_NOTES}")


def _check_calibrate(args: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    if args.dry_run and (args.write or args.json or args.markdown):
        raise RecallError("--dry-run judges nothing, so that there is nothing to print or to write; give it alone")
    recording_of(args)
    if args.replay is not None and args.dry_run:
        raise RecallError("--dry-run counts calls, and --replay makes none; give one of them")
    if args.budget is not None and (args.dry_run or args.replay is not None or args.record is not None):
        other = "--dry-run and --replay ask no model" if args.record is None else "a recording has to be whole"
        raise RecallError(f"--budget is for a calibration that may stop halfway, and {other}; leave one of them out")
    if args.fresh and (args.record is not None or args.replay is not None):
        raise RecallError("--fresh has no effect with --record or --replay, which use no kept reply; remove it")


def _by_cassette(
    args: argparse.Namespace,
    player: Player,
    place: Place,
    rubric: Settings,
    judges: Sequence[str],
    judged: Callable[[], Calibrated],
) -> tuple[Calibrated, Tape]:
    """Return what `judged` comes to with its calls recorded or replayed, and their tape."""
    given = recording_of(args).folder
    folder = Path.cwd() / given if given else place.cassettes
    name = f"{args.labels.stem}-{args.kind}"
    with taped(player, place, rubric, folder, name, judges=judges, tell=say) as tape:
        done = judged()
    calls = (call_of(made.exchange(), made.kind, made.source, rubric.prices) for made in tape.made)
    return done._replace(calls=tuple(calls)), tape


def _write(place: Place, done: Calibrated, digest: str) -> None:
    name = place.name(place.calibration)
    for one in done.agreements:
        if one.kappa is None:
            say(f"{one.name}: its kappa is undefined, and not written")
    if rows := done.rows(clock.now().date().isoformat(), f"sha256:{digest}"):
        with locked(place.lock):
            write_calibrations(place.calibration, name, rows)
        print(f"{name}: {plural(len(rows), 'row')} written", file=sys.stderr)


def _progress(done: int, total: int) -> None:
    """Say how far it is: in place on a terminal, and a line for each tenth elsewhere."""
    told = f"judged {done} of {total}, {total - done} left"
    if sys.stderr.isatty():
        print(f"\r{told}", end="\n" if done == total else "", file=sys.stderr, flush=True)
    elif done == total or done * 10 // total > (done - 1) * 10 // total:
        print(told, file=sys.stderr, flush=True)


def _told(meter: Meter) -> str:
    """Say what is left of the budget, and return why no further call may begin."""
    say(budget_line(meter.balance()))
    spent = meter.closed()
    return "" if spent is None else spent_text(spent)


def _open() -> None:
    """Say that calls may be made."""


def _silent(done: int, total: int) -> None:
    pass


SAMPLE = 5
AUDIT_DETAILS = (
    f"""\
Prints JSON Lines for a person or an agent to grade: first a line about the audit, then an item for each
verdict that deserves a second look. These are verdicts on which judges disagree, fails by models, and
{SAMPLE} drawn passes. RUN is any run with a journal: of cases, of a dataset's questions, or of a persona. Fill in
`grade`, `why` and, of a system_failure, `cause` as file:line if you know it, and import the file with --import:
"""
    + "".join(f"  {name:<21} {meaning}\n" for name, meaning in GRADES.items())
    + """
The grades are kept in the run's folder, in grades.jsonl; the newest of a case counts. The scorecard then has
both numbers, as judged and as re-graded, without cases that are at fault, and how many answers to how many
questions each cause has spoiled. The schedule does not change, and neither does the journal.

--to-labels appends what is graded to a labels file, for `recall judges calibrate`.
"""
)


def add_audit(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "audit", "export verdicts for a second look, and import the grades", run_audit, AUDIT_DETAILS
    )
    parser.add_argument("run_name", metavar="RUN", help="a run's name or folder, `latest` or `previous`")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the items to FILE, and print none")
    parser.add_argument("--only", choices=get_args(Only), help="only these; `all` are all verdicts of the run")
    parser.add_argument(
        "--sample",
        type=whole("a count; write a whole number such as 10", 0),
        metavar="N",
        help=f"how many passes by models are drawn (default: {SAMPLE})",
    )
    parser.add_argument("--seed", metavar="SEED", help="what they are drawn by (default: the run's)")
    parser.add_argument("--import", dest="graded", type=Path, metavar="FILE", help="import the grades in FILE")
    parser.add_argument("--to-labels", type=Path, metavar="FILE", help="append what is graded to a labels file")
    add_files(parser)


def run_audit(args: argparse.Namespace) -> int:
    """Run the command."""
    _check_audit(args)
    place = place_of(args, args.run_name)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    if args.graded is None and args.to_labels is None:
        known = read_grades(folder)
        sample = SAMPLE if args.sample is None else args.sample
        seed = record.header.seed if args.seed is None else args.seed
        there = _graded_there(args.out, record)
        known = {**known, **there}
        picked = list(picks(record.trials, args.only, sample, seed))
        if lost := sorted(there.keys() - {pick.trial.case_id for pick in picked}):
            raise RecallError(
                f"{args.out}: has grades of {plural(len(lost), 'case')} that would not be exported now, such as"
                f" `{lost[0]}`; import it first, or give another file"
            )
        if not picked and args.only is None:
            say(f"{args.run_name}: no verdict of a model deserves a second look; --only all exports all verdicts")
        found = export(record.header.run, picked, _cases(place, args), record.asked, known)
        text = as_lines(found)
        if args.out is None:
            sys.stdout.write(text)
        else:
            write_text(args.out, text)
            print(f"{args.out}: {plural(len(found) - 1, 'item')} to grade")
        return 0
    if args.graded is not None:
        _take(args, place, folder, record)
    if args.to_labels is not None:
        _label(args, place, record, read_grades(folder))
    return 0


def _graded_there(out: Path | None, record: Record) -> dict[str, Grading]:
    """Return the grades in an earlier export at `out`. Raises RecallError for another file, and for mistakes there."""
    if out is None or not out.exists():
        return {}
    check_replaced(out, str(out), b'{"audit"', "audit of a run")
    return read_import(out, str(out), record.header.run, grading(record.trials))


def _check_audit(args: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    takes = args.graded is not None or args.to_labels is not None
    for option in ("out", "only", "sample", "seed"):
        if takes and getattr(args, option) is not None:
            raise RecallError(f"--{option} is for an export, and has no effect with --import or --to-labels; remove it")
        if option in ("sample", "seed") and args.only not in (None, "passes") and getattr(args, option) is not None:
            raise RecallError(f"--{option} has no effect with --only {args.only}, which draws nothing; remove it")


def _take(args: argparse.Namespace, place: Place, folder: Path, record: Record) -> None:
    given = read_import(args.graded, str(args.graded), record.header.run, grading(record.trials))
    with locked(place.lock):
        news = append_grades(folder, given, clock.now().isoformat(timespec="seconds"))
        card = finish.scorecard(record, place, folder)
        newest = place.artifacts.runs()[-1:] == [folder]
        finish.write_scorecard(place, folder, record, card, job_here(), newest=newest)
    print(f"{args.graded}: {plural(len(given), 'grade')}, {news} of them new")
    graded = ["nothing is graded yet"] if card.regraded is None else terminal_body(regraded_section(card.regraded))
    print("\n".join(graded))


def _label(args: argparse.Namespace, place: Place, record: Record, gradings: dict[str, Grading]) -> None:
    found, without = labels(record.header.run, grading(record.trials), gradings, _cases(place, args))
    news = append_labels(args.to_labels, str(args.to_labels), found)
    known = f", {len(found) - news} were there" if len(found) > news else ""
    print(f"{args.to_labels}: {plural(news, 'label')} added{known}")
    if without:
        print(f"{plural(without, 'graded case')} without a label: case at fault, edited since, or no judging model")


def _cases(place: Place, args: argparse.Namespace) -> dict[str, Case]:
    files = (CaseFile(path, place.name(path)) for path in case_paths(place, args))
    return {case.id: case for file in files for case in file.cases()}


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


def add_models(commands: Commands) -> None:
    """Add the commands."""
    check = placeless(commands, "check", "ask a model for one word, and print its reply", run_check, CHECK)
    check.add_argument("selector", metavar="SELECTOR", help="the model; `recall judges models` prints the forms")
    check.add_argument(
        "--timeout",
        type=duration,
        default=60_000,
        metavar="TIME",
        help=f"how long to wait, {TIME_HELP} (default: 60s)",
    )
    check.add_argument("--json", action="store_true", help="print JSON")
    placeless(commands, "models", "list the forms of a model selector, and what is missing for each", run_list, LIST)


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
    timeout = args.timeout / 1000
    settings = ModelSettings(timeout=timeout, retry=Retry(attempts=1, total=timeout), say=said.append)
    start = clock.monotonic()
    try:
        with resolve(args.selector, settings=settings) as model:
            reply = model.ask(_QUESTION)
            seconds = clock.monotonic() - start
            usd = price_of_reply(model, reply)
            _print(args.json, model, reply, seconds, usd, said)
    except ModelError as error:
        if args.json:
            print(json.dumps({"version": 1, "selector": args.selector, "ok": False, "error": str(error)}, indent=2))
        else:
            say(str(error))
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
    print("price unknown" if usd is None else f"price    {in_dollars(usd)}")
    print(f"ignored  {', '.join(reply.ignored) or 'nothing'}")
    for note in said:
        print(note)
