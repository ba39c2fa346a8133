"""Template questions: a writer who asks no model and makes questions of the days' own facts."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_recall.core.horizon.layout import sessions_in
from pytest_recall.core.horizon.proposals import Scene, boundary, chosen
from pytest_recall.core.horizon.salvage import Salvaged
from pytest_recall.core.horizon.sentences import Told
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.passes.questions import Request


@dataclass
class TemplateWriter:
    """Makes questions by templates; the same days, questions and seed give the same ones."""

    corpus: Corpus
    seed: str = "0"

    @property
    def name(self) -> str:
        """How it is selected."""
        return f"offline:{self.seed}"

    def propose(self, request: Request, problem: str) -> Salvaged:
        """Return proposals; there are fewer where the days have nothing for more."""
        calendar, session = self.corpus.calendar, request.session
        days = [
            Told(day, calendar.date_of(day), {session.id: text} if session else sessions_in(text))
            for day, text in request.texts.items()
        ]
        scene = Scene(days, self.corpus.story, self.corpus.persona)
        if session is None:
            return Salvaged(chosen(scene, request.pairs, request.counts, request.asked, self.seed), True)
        made = boundary(scene, session.id, request.pairs, request.control, request.asked, self.seed)
        return Salvaged(made, True)
