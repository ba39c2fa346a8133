"""Keep the texts of a question's evidence with its trial, so that what a memory has not found can be shown."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recall.cases.memory_part import Unit
from pytest_recall.files.wording import cut
from pytest_recall.trials.evidence import names_of
from pytest_recall.trials.texts_file import EVIDENCE
from pytest_recall.trials.trial import Trial, TrialStep

_LONGEST = 20_000
"""Characters that are kept of each: a session may be long."""


def evidence_step(units: Sequence[Unit], evidence: Sequence[str]) -> TrialStep:
    """Return the step that has the texts of `evidence` among `units`; where that is a session, of all that is in it."""
    names = names_of(units, evidence)
    texts: dict[str, list[str]] = {id: [] for id in evidence}
    for unit in units:
        if (name := names[unit.id]) in texts:
            texts[name].append(unit.content)
    return TrialStep(
        EVIDENCE, {"texts": [{"id": id, "text": cut("\n".join(one), _LONGEST)} for id, one in texts.items()]}
    )


def evidence_texts(trial: Trial) -> dict[str, str]:
    """Return the texts of the evidence by id; nothing from the journal of an earlier version."""
    kept = [one for step in trial.steps if step.kind == EVIDENCE for one in step.data["texts"]]
    return {str(one["id"]): str(one["text"]) for one in kept}
