"""Joining shards: whatever the partition and the order, the run that was cut into them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.runs.resume import Shard, extended, fingerprint, join
from pytest_recall.trials.record import LetThrough, LostShard, Record
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import ERROR, FAILED, calls, case_ids, header, outcomes, trial, unhurried

CASES = tuple(f"c{number}" for number in range(10))
results = st.dictionaries(case_ids, outcomes, max_size=25)


def run(trials: Sequence[Trial], **more: Any) -> Record:
    """Return a run that ended over the cases of `trials`."""
    picks = [(one.case_id, "due") for one in trials]
    return Record(header(*picks, **more), tuple(trials), int(any(one.outcome in (FAILED, ERROR) for one in trials)))


def cut(whole: Record, count: int) -> list[Record]:
    """Return the shards of a run."""
    made = []
    for number in range(1, count + 1):
        shard = Shard(number, count)
        own = shard.part(case_id for case_id, _ in whole.header.picks)
        trials = tuple(one for one in whole.trials if one.case_id in own)
        part = whole.header._replace(
            run=f"2026-03-10T12000{number % 10}",
            shard=str(shard),
            slice=whole.header.picks,
            picks=tuple(pick for pick in whole.header.picks if pick[0] in own),
            fingerprint=fingerprint(whole.header.picks),
        )
        code = int(any(one.outcome in (FAILED, ERROR) for one in trials))
        made.append(Record(part, trials, code, whole.calls if number == 1 else (), let_through=LetThrough({"db": 1})))
    return made


WHOLE = run([trial(case_id, *((FAILED,) if case_id == "c3" else ())) for case_id in CASES])


def known(trials: Sequence[Trial]) -> list[str]:
    """Return trials as text, sorted."""
    return sorted(map(repr, trials))


@unhurried
@given(results, st.integers(1, 6), st.lists(calls, max_size=2), st.randoms())
def test_any_partition_in_any_order_is_the_run(given: Any, count: int, made: list[Any], random: Random) -> None:
    whole = run([trial(case_id, outcome) for case_id, outcome in given.items()])._replace(calls=tuple(made))
    shards = cut(whole, count)
    random.shuffle(shards)
    twice = [*shards, *random.sample(shards, random.randint(0, count))]
    joined = join(twice).record
    assert known(joined.trials) == known(whole.trials)
    assert joined.calls == whole.calls
    assert joined.let_through.calls == {"db": count}
    assert joined.exit_code == whole.exit_code
    assert len(joined.header.merged) == count
    own: dict[str, Any] = {"run": "", "started": "", "merged": (), "fingerprint": ""}
    assert joined.header._replace(**own) == whole.header._replace(**own)
    assert joined == join(shards).record


@unhurried
@given(results, st.integers(2, 6), st.randoms())
def test_what_is_lost_is_not_run_and_named(given: Any, count: int, random: Random) -> None:
    shards = cut(run([trial(case_id) for case_id in given]), count)
    gone = random.randrange(count)
    joined = join(shards[:gone] + shards[gone + 1 :]).record
    own = shards[gone].header.picks
    assert {one.case_id for one in joined.trials} == given.keys() - dict(own).keys()
    assert joined.header.picks == shards[0].header.slice
    assert len(joined.header.lost) == bool(own)
    assert joined.exit_code == (2 if own else 0)


def test_a_missing_shard_is_one_sentence() -> None:
    joined = join([cut(WHOLE, 4)[place] for place in (0, 1, 3)]).record
    assert joined.header.lost == (LostShard("3/4", "missing", 2),)
    assert joined.exit_code == 2


def test_a_shard_that_was_cut_off_counts_as_far_as_it_got() -> None:
    first, second, third = cut(WHOLE, 3)
    joined = join([first, second._replace(trials=second.trials[:2], exit_code=None), third]).record
    assert joined.header.lost == (LostShard("2/3", "cut off", 1),)
    assert len(joined.trials) == 9


def test_a_shard_that_ended_early_says_why() -> None:
    first, second = cut(WHOLE, 2)
    stop = RunStop("budget", usd=1.0, kind="spent")
    early = second._replace(trials=second.trials[:2], exit_code=2, stop=stop)
    assert join([first, early]).record.header.lost == (LostShard("2/2", "early", 3, stop),)


def test_of_a_shard_that_was_run_again_the_later_one_counts() -> None:
    first, second = cut(WHOLE, 2)
    failed = tuple(one._replace(outcome=FAILED) for one in first.trials)
    later = first._replace(
        header=first.header._replace(run="later", started="2026-03-10T13:00:00+00:00"), trials=failed, exit_code=1
    )
    joined = join([later, second, first])
    assert joined == join([first, second, later])
    assert [one.outcome for one in joined.record.trials[:5]] == [FAILED] * 5
    assert joined.notes == (
        "shard 1 of 2 was run again: later counts as the later one, and 2026-03-10T120001 does not",
    )


def test_of_copies_of_a_journal_the_longest_counts_once() -> None:
    first, second = cut(WHOLE, 2)
    short = first._replace(trials=first.trials[:1], exit_code=None)
    joined = join([first, short, second])
    assert known(joined.record.trials) == known(WHOLE.trials)
    assert joined.notes == ("shard 1 of 2 was given 2 times, and counts once",)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"date": "2026-03-11"}, "date 2026-03-10 and 2026-03-11"),
        ({"seed": "8"}, "seed 7 and 8"),
        ({"state": "f" * 64}, "state  and ffffffffffff…"),
        ({"model": "m2"}, "model None and m2"),
        ({"fingerprint": "beefbeefbeef"}, "slice "),
        ({"shard": "2/3"}, "(shard 2/3) are of different runs"),
        ({"settings": {"rubric": {"confirm": "2of3"}}}, "differ in rubric.confirm"),
    ],
)
def test_shards_of_different_runs_are_refused_in_one_sentence(other: dict[str, Any], told: str) -> None:
    first, second = cut(WHOLE, 2)
    with pytest.raises(RecallError) as refused:
        join([second._replace(header=second.header._replace(**other)), first])
    (sentence,) = refused.value.messages
    assert "2026-03-10T120001 (shard 1/2) and 2026-03-10T120002 (shard 2/" in sentence
    assert told in sentence


def test_what_is_no_shard_is_refused() -> None:
    with pytest.raises(RecallError, match="is not a shard of a run"):
        join([WHOLE])
    with pytest.raises(RecallError, match="no shard; give the folders"):
        join([])


def test_a_run_that_is_joined_again_keeps_what_it_had_first() -> None:
    first, second, third = cut(WHOLE, 3)
    before = join([second]).record
    joined = extended(before, join([first, second, third]))
    assert joined.trials[: len(second.trials)] == second.trials
    assert known(joined.trials) == known(WHOLE.trials)
    assert joined.header.lost == ()


def test_a_run_that_is_joined_again_from_fewer_shards_is_refused() -> None:
    first, second = cut(WHOLE, 2)
    with pytest.raises(RecallError, match="already joined from shard 2/2 as well"):
        extended(join([first, second]).record, join([first]))
