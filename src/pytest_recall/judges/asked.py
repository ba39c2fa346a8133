"""Judges that ask a model: `rubric`, `memory`, `pairwise` and `paper` as what a case calls."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

from pytest_recall.core.case import Case
from pytest_recall.core.criteria import JudgeKind, Strictness
from pytest_recall.core.errors import RecallError
from pytest_recall.core.judgement import Preflight
from pytest_recall.core.rubric import Rubric
from pytest_recall.core.trial import Answer, Verdict
from pytest_recall.judges import memory, pairwise, paper, preflight, rubric
from pytest_recall.judges.panel import Panel
from pytest_recall.judges.seat import Inquiry

INQUIRIES: Mapping[str, preflight.Inquire] = {
    "rubric": rubric.inquiry,
    "memory": memory.inquiry,
    "pairwise": pairwise.inquiry,
    "paper": paper.inquiry,
}
GIVEN = frozenset({"known", "reads"})
"""Arguments that come from the rubric, and from no case."""


def prepared(kind: str, settings: Rubric) -> preflight.Inquire:
    """Return what makes the question of a kind of judge, with what the rubric gives it."""
    given = {"known": settings.criteria, "reads": settings.judge_reads}
    takes = inspect.signature(INQUIRIES[kind]).parameters
    return partial(INQUIRIES[kind], **{name: value for name, value in given.items() if name in takes})


def signature(kind: str) -> inspect.Signature:
    """Return what a case can give a kind of judge."""
    takes = inspect.signature(INQUIRIES[kind]).parameters
    return inspect.Signature([p for name, p in takes.items() if name not in GIVEN])


class ModelJudge:
    """A judge `(answer, case, **arguments)` over a panel of models."""

    def __init__(self, kind: JudgeKind, panel: Panel, settings: Rubric, strictness: Strictness) -> None:
        self.kind = kind
        self._panel = panel
        self._settings = settings
        self._strictness = strictness
        self._flown: dict[str, Preflight] | None = None
        self._problem = ""
        self._lock = Lock()  # Cases that run at once share their judges.
        self._inquire = prepared(kind, settings)
        self.__signature__ = signature(kind)

    def __call__(self, answer: Answer, case: Case, **arguments: Any) -> Verdict:
        """Return the panel's verdict. Raises RecallError where there is none, ValueError for a wrong argument."""
        inquiry: Inquiry = self._inquire(answer, case, **arguments)
        verdict = self._panel.decide(inquiry, case.id, self.kind)
        with self._lock:
            if self._flown and verdict.judgement is not None:
                # It is written down once, with the first verdict that there is.
                verdict = replace(verdict, judgement=verdict.judgement._replace(preflights=self._flown))
                self._flown = {}
        return verdict

    def ready(self) -> None:
        """Put the known answers to each model, once. Raises RecallError if one of them must not judge."""
        with self._lock:
            if self._flown is None:
                self._flown = {} if self._strictness == "off" else self._fly()
        if self._problem:
            raise RecallError(self._problem)

    def _fly(self) -> dict[str, Preflight]:
        """Return how each model did, up to the one that ends the run; `_problem` says why."""
        settings, panel = self._settings, self._panel
        threshold = settings.thresholds.get(self.kind)
        compares = threshold is not None and "threshold" in inspect.signature(INQUIRIES[self.kind]).parameters
        inquire = partial(self._inquire, threshold=threshold) if compares else self._inquire
        known = preflight.known_answers(self.kind, settings.preflight_cases)
        flown: dict[str, Preflight] = {}
        for model in (*panel.judges, *([] if panel.appellate is None else [panel.appellate])):
            flown[model.name], problem, _ = preflight.fly(
                model, inquire, known, attempts=panel.attempts, allowed=settings.preflight_allowed
            )
            if problem and self._strictness == "stop":
                self._problem = problem
                break
        return flown
