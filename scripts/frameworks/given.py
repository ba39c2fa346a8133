"""What each agent is given: the address of the model and how it gets it, its prompt, and the one tool."""

from __future__ import annotations

import os

URL = os.environ["UPSTREAM"]
SETUP = os.environ.get("SETUP", "")
"""How an agent gets the address of the model: by variables if empty, as an `argument`, or in a `client`."""
PROMPT = os.environ.get("PROMPT", "Answer with the page that the tool names.")


def page_of(term: str) -> str:
    """DESCRIPTION

    Args:
        term: The term.
    """
    return f"{os.environ.get('RESULT', 'Found on')} page 7 of {term}"


page_of.__doc__ = str(page_of.__doc__).replace(
    "DESCRIPTION", os.environ.get("DESCRIPTION", "Return the page of the index that has a term.")
)
