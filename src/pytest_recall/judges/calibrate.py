"""Put labelled answers to the judging models of a run, as a run does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_fields import JudgeKind
from pytest_recall.files import clock
from pytest_recall.files.errors import CaseError, MissError, RecallError
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.judges.calibration import Agreement, JudgeKey, Opinion, Role, agreement
from pytest_recall.judges.calibration_file import LabelLine
from pytest_recall.judges.judge_identity import with_appeals
from pytest_recall.judges.model_judges import ModelJudge
from pytest_recall.judges.panel import AUDITED, Panel
from pytest_recall.models.model import Model, ModelError, Reply
from pytest_recall.models.model_notes import ModelNotes
from pytest_recall.models.prices import call_of_reply
from pytest_recall.models.reply_cache import Keeper, Rehearsed, Store
from pytest_recall.replay.budget import SpentBudget
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.execution import run_case
from pytest_recall.trials.trial import Verdict


class Contestant(NamedTuple):
    """Judges that are compared with the labels, under the name that a verdict of theirs would carry."""

    name: str
    panel: Panel
    role: Role


class Calibrated(NamedTuple):
    """How the judges did, and the calls that were made for it."""

    agreements: tuple[Agreement, ...]
    calls: tuple[Call, ...]
    """Without what was kept."""
    left: tuple[str, ...] = ()
    """The ids of answers that were not judged, since no further call was to begin."""
    threshold: float | None = None
    """That of the rubric for this judge; None without one."""

    def rows(self, date: str, labels: str) -> list[dict[str, Any]]:
        """Return the rows for eval/calibration.yaml: of each judge whose kappa is defined, and of all with the appeal.

        `date` is ISO 8601, `labels` the hash of the labels' file.
        """
        return [
            {
                **one.key._asdict(),
                "kappa": round(one.kappa.value, 6),
                **({} if one.kappa.interval is None else {"interval": [round(end, 6) for end in one.kappa.interval]}),
                "n": one.n,
                "labelled_passes": one.false_fails.of,
                "false_passes": one.false_passes.times,
                "false_fails": one.false_fails.times,
                "unjudged": len(one.unjudged),
                **({} if self.threshold is None else {"threshold": self.threshold}),
                "date": date,
                "labels": labels,
            }
            for one in self.agreements
            if one.kappa is not None
        ]


class CalibrationNeed(NamedTuple):
    """How many calls are to be made at least, and for how many the reply is kept."""

    calls: int
    kept: int


def contestants(panel: Panel) -> list[Contestant]:
    """Return who is compared with the labels: each judge alone, all of them, the appellate, and the whole.

    The appellate judge is put all answers, and not only those that an appeal would bring to it:
    among those alone it would look other than it is.
    """
    alone = [replace(panel, judges=(judge,), appellate=None) for judge in panel.judges]
    found = [Contestant(one.name, one, "stands" if len(alone) == 1 else "votes") for one in alone]
    if len(alone) > 1:
        found.append(Contestant(panel.name, replace(panel, appellate=None), "stands"))
    if panel.appellate is not None:
        above = replace(panel, judges=(panel.appellate,), appellate=None)
        found.append(Contestant(above.name, above, "stands"))
        found.append(Contestant(with_appeals(panel.name, above.name), panel, "whole"))
    return found


class LabelledSet:
    """Labelled answers and who is to judge them. `name` is how messages call the labels' file.

    `notes` are on the judges that are code of the user, None where no reply is kept.

    Raises RecallError where no label is for this judge, or one has arguments that it does not take.
    """

    def __init__(
        self,
        labels: Sequence[LabelLine],
        name: str,
        kind: JudgeKind,
        panel: Panel,
        rubric: Settings,
        notes: ModelNotes | None = None,
    ) -> None:
        self._notes = notes
        self.labels = [one for one in labels if one.label.judge in (None, kind)]
        self.left_out = len(labels) - len(self.labels)
        self._kind: JudgeKind = kind
        self._contestants = contestants(panel)
        self._primary = panel.name
        self._rubric = rubric
        self._versions: dict[tuple[str, str], str] = {}
        if not self.labels:
            raise RecallError(f"{name}: no label is for the judge `{kind}`; give another --kind")
        problems = [f"{name}:{one.line}: {problem}" for one in self.labels if (problem := self._unfit(one))]
        if problems:
            raise RecallError(*problems[:MAX_PROBLEMS])

    def _unfit(self, written: LabelLine) -> str:
        """Return what is wrong with the arguments of a label; on the way, learn the versions of its judges."""
        for contestant in self._contestants:
            try:
                # A judge that is rehearsed without kept replies comes to a verdict, unless the label is at fault.
                verdict = self._judged(written, _with(contestant.panel, lambda model: Rehearsed(model.name, None, {})))
            except CaseError as error:
                return f"{error.__cause__ or error}"
            self._versions.setdefault((written.label.id, contestant.name), verdict.version)
        return ""

    def need(self, store: Store) -> CalibrationNeed:
        """Return what `judge` would ask, if each reply could be used."""
        known: dict[str, bool] = {}
        for written in self.labels:
            for contestant in self._contestants:
                if contestant.role != "whole":  # Its calls are those of the others.
                    panel = _with(contestant.panel, lambda model: self._rehearsed(model, store, known))
                    self._opinion(written, panel)
        return CalibrationNeed(sum(not kept for kept in known.values()), sum(known.values()))

    def judge(
        self, store: Store, progress: Callable[[int, int], None], closed: Callable[[], SpentBudget | None]
    ) -> Calibrated:
        """Put every answer to every contestant; `progress` is told how many answers are done, of how many.

        Once `closed()` says why not, no call begins, and what it would take one to judge is left; what
        is kept is judged all the same. Raises OSError where a reply cannot be kept.
        """
        calls: list[Call] = []
        left: list[str] = []
        opinions: dict[tuple[str, str], list[Opinion]] = {}
        for done, written in enumerate(self.labels, start=1):
            failures: dict[str, ModelError] = {}

            def keeper(model: Model, failures: dict[str, ModelError] = failures) -> Model:
                return Keeper(
                    model,
                    store,
                    failures,
                    lambda asked, reply: calls.append(self._call(asked, reply)),
                    identity=self._identity(model),
                    note=tuple if self._notes is None else self._notes.write,
                )

            try:
                said = [self._opinion(written, _with(one.panel, keeper)) for one in self._contestants]
            except MissError:
                if closed() is None:
                    raise
                left.append(written.label.id)
                continue
            for contestant, opinion in zip(self._contestants, said, strict=True):
                # The whole goes by the version of its primary judges.
                own = self._primary if contestant.role == "whole" else contestant.name
                opinions.setdefault((contestant.name, self._versions[written.label.id, own]), []).append(opinion)
            progress(done, len(self.labels))
        found = (
            agreement(JudgeKey(self._kind, name, version), opinions[name, version], role=contestant.role)
            for contestant in self._contestants
            for name, version in sorted(opinions)
            if name == contestant.name
        )
        return Calibrated(
            tuple(found),
            tuple(calls),
            tuple(left),
            threshold=self._rubric.thresholds.get(self._kind),
        )

    def _rehearsed(self, model: Model, store: Store, known: dict[str, bool]) -> Model:
        return Rehearsed(model.name, store, known, identity=self._identity(model))

    def _identity(self, model: Model) -> str:
        return "" if self._notes is None else self._notes.identity("judge", model.name)

    def _opinion(self, written: LabelLine, panel: Panel) -> Opinion:
        label = written.label
        try:
            verdict = self._judged(written, panel)
        except CaseError as error:
            return Opinion(label.id, label.label, None, str(error).removeprefix(f"judge {self._kind}: "))
        return Opinion(label.id, label.label, verdict.passed, verdict.reason, verdict.score, label.score)

    def _judged(self, written: LabelLine, panel: Panel) -> Verdict:
        label = written.label
        trial = run_case(
            label.case(self._kind),
            lambda _: label.given(),
            # The labels try the judge; the known answers of a preflight would be in their way.
            {self._kind: ModelJudge(self._kind, panel, self._rubric, "off")},
            thresholds=self._rubric.thresholds,
            wait=_nothing_to_wait_for,
            clock=clock.perf_counter,
        )
        return trial.verdicts[0]

    def _call(self, model: Model, reply: Reply) -> Call:
        return call_of_reply(model, reply, "live", self._rubric.prices)


def _with(panel: Panel, wrapped: Callable[[Model], Model]) -> Panel:
    return replace(
        panel,
        judges=tuple(map(wrapped, panel.judges)),
        appellate=None if panel.appellate is None else wrapped(panel.appellate),
    )


def _nothing_to_wait_for(awaitable: Any) -> Any:
    raise AssertionError(f"{awaitable!r} is neither an agent's nor a judge's")


def panel_of(
    rubric: Settings,
    judges: tuple[str, ...],
    appellate: str | None,
    name: str,
    seed: str,
    model_of: Callable[[str], Model],
) -> Panel:
    """Return the panel of these selectors, or of the rubric's, which messages call `name`.

    `model_of` finds the model of a selector. Raises RecallError if no judge is named, or one is not found.
    """
    selectors = tuple(judges or rubric.judge.model)
    appellate = appellate or rubric.judge.appellate
    if not selectors:
        raise RecallError(
            f"asks a model, and none is named; give --judge SELECTOR, or write `judge: {{model: SELECTOR}}` in {name}"
        )
    _check(selectors, appellate)
    return Panel(
        judges=tuple(map(model_of, selectors)),
        appellate=None if appellate is None else model_of(appellate),
        audit=AUDITED,
        seed=seed,
    )


def _check(selectors: tuple[str, ...], appellate: str | None) -> None:
    """Refuse what would have no effect, or not the one that is meant."""
    twice = next((selector for selector in selectors if selectors.count(selector) > 1), None)
    if twice is not None:
        raise RecallError(f"the judge `{twice}` is named twice; name each model once")
    if appellate in selectors:
        raise RecallError(f"the appellate judge `{appellate}` is a primary one as well; name another model")
