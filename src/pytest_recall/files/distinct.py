"""Give runs in different folders names that differ."""

from __future__ import annotations

from collections.abc import Sequence


def distinct_names(names: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Return the names; where some are equal, the shortest ends of all paths that differ in their place.

    Paths are absolute, with `/`. Equal ones keep an equal name.
    """
    if len(set(names)) == len(names):
        return list(names)
    parts = [path.strip("/").split("/") for path in paths]
    ends = list(names)
    for length in range(1, max(map(len, parts)) + 1):
        ends = ["/".join(one[-length:]) for one in parts]
        if len(set(ends)) == len(set(paths)):
            break
    return ends
