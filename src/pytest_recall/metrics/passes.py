"""Passes of k: what several trials of one case say of a user who tries k times, or of one who needs all k."""

from __future__ import annotations

from math import comb


def pass_at_k(n: int, passed: int, k: int) -> float | None:
    """Return the probability that at least one of `k` trials passes, from `passed` of `n`; None if n < k.

    The unbiased estimator 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, arXiv:2107.03374, eq. 1).
    Raises ValueError for counts that cannot be.
    """
    _check(n, passed, k)
    return None if n < k else (comb(n, k) - comb(n - passed, k)) / comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float | None:
    """Return the probability that all of `k` trials pass, from `passed` of `n`: pass^k; None if n < k.

    The unbiased estimator C(c, k) / C(n, k) (Yao et al. 2024, tau-bench, arXiv:2406.12045,
    section 4). Raises ValueError for counts that cannot be.
    """
    _check(n, passed, k)
    return None if n < k else comb(passed, k) / comb(n, k)


def _check(n: int, passed: int, k: int) -> None:
    if not (0 <= passed <= n and k >= 1):
        raise ValueError(f"{passed} of {n} trials passed, k is {k}: needs 0 <= passed <= n and k >= 1")
