"""Read the state: the rows of `recall.yaml`, and run files that are not folded into it; fold them, and rename cases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path

from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.git import committed
from pytest_recall.files.wording import plural
from pytest_recall.schedule.events import Events, fold_behind, fold_events, fold_unanswered
from pytest_recall.schedule.renames import continued
from pytest_recall.schedule.run_file import SUFFIX, not_held, parse_run_file, read_run_file, run_files
from pytest_recall.schedule.state_file import State, parse_state, read_state, write_state
from pytest_recall.trials.journal import read_journal

REMEMBERED_DAYS = 30
"""How long the state file names what is folded into it, should a run file come back with an old branch."""


def current(place: Place) -> State:
    """Return the state of a checkout, run files included. Raises RecallError."""
    # Most who read hold no lock, and a fold may go on meanwhile. It writes the state file first, and then deletes the
    # files that this names. So the files are listed first: one that is gone by then is in the rows that are read below.
    files = run_files(place.run_files)
    state = read_state(place.state, place.name(place.state))
    waiting = {name: files[name] for name in not_held(files, state.folded)}
    try:
        events = {name: read_run_file(path, place.name(path)) for name, path in waiting.items()}
    except RecallError:
        if all(path.exists() for path in waiting.values()):
            raise
        return current(place)  # A fold has come between the two: by now the state file has what it deleted.
    return with_events(state, events)


def with_events(state: State, events: Mapping[str, Events]) -> State:
    """Return the state after `events`, by name."""
    if not events:
        return state
    unanswered, behind = fold_unanswered(state.unanswered, events), fold_behind(state.behind, events)
    return state.with_rows(fold_events(state.rows, events), unanswered, behind)


def unfolded(place: Place, state: State) -> dict[str, Events]:
    """Return what run files hold that is not in the state file yet, by name. Raises RecallError for a damaged file."""
    files = run_files(place.run_files)
    return {name: read_run_file(files[name], place.name(files[name])) for name in not_held(files, state.folded)}


def check_dates(place: Place, state: State, latest: date) -> None:
    """Raise RecallError for a row of a day that is still to come: a failure until then would be taken for old news.

    So for a run file of such a day, and for a case that was last asked on one, which would rest for as long. `latest`
    is today, or the later day that a run is made for. One day more is a clock that is ahead.
    """
    rows, last, name = state.rows, latest + timedelta(days=1), place.name(place.state)
    for run, path in run_files(place.run_files).items():
        if (day := day_of(run)) is not None and day > last:
            raise RecallError(
                f"{place.name(path)}: is of {day}, which is after {latest}: until then every failure would be lost;"
                " correct the clock and run again, or delete the file to forget the run"
            )
    if asked := sorted(case_id for case_id, one in state.unanswered.items() if one.last_asked > last):
        raise RecallError(
            f"{name}: unanswered: `{asked[0]}` was last asked on {state.unanswered[asked[0]].last_asked}, which is"
            f" after {latest}: until then it would rest; restore the file from git, or correct `last_asked`"
        )
    ahead = sorted(case_id for case_id, row in rows.items() if row.last_tested > last)
    if ahead:
        more = f" ({plural(len(ahead), 'row')} are of such days)" if ahead[1:] else ""
        day = rows[ahead[0]].last_tested
        raise RecallError(
            f"{name}: `{ahead[0]}` was last tested on {day}, which is after {latest}{more}: until"
            " then every failure would be lost; restore the rows from git, or correct `last_tested` and `next_due`"
        )


def committed_state(place: Place, revision: str) -> State | None:
    """Return the state as it is in a commit, run files included; None where there is none. Raises RecallError."""
    files = committed(place.eval_dir, revision, ("recall.yaml", f"{place.run_files.name}/"), SUFFIX)
    if not files:
        return None
    name = f"{revision}:{place.name(place.state)}"
    text = files.pop("recall.yaml", None)
    if text is not None and not text.strip():
        raise RecallError(f"{name}: is empty, and no run writes an empty one; restore it from an earlier commit")
    state = parse_state(text or "", name)
    paths = {Path(name).stem: name for name in files if name.count("/") == 1}
    events = {
        name: parse_run_file(files[paths[name]], f"{revision}:{place.name(place.eval_dir)}/{paths[name]}")
        for name in not_held(paths, state.folded)
    }
    return with_events(state, events)


def fold(place: Place, state: State, events: Mapping[str, Events], shared: Collection[str] | None = None) -> State:
    """Fold `events`, by name, into the state file, whose lock the caller holds, and return what it holds then.

    The file names what it holds in the same write. A run file is deleted once the state that everyone has names it:
    `shared` are the names in that, None where there is no other than this one. Until then whoever takes another side
    of a conflict, and loses what was folded here, still has the file. Raises RecallError or OSError.
    """
    there = run_files(place.run_files)
    done = {*state.folded, *events}
    rows = fold_events(state.rows, events)
    text = state.updated(
        rows,
        folded=sorted(_remembered(done, set(there))),
        unanswered=fold_unanswered(state.unanswered, events),
        behind=fold_behind(state.behind, events),
    )
    if text != state.text:
        write_state(place.state, text)
    for name, path in there.items():
        if name in (done if shared is None else shared):
            path.unlink(missing_ok=True)
    return parse_state(text, place.name(place.state))


def _remembered(names: set[str], there: set[str]) -> set[str]:
    """Return the names that the state file has to keep: of run files that are there, and of the newest runs."""
    return {name for name in names if name in there or is_remembered(day_of(name), names)}


def is_remembered(day: date | None, names: Iterable[str]) -> bool:
    """Whether a state that has these `names` names the runs of a `day` that it holds."""
    if day is None:
        return True
    newest = max(filter(None, map(day_of, names)), default=day)
    return day >= newest - timedelta(days=REMEMBERED_DAYS)


def day_of(name: str) -> date | None:
    """Return the day with which the name of a run begins; None for a name that begins with none."""
    try:
        return date.fromisoformat(name[:10])
    except ValueError:
        return None


def move(place: Place, pairs: Iterable[tuple[str, str]], *, write: bool) -> None:
    """Have the cases go on under their new ids, as (old, new), in the state, whose lock the caller holds.

    Raises RecallError, and then has changed nothing, for an id without a row, or one that run files have a verdict on.
    """
    state, ids = _state(place), dict(pairs)
    _check(place, state, ids)
    rows = {new: continued(state.rows[old], state.rows.get(new)) for old, new in ids.items()}
    _write(place, state, state.updated(rows, removed=ids.keys()), write)


def forget(place: Place, ids: Iterable[str], *, write: bool) -> None:
    """Delete rows from the state, whose lock the caller holds. Raises RecallError as `move` does."""
    state, gone = _state(place), set(ids)
    _check(place, state, gone)
    waiting = {case_id: one for case_id, one in state.unanswered.items() if case_id not in gone}
    behind = {case_id: request for case_id, request in state.behind.items() if case_id not in gone}
    _write(place, state, state.updated({}, removed=gone, unanswered=waiting, behind=behind), write)


def told_by_newest_run(place: Place) -> list[tuple[str, str]]:
    """Return the ids that the newest run has found to be new ones of cases with a row, as (old, new)."""
    runs = place.artifacts.runs()
    return list(read_journal(runs[-1]).header.moved) if runs else []


def _state(place: Place) -> State:
    return read_state(place.state, place.name(place.state))


def _check(place: Place, state: State, ids: Iterable[str]) -> None:
    name = place.name(place.state)
    waiting = unfolded(place, state)
    rows = with_events(state, waiting).rows
    if lost := sorted(set(ids) - rows.keys()):
        raise RecallError(*(f"{name}: no row of `{case_id}`{nearest(case_id, rows)}" for case_id in lost))
    told = {case_id for events in waiting.values() for case_id in events.about}
    if found := sorted(told & set(ids)):
        raise RecallError(
            f"{place.name(place.run_files)}: a run file has a verdict on `{found[0]}` that {name} lacks; once"
            " the branch is merged, run `recall state apply` on the default branch, and then this"
        )


def _write(place: Place, state: State, text: str, write: bool) -> None:
    if write and text != state.text:
        write_state(place.state, text)
