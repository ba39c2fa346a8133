"""Word sentences about a run: its slice, its headline, and what it changed in the state."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_recall.files.wording import listed, percent, plural
from pytest_recall.models.reply_names import is_asked_for, joined
from pytest_recall.replay.clients import CLIENTS
from pytest_recall.replay.programs import NamedPrograms, can_be_named
from pytest_recall.results import replay_text
from pytest_recall.results.scorecard import NOT_RUN, FailureKind, Scorecard, is_incomplete, not_evaluated_line
from pytest_recall.results.stop_text import ENDED_EARLY, left_text
from pytest_recall.results.unproven_text import tries_text, weak_judge_text
from pytest_recall.schedule.boxes import OF_CHANGE, UNSCHEDULED
from pytest_recall.schedule.forecast import without_verdict
from pytest_recall.trials.record import Header, LostShard, Record, ReplaySummary, SetApart
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.results.scorecard import CaseResult, Scorecard
    from pytest_recall.schedule.forecast import WarmUp


_MODES = {
    "pr": "pull request",
    "main": "default branch",
    "nightly": "nightly",
    "all": "all cases",
    "observe": "all cases, to observe the slice",
    "explicit": "explicit choice",
}

"""Why chosen cases were not run, where nothing else is known."""


def slice_line(header: Header) -> str:
    """Return the slice in one line: how many of how many, why these, and why not the rest."""
    whole = header.slice or header.picks
    reasons = Counter(reason for _, reason in whole)
    chosen = f"{len(whole)} of {plural(header.total, 'case')}"
    parts = [f"{count} {reason}" for reason, count in reasons.items() if reason != "all"]
    told = f"{header.mode} {header.date}{_seed(header)}: {chosen}"
    if parts:
        told += f" ({', '.join(parts)})"
    rest = not_run(header)
    told = f"{told}; not run: {rest}" if rest else told
    return f"{told}; {shard(header)}" if header.shard else told


def _seed(header: Header) -> str:
    return f", seed {header.seed}" if header.seed else ""


def shard(header: Header) -> str:
    """Return which part of the slice a shard runs."""
    number, _, count = header.shard.partition("/")
    return f"shard {number} of {count} runs {len(header.picks) or 'none'} of these {len(header.slice)}"


def lost(shard: LostShard) -> str:
    """Return of what shard how much is not run, and how it ended."""
    how = {"missing": "is missing", "cut off": "was cut off"}.get(shard.ended, "ended early")
    number, _, of = shard.shard.partition("/")
    why = left_text(shard.stop, shard.cases)
    return f"shard {number} of {of} {how}{f' ({why})' if why else ''}: {plural(shard.cases, 'case')} not run"


def partial(record: Record, card: Scorecard) -> str:
    """Return that not all of the run is in it, how much is not and why; empty for one that is whole."""
    header = record.header
    if not card.not_run and not header.lost and record.exit_code is not None:
        return ""
    why = "; ".join(map(lost, header.lost)) or left_text(record.stop, len(card.not_run))
    if not why:
        why = "it was cut off before its end" if record.exit_code is None else ENDED_EARLY
    if not card.not_run:
        return f"partial: {why}"
    return f"partial: {len(card.not_run):,} of {plural(len(header.picks), 'chosen case')} not run: {why}"


def not_run(header: Header) -> str:
    """Return why the rest of the cases was not chosen; empty if all were."""
    parts = []
    if header.not_due:
        parts.append(_not_due(header))
    if header.over_cap:
        # A change from a fork has only the cases asked that it affects.
        why = (
            "due, for which a fork has no key" if header.fork and header.knows_change else "beyond the limit of one run"
        )
        parts.append(f"{header.over_cap} {why}")
    if header.unseen:
        parts.append(f"{header.unseen} new, not drawn")
    if header.without_base:
        parts.append(f"{header.without_base} without a base to compare with")
    return ", ".join(parts)


def _not_due(header: Header) -> str:
    return f"{header.not_due} not due" + (f" until {header.next_due}" if header.next_due else "")


def replayed(header: Header) -> list[str]:
    """Return what a replay of the recordings found, a line each; nothing without one."""
    return [] if header.replayed is None else [replay_line(header.replayed), *replay_text.details(header.replayed)]


def replay_line(found: ReplaySummary) -> str:
    """Return the counts of a replay of all recordings, and what they are counts of."""
    return f"what the change affects, by a replay of all recordings: {replay_text.counts(found)}"


def alone_line(alone: Mapping[str, int]) -> str:
    """Return how many cases ran alone though others ran at once, and for the sake of which fixtures."""
    names = ", ".join(f"`{name}`" for name in sorted(alone))
    count = plural(sum(alone.values()), "case")
    return f"{count} ran alone, since what {names} gives or changes belongs to the whole process"


def looped_line(looped: Mapping[str, int]) -> str:
    """Return how many cases ran alone though others ran at once, for the sake of which async fixtures."""
    names = ", ".join(f"`{name}`" for name in sorted(looped))
    count = plural(sum(looped.values()), "case")
    return f"{count} ran alone, since the event loop of an async fixture ({names}) runs one case at a time"


def unrecorded_line(case_ids: Sequence[str]) -> str:
    """Return which cases came to a verdict while they were recorded, without a call that a recording can hold."""
    count = plural(len(case_ids), "case")
    return (
        f"nothing was recorded of {count}, which made no call that is seen ({listed(case_ids)}); if one of them asks a"
        " model, either a cache of its framework has answered, which has to be off or empty while it is recorded, or it"
        f" asks by a client that is not recorded; use one of {CLIENTS}"
    )


def lost_calls_line(ends: Mapping[str, Sequence[str]], *, is_recorded: bool) -> str:
    """Return which cases came to a verdict without answers that the provider did not give, by how their calls ended."""
    count, one = plural(len(ends), "case"), len(ends) == 1
    ways = ", ".join(dict.fromkeys(end.removeprefix("http-") for case_id in sorted(ends) for end in ends[case_id]))
    # With --record=missing they would be answered as they are recorded.
    which = "this case" if one else "these cases"
    again = f"record {which} again with --record" if is_recorded else f"run {which} again"
    return (
        f"{count} came to {'its verdict' if one else 'their verdicts'} though the provider did not answer"
        f" ({ways}): {listed(sorted(ends))}; what is judged is what the agent says without that answer: {again}"
        " if that is not meant"
    )


def kept_line(name: str, ends: Sequence[str]) -> str:
    """Return that a recording stays, as calls of the run that was to replace it ended so."""
    ways = ", ".join(end.removeprefix("http-") for end in ends)
    return (
        f"{name}: stays as it is, since the provider did not answer in this run ({ways}); record it again, or delete"
        " the file first if just that is to be recorded"
    )


def telemetry_line(calls: Mapping[str, int], mode: str) -> str:
    """Return what became of calls of telemetry, counted by host; `mode` is that of the recording."""
    be = "was" if sum(calls.values()) == 1 else "were"
    became = f"{be} answered here and not sent" if mode == "replay" else f"{be} made and not recorded"
    hosts = listed(f"{host} ({count})" for host, count in sorted(calls.items()))
    return f"{plural(sum(calls.values()), 'call')} of telemetry {became}: {hosts}"


def outside_line(calls: Mapping[str, int]) -> str:
    """Return which calls were made while no case was open, with a count of each; no recording has them."""
    counts = listed(f"{call} ({count})" for call, count in sorted(calls.items()))
    return (
        f"{plural(sum(calls.values()), 'call')} outside of any case, which a replay refuses, not recorded: {counts};"
        " let a fixture make what a case needs, and name a host that takes telemetry in rubric.yaml:"
        " `calls: {HOST: telemetry}`"
    )


def ambiguous_line(calls: Iterable[str]) -> str:
    """Return which calls of no case were answered in several ways, so that a replay has no answer to them."""
    return (
        f"{listed(sorted(calls))}: called outside of any case and answered in several ways, so that a replay does not"
        " know which answer to give, and refuses it; let a fixture make the call"
    )


def answered_otherwise_line(fixtures: Iterable[str]) -> str:
    """Return which fixtures were answered otherwise in another process of the run; cases may rest on that."""
    return (
        f"{listed(sorted(fixtures))}: answered differently in several workers, and recorded with the answers of the"
        " first, so that a replay refuses the cases of the other workers; --record=missing records these again"
    )


def to_match_line(header: str, names: Sequence[str]) -> str:
    """Return what to say of a header that is not matched, where it alone tells recorded calls apart."""
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return (
        f"{names[0]}{more}: equal calls with another `{header}` were answered otherwise, and a replay tells them apart"
        f" by it; add `match_headers: [{header}]` to rubric.yaml if the answer depends on it, else"
        f" `volatile: [header.{header}]`"
    )


def by_credential_line(header: str, names: Sequence[str]) -> str:
    """Return what to say of a header with a credential, where nothing else tells recorded calls apart."""
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return (
        f"{names[0]}{more}: calls that differ in nothing but the credential in `{header}` were answered otherwise, and"
        " nothing of a credential is recorded, so that a replay gives their answers in the order of the recording; give"
        " each user a case, or a header or a parameter that names the user, else add"
        f" `volatile: [header.{header}]` to rubric.yaml"
    )


def nothing_recorded_line(
    case_ids: Sequence[str],
    telemetry: Mapping[str, int],
    ignored: Mapping[str, int],
    programs: Iterable[str],
    clients: Mapping[str, int],
) -> str:
    """Return that a run which was to record has recorded nothing of any case, and what its cases did instead."""
    seen = {
        "telemetry": _counted(telemetry),
        "calls to ignored hosts": _counted(ignored),
        "clients that are not recorded": _counted(clients),
        "programs": listed(programs),
    }
    others = "".join(f"; seen were {what}: {names}" for what, names in seen.items() if names)
    return f"--record has no call to replay: {unrecorded_line(case_ids)}{others}"


def past_lines(programs: Iterable[str], clients: Mapping[str, int], named: NamedPrograms) -> list[str]:
    """Return what cases that were recorded asked by, and no recording holds: a line of programs, and one of clients.

    `programs` are as a rubric names them, `clients` are counted by name; `named` are the programs that a replay starts.
    """
    lines = []
    commands = {entry: tuple(shlex.split(entry)) for entry in programs}
    refused = {entry: command for entry, command in commands.items() if not named.has(command)}
    if refused:
        line = f"a replay does not start what cases have started, and they have no verdict there: {listed(refused)}"
        if nameable := [entry for entry, command in refused.items() if can_be_named(command)]:
            setting = named.with_entries(nameable)
            line += f"; for those that ask no model and may start there, have in rubric.yaml: {setting}"
        lines.append(line)
    if clients:
        unseen = "nothing of it is recorded, and a replay refuses them, except to hosts that rubric.yaml has ignored"
        lines.append(f"clients that cases asked by: {_counted(clients)}; {unseen}")
    return lines


def _counted(names: Mapping[str, int]) -> str:
    ordered = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    return listed(f"{name} ({count:,})" for name, count in ordered)


def title(header: Header, models: Sequence[str]) -> str:
    """Return what kind of run it was, when, over how much, and which `models` replied."""
    pr = f" for #{header.pr}" if header.pr else ""
    model = f", model{'s' if len(models) > 1 else ''} {listed(models)}" if models else ""
    part = f", shard {header.shard}" if header.shard else ""
    kind = _MODES.get(header.mode, header.mode) if header.of_cases else f"questions of a {header.source_kind}"
    return f"{kind}{pr}, {header.date}{_seed(header)}{model}{part}"


def limit(header: Header, card: Scorecard) -> str:
    """Return what the run says of all cases, and what it could not have seen."""
    verdicts = [result.trial for result in card.results if result.trial.outcome.is_verdict]
    if not header.of_cases:
        return f"{len(verdicts):,} of {plural(header.total, 'question')} came to a verdict."
    if card.unseen == 0:
        return f"{plural(header.total, 'case')}, and every one came to a verdict."
    if header.knows_change:
        found = sum(trial.reason in OF_CHANGE for trial in verdicts)
        told = f"The change leaves {header.unaffected:,} of {plural(header.total, 'case')} as they were"
        told += f", and {found:,} that it affects came to a verdict." if found else "."
        return told
    if card.unseen is None:
        return "No case came to a verdict: this run shows nothing."
    return (
        f"With {len(verdicts)} of {header.total} cases tested, a change that breaks up to {percent(card.unseen)} of"
        f" {'all cases' if header.whole else 'these cases'} could go unseen (95 %)."
    )


def move(result: CaseResult) -> str:
    """Return the case's way between boxes."""
    if result.after is None:
        return "no box"
    if result.before is None:
        return f"new → box {result.after}"
    return f"box {result.before}" if result.before == result.after else f"box {result.before} → {result.after}"


def freshness(header: Header, card: Scorecard) -> list[str]:
    """Return how old the oldest verdict is, how many cases are overdue, and which come to no verdict; a line each."""
    found = card.freshness(header)
    if found is None:
        return []
    lines = []
    if found.age is not None:
        least = "at least " if found.partial else ""
        age = f"{least}{plural(found.age, 'day')} old, of {found.case_id}" if found.age else "today"
        overdue = "" if found.partial and not found.overdue else f"; {least}{plural(found.overdue, 'case')} overdue"
        lines.append(f"oldest verdict: {age}{overdue}")
    if found.unanswered:
        lines.append(without_verdict(found.unanswered))
    return lines


def warm_up(found: WarmUp, folder: str) -> str:
    """Return how long a new set takes to be known, and the command that has it known sooner."""
    runs = "never ask them" if found.runs is None else f"ask them in {found.runs:,} runs"
    nights = "" if found.nights is None else f", nights alone in {plural(found.nights, 'night')}, until {found.until}"
    return (
        f"{found.unseen:,} of {found.total:,} cases have no verdict yet, and the schedule holds once they have: pull"
        f" requests alone {runs}{nights}; to warm up, run `pytest -p recall {folder} --recall-mode all --budget USD`"
        " by night, and then with --recall-resume until all are asked"
    )


def orphans(header: Header) -> str:
    """Return which rows have no case, or nothing."""
    if not header.orphans:
        return ""
    return (
        f"{plural(len(header.orphans), 'row')} of the state without a case in the collected files, skipped: "
        + listed(header.orphans)
    )


def moved(header: Header) -> str:
    """Return which cases have another id now, and how they keep their history, or nothing."""
    if not header.moved:
        return ""
    told = listed(f"{old} → {new}" for old, new in header.moved)
    return f"renamed (same content, {len(header.moved)}): {told}; `recall state move` keeps their history"


def swap(header: Header) -> str:
    """Return that the model changed, or nothing."""
    if not header.swapped:
        return ""
    done = "returned to box 1" if header.reset else "not moved; --reset-on-model-swap returns to box 1"
    return f"{plural(header.swapped, 'case')} last tested with another model than {header.model}: {done}."


def other_checkout(header: Header) -> str:
    """Return that the run was resumed in another state of the checkout, or nothing."""
    if not header.checkout_changed:
        return ""
    return "warning: the checkout had changed when this run was resumed, so that its verdicts may be of two versions"


def other_model(header: Header, card: Scorecard) -> str:
    """Return that other models replied than the one that was asked for, or nothing."""
    replied = joined(card.models)
    if header.model is None or replied is None or is_asked_for(header.model, replied):
        return ""
    return f"warning: the replies are of {replied}, and `--model` or `model_primary` names {header.model}"


def unproven(card: Scorecard) -> str:
    """Return which verdicts count for nothing because of who gave them, or nothing."""
    found = [result.trial for result in card.results if result.trial.unproven and not result.trial.is_doubted]
    fails = sum(trial.outcome is Outcome.FAILED for trial in found)
    told = [f"{plural(fails, 'failure')} not counted"] if fails else []
    if passes := len(found) - fails:
        told.append(f"{passes:,} {'pass moves' if passes == 1 else 'passes move'} no box")
    reasons = dict.fromkeys(weak_judge_text(judge) for trial in found for judge in trial.unproven)
    return f"{', '.join(told)}: {listed(reasons, 3)}" if told else ""


def doubted(card: Scorecard) -> str:
    """Return which fails are not confirmed by the likelihood ratio of their case, or nothing."""
    found = [result.trial for result in card.results if result.trial.is_doubted]
    told = (f"{trial.case_id}, {tries_text(trial)}" for trial in found)
    return f"not confirmed, so that no box moved ({len(found)}): {'; '.join(told)}" if found else ""


def flaky(card: Scorecard) -> str:
    """Return how often cases failed while they were sound, as far as that is known, or nothing."""
    told = [f"{case_id} {flake.failed:,} of {flake.tried:,}" for case_id, flake in card.flaky.items()]
    return f"flake, failed of tried ({len(told)}): {listed(told)}" if told else ""


def set_apart(one: SetApart) -> str:
    """Return which case is in quarantine, for how long, and who looks at it."""
    return f"{one.id} ({one.since} to {one.until or 'an unknown day'}, {one.owner or 'no owner'}, {one.lapses} lapses)"


def quarantine(header: Header) -> str:
    """Return which cases are set apart, chosen or not, or nothing."""
    if not header.quarantined:
        return ""
    apart = list(map(set_apart, header.quarantined))
    return f"in quarantine, so that a failure blocks nothing ({len(apart)}): {listed(apart)}"


def torn(card: Scorecard) -> str:
    """Return which cases were asked several times and neither always passed nor always failed, or nothing."""
    asked = [result.repeats for result in card.results if result.repeats and result.repeats.trials > 1]
    found = [f"{one.case_id} {one.passed} of {one.trials}" for one in asked if one.coin_flip]
    return f"passed some of several trials ({len(found)} of {len(asked)}): {listed(found)}" if found else ""


def tries(card: Scorecard) -> str:
    """Return how cases fare that are asked several times, or nothing."""
    told = [
        f"{plural(one.cases, 'case')} asked {one.k} times: pass@1 {one.pass_at_1:.2f},"
        f" pass@{one.k} {one.pass_at_k:.2f}, pass^{one.k} {one.pass_hat_k:.2f}"
        for one in card.by_tries
        if one.pass_at_k is not None and one.pass_hat_k is not None and one.pass_at_1 is not None
    ]
    return "; ".join(told)


def replays(header: Header, card: Scorecard) -> str:
    """Return how many verdicts are on answers that no model gave today; empty if none is.

    What that means for boxes is said of cases that have some, and of a run that moves them.
    """
    replayed, mixed = card.sources.get("replayed", 0), card.sources.get("mixed", 0)
    if not replayed and not mixed:
        return ""
    total = sum(card.sources.values())
    moved = ""
    if not on_no_schedule(result for result in card.results if result.trial.source == "replayed"):
        if card.unmoved:
            moved = ", which move no box"
        elif header.writes:
            moved = ", which moved boxes, since --recall-trust-replays is given"
    told = [f"{replayed} of {plural(total, 'verdict')} on replayed answers{moved}"] if replayed else []
    if mixed:
        told.append(f"{mixed} on answers that are partly replayed")
    if ran := programs_ran(card):
        told.append(f"programs ran in {len(ran):,} of them, which are no evidence: {listed(ran)}")
    return "; ".join(told) + "."


def ran_line(programs: Sequence[str]) -> str:
    """Return what to say of a replay in which programs ran; empty if none did."""
    return f"programs ran that are not recorded, so that it is no evidence: {listed(programs)}" if programs else ""


def programs_ran(card: Scorecard) -> dict[str, tuple[str, ...]]:
    """Return the cases with a verdict in whose replay programs ran, with these."""
    trials = (result.trial for result in card.results)
    return {trial.case_id: trial.programs for trial in trials if trial.programs and trial.outcome.is_verdict}


def on_no_schedule(results: Iterable[CaseResult]) -> bool:
    """Whether all are questions of datasets and personas, which have no box."""
    return all(result.trial.reason in UNSCHEDULED for result in results)


_OTHERS = (Outcome.PASSED.value, Outcome.SKIPPED.value, NOT_RUN)


def headline(header: Header, card: Scorecard) -> str:
    """Return how things stand, in one sentence: the first line, the counts, and how all cases stand."""
    return "; ".join(part for part in (first_line(header, card), further_counts(header, card)) if part)


def first_line(header: Header, card: Scorecard) -> str:
    """Return the verdict, and what it does not cover or rests on."""
    if _only_counted(header, card):
        return counts(card)
    first, left = verdict(header, card), not_evaluated_line(header, card)
    parts = (
        first,
        "" if _said_of(left) == first else left,
        own_recordings(header, card),
        outside(card),
        behind(header, card),
        altered(header),
        unknown_change(header, card),
        waived(header, card),
        varying(header),
    )
    return "; ".join(part for part in parts if part)


def _only_counted(header: Header, card: Scorecard) -> bool:
    """Whether a run is summed up by its counts: there is no case in it that could have regressed."""
    return not header.of_cases or (bool(card.results) and on_no_schedule(card.results))


def verdict(header: Header, card: Scorecard) -> str:
    """Return what a run says of a change, or of the cases where there is none, as the first words of each screen."""
    answered = [one for one in card.results if one.trial.outcome.is_verdict and one.trial.reason not in UNSCHEDULED]
    of_change = [one for one in answered if one.trial.reason in OF_CHANGE and not one.behind]
    of_change = of_change if header.knows_change else []
    regressed = card.failures().get(FailureKind.REGRESSION, [])
    broken = [one for one in regressed if one in of_change]
    if broken:
        affected = len(of_change) + len(card.not_evaluated(header))
        return f"This change breaks {len(broken):,} of {plural(affected, 'affected case')}"
    if regressed:
        return f"{len(regressed):,} of {plural(len(answered), 'case')} regressed"
    if is_incomplete(header, card) or (card.waiver is not None and not of_change):
        return _said_of(not_evaluated_line(header, card))
    if not answered:
        if header.knows_change and not header.picks:
            return f"No regression: this change affects none of {plural(header.total, 'case')}"
        if not header.picks and not card.results:
            return "No case was chosen"
        return "No verdict: no case was run" if not card.results else "No verdict: no case passed or failed"
    some, noun = (of_change, "affected case") if of_change else (answered, "case")
    passed = sum(one.trial.outcome is Outcome.PASSED for one in some)
    share = plural(passed, noun) if passed == len(some) else f"{passed:,} of {plural(len(some), noun)}"
    passing = f"{share} {'passes' if len(some) == 1 else 'pass'}"
    lacking = [
        one for one in card.results if one.trial.outcome is Outcome.ERROR and one.trial.reason not in UNSCHEDULED
    ]
    if not lacking:
        return f"No regression: {passing}"
    asked = plural(len(answered) + len(lacking), "case")
    return f"No verdict on {len(lacking):,} of {asked}, and no regression: {passing}"


def outside(card: Scorecard) -> str:
    """Return which cases fail that the change does not affect, or nothing."""
    found = card.failures().get(FailureKind.OUTSIDE, [])
    names = listed((one.trial.case_id for one in found), 5)
    fail = "fails" if len(found) == 1 else "fail"
    return f"{plural(len(found), 'case')} outside the change {fail}: {names}" if found else ""


def advice(header: Header, card: Scorecard) -> str:
    """Return what is to be done about a run; empty where nothing is."""
    found = card.failures().get(FailureKind.OUTSIDE, [])
    names = listed((one.trial.case_id for one in found), 5)
    told = f"look at the provider, its data and the network for {names}, which passed before with the same requests"
    return "; ".join(filter(None, (_of_change(header, card), told if found else "")))


def _of_change(header: Header, card: Scorecard) -> str:
    """Return what is to be done about all but the failures outside the change; empty where nothing is."""
    kinds = card.failures()
    regressed = kinds.get(FailureKind.REGRESSION, [])
    if regressed and header.pr:
        return (
            "correct the change and push again; if a new answer is right, correct what its case expects"
            " (`expected` and `judges` in its file)"
        )
    if regressed:
        return (
            "see below what is no longer as it was when these cases passed, and correct that; if a new answer is right,"
            " correct what its case expects"
        )
    if header.not_compared:
        return "correct that and run it again; until then it is not known what the change breaks"
    if header.of_cases and header.fork and card.unwaived(header):
        return "a maintainer reads the change and records these cases on a branch of this repository"
    if header.of_cases and (left := card.unwaived(header)):
        if set(header.unaffordable) & set(left):
            return (
                "run it again, which asks these cases within a budget of its own, or raise `budget` in the rubric of"
                " the target branch"
            )
        return "remove the cause and run it again: a case without a verdict has not passed"
    if card.waiver is not None:
        return "nothing; after the merge a run of the default branch asks the waived cases"
    if FailureKind.NEW in kinds:
        return "look at the new failures: correct the agent, or what these cases expect"
    if card.with_outcome(Outcome.ERROR):
        return "see below why cases came to no verdict, correct that and run it again"
    if card.not_run or header.lost:
        return "`partial` says why cases were not run: correct that and run it again"
    return ""


def _said_of(line: str) -> str:
    """Return a sentence as it stands at the beginning of a screen."""
    return line[:1].upper() + line[1:]


def waived(header: Header, card: Scorecard) -> str:
    """Return which cases changes were merged without the verdict of, and still have none after a run, or nothing."""
    found = None if header.pr is not None else card.freshness(header)
    by: dict[str, list[str]] = {}
    for case_id, one in () if found is None else sorted(found.unanswered.items()):
        if one.waived:
            by.setdefault(one.waived, []).append(case_id)
    return "; ".join(
        f"{plural(len(ids), 'case')} waived by {who} still without a verdict: {listed(ids, 5)}"
        for who, ids in sorted(by.items())
    )


def varying(header: Header) -> str:
    """Return how many cases send something new each time, or nothing."""
    if not header.varying:
        return ""
    of = f" of {header.varying_of:,} that were replayed twice" if header.varying_of else ""
    verb = "sends" if header.varying == 1 else "send"
    return f"{plural(header.varying, 'case')}{of} {verb} something new each time (`recall cassettes varying` says what)"


def own_recordings(header: Header, card: Scorecard) -> str:
    """Return how many verdicts on a change rest on recordings of the change itself, or nothing."""
    if not header.own_recordings:
        return ""
    verdicts = sum(one.trial.outcome.is_verdict for one in card.of_change())
    rest = "rests" if header.own_recordings == 1 else "rest"
    return (
        f"{header.own_recordings:,} of {plural(max(verdicts, header.own_recordings), 'verdict')} {rest} on recordings"
        " that CI did not make"
    )


def altered(header: Header) -> str:
    """Return how many cases of the base a change takes away, renames or lets pass by another measure, or nothing."""
    return f"this change alters {plural(len(header.altered), 'case')} of its base" if header.altered else ""


def behind(header: Header, card: Scorecard) -> str:
    """Return how many cases the target branch has not recorded, or nothing: what they asked there is not known.

    A case that makes no call has nothing to record.
    """
    count = len({one.trial.case_id for one in card.results if one.trial.calls} & set(header.behind))
    them = "it" if count == 1 else "them"
    return f"{plural(count, 'case')} behind on the target branch, which has no recording of {them}" if count else ""


def unknown_change(header: Header, card: Scorecard) -> str:
    """Return that it is not known what a pull request affects, or nothing."""
    if header.mode != "pr" or not header.scheduled or header.knows_change or not header.base or not header.pr:
        return ""
    return f"{len(header.picks):,} of {header.total:,} asked; what this change affects is not known"


def counts(card: Scorecard) -> str:
    """Return what the cases of a run came to; that no case regressed is said first, unless none could have."""
    parts = _counts(card)
    if FailureKind.REGRESSION not in card.failures() and any(
        result.trial.outcome.is_verdict and result.trial.reason not in UNSCHEDULED for result in card.results
    ):
        parts.insert(0, "no regression")
    return ", ".join(parts) or "nothing run"


def _counts(card: Scorecard) -> list[str]:
    parts = [counted(kind, len(results)) for kind, results in card.failures().items()]
    if errors := card.counts.get(Outcome.ERROR.value):
        parts.append(plural(errors, "error"))
    return parts + [f"{card.counts[name]:,} {name}" for name in _OTHERS if card.counts.get(name)]


def further_counts(header: Header, card: Scorecard) -> str:
    """Return the counts of a run, unless the first line has said all of them, and how all cases stand."""
    said = _only_counted(header, card) or card.counts.keys() <= {Outcome.PASSED.value}
    parts = ("" if said else ", ".join(_counts(card)), pass_rate(header, card))
    return "; ".join(part for part in parts if part)


def pass_rate(header: Header, card: Scorecard) -> str:
    """Return the share of all cases that passed at their last verdict, rounded down; empty where it is not known."""
    found = card.last_verdicts(header)
    if found is None or not found.cases:
        return ""
    if not found.known:
        return f"none of {_cases_of(header, found.cases)} has a verdict"
    share = 100 * found.passed // found.known
    rate = "under 1 %" if found.passed and not share else f"{share} %"
    if found.known < found.cases:
        return f"{rate} of the last verdicts pass, which {found.known:,} of {_cases_of(header, found.cases)} have"
    every = "all " if header.whole and found.cases > 1 else ""
    return f"{rate} of the last verdicts of {every}{_cases_of(header, found.cases)} pass"


def _cases_of(header: Header, count: int) -> str:
    """Return so many cases, and of which part of the set they are, if the run has not read all of it."""
    cases = plural(count, "case")
    if header.whole:
        return cases
    chosen = (("of scenario", header.scenarios), ("of dimension", header.dimensions), ("in", header.files))
    return f"the {cases} {', '.join(f'{of} {listed(names, 3)}' for of, names in chosen if names) or 'of this run'}"


def counted(kind: FailureKind, count: int) -> str:
    """Return how many cases failed of one kind."""
    if kind in (FailureKind.REGRESSION, FailureKind.NEW, FailureKind.KNOWN):
        return plural(count, kind.value)
    if kind is FailureKind.OUTSIDE:
        return f"{plural(count, 'failure')} outside the change"
    return f"{count:,} {kind.value}"


def no_default_branch(state: str) -> str:
    """Return what it means that nothing says which branch is the default one, and what to do; `state` is a file."""
    return (
        f"which branch is the default one is not known, so this run counts as one of it: {state} takes its verdicts,"
        " and nothing is compared with another branch; let git find out (`git remote set-head origin --auto`), or name"
        " it where there is no remote (`git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main`)"
    )
