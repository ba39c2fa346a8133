"""Statistics: what a number of cases can and cannot show."""

from __future__ import annotations


def unseen_share(tested: int, total: int, confidence: float = 0.95) -> float | None:
    """Return the largest share of cases, 0..1, that could be broken with none of them tested.

    A change that breaks a share s of all cases leaves n tested ones untouched with
    probability (1-s)^n; the share returned is the one at which that falls to
    1-`confidence`. It takes the tested cases for a random draw. 0.0 if all were tested;
    None if none was.
    """
    if tested <= 0:
        return None
    if tested >= total:
        return 0.0
    return float(1 - (1 - confidence) ** (1 / tested))
