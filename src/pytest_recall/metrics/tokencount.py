"""Token counts: an estimate for texts that no tokenizer has counted."""

from __future__ import annotations

from collections.abc import Iterable

CHARACTERS = 4
"""Characters of English text to a token, as a rule of thumb; code and other scripts have fewer."""


def estimated_tokens(texts: Iterable[str]) -> int:
    """Return about how many tokens `texts` have together: characters / 4, rounded up.

    An estimate, off by a factor of two and more for other texts than English prose; say so
    where it is shown, and use a count where there is one.
    """
    return -(-sum(map(len, texts)) // CHARACTERS)
