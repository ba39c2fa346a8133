"""Batches in words: which calls went through batch APIs and which did not, and what is still there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_recall.render.sentences import listed, plural

_DIRECT = "direct: "


def batched(count: int) -> str:
    """Return the number of batches with their noun."""
    return f"{count:,} {'batch' if count == 1 else 'batches'}"


def told(tally: Mapping[str, int]) -> str:
    """Return how many calls went through batches, and how many directly and why."""
    answered, found, made = (tally.get(name, 0) for name in ("batched", "found", "batches"))
    through = f"batches: {plural(answered, 'call')} at half price"
    if found:
        through += f", {found:,} of them asked by an earlier run"
    through += f", {batched(made)} made"
    reasons = {name.removeprefix(_DIRECT): count for name, count in tally.items() if name.startswith(_DIRECT)}
    if not reasons:
        return through
    shown = "; ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
    return f"{through}; {plural(sum(reasons.values()), 'call')} directly: {shown}"


def left(batches: Sequence[str]) -> str:
    """Return which batches, of at least one, go on without the run, or hold answers that it has not used."""
    one = len(batches) == 1
    return (
        f"{batched(len(batches))} {'goes on, or has' if one else 'go on, or have'} answers that no case has used"
        f" ({listed(batches)}); the next run with --batch picks {'it' if one else 'them'} up"
    )
