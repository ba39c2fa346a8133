"""What the tests of model judges ask: a rubric, and seats for scripted models."""

from __future__ import annotations

from typing import Any

from pytest_recall.cases.settings_fields import Criterion
from pytest_recall.judges import model_judges
from pytest_recall.judges.judge_call import Inquiry, Seat
from pytest_recall.models.model import ModelError, Reply
from pytest_recall.trials.trial import Answer, Vote
from tests.helpers.samples import case
from tests.helpers.scripted import Scripted, scores

YES, NO = scores(requirement=1), scores(requirement=0)
KNOWN = {
    "tone": Criterion(question="Is it kind?", threshold=2),
    "grounded": Criterion(question="Does it stay with the facts?", anchors={0: "no", 1: "yes"}, weight=3),
}


def asked(text: str = "One pound.", **given: Any) -> model_judges.RubricInquiry:
    """Return what is asked about an answer; a requirement of the case unless something else is given."""
    return model_judges.rubric_inquiry(Answer(text=text), case(), KNOWN, **({"expected": "is true"} | given))


def heard(inquiry: Inquiry, *replies: str | Reply | ModelError, **more: Any) -> tuple[Vote, Scripted]:
    """Return the vote of a model with these replies, and the model."""
    model = Scripted(*replies)
    seat = Seat(model=model, **more)
    return seat.signed(inquiry.hear(seat)), model
