"""Measure whether a system says that it does not know where it cannot know, and only there."""

from __future__ import annotations

LOCOMO_REFUSALS = ("no information available", "not mentioned")
"""What LoCoMo's evaluation takes for a refusal; Maharana et al. 2024, `task_eval/evaluation.py`."""
REFUSALS = (
    *LOCOMO_REFUSALS,
    "no information",
    "not enough information",
    "insufficient information",
    "don't know",
    "do not know",
    "cannot answer",
    "can't answer",
    "never mentioned",
    "did not mention",
    "didn't mention",
    "cannot be determined",
    "unanswerable",
)
"""Phrases by which an answer abstains elsewhere. They are ours: LongMemEval asks a model whether it did."""

WITHHOLDING = (
    "can't share",
    "cannot share",
    "can't discuss",
    "cannot discuss",
    "can't disclose",
    "cannot disclose",
    "can't tell you",
    "cannot tell you",
    "can't talk about",
    "cannot talk about",
    "not able to share",
    "not able to discuss",
    "not able to disclose",
    "unable to share",
    "unable to discuss",
    "unable to disclose",
    "not at liberty",
    "confidential",
    "not something i can",
    "prefer not to",
    "won't share",
    "will not share",
    "decline to",
)
"""Phrases by which an answer keeps something back that it may know. They are ours."""


def refuses(answer: str) -> bool:
    """Whether the answer says that it will not tell, by phrases; in other words it is not noticed."""
    said = answer.lower().replace("’", "'")
    return any(phrase in said for phrase in WITHHOLDING)


def abstains(answer: str, dataset: str = "") -> bool:
    """Whether the answer says that it does not know, by phrases; for `locomo` those of its evaluation alone."""
    said = answer.lower().replace("’", "'")
    return any(phrase in said for phrase in (LOCOMO_REFUSALS if dataset == "locomo" else REFUSALS))
