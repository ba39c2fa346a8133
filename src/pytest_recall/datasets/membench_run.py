"""Run a memory over the questions of a dataset without pytest, and keep a journal of its trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cases.case import Case
from pytest_recall.datasets.asking import AtOnce, OpenStore, open_questions
from pytest_recall.datasets.cases import DatasetCases, QuestionEntry, metrics_of
from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.evidence_texts import evidence_step
from pytest_recall.datasets.file import digest
from pytest_recall.datasets.floors import floors_of
from pytest_recall.datasets.membench import (
    BESIDE,
    READER,
    RETRIEVED,
    Arguments,
    EarlierAnswers,
    MembenchSummary,
    arguments_of_settings,
    differences,
    fold,
    has_failed,
    is_open,
    kept,
    plain,
)
from pytest_recall.datasets.questions import JUDGE
from pytest_recall.datasets.reader_floors import NO_EVIDENCE, ReaderFloor, is_unknown
from pytest_recall.datasets.reading import PassageReader
from pytest_recall.datasets.rescoring import LONGEST, PASSAGES
from pytest_recall.files import clock
from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.judges.built_in import benchmark
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.filled import FILLED, FilledMark
from pytest_recall.memory.session import Memory
from pytest_recall.metrics.measures import JUDGED
from pytest_recall.metrics.retrieval import Retrieval
from pytest_recall.models.fingerprint import fingerprint
from pytest_recall.models.inputs import InputsNote
from pytest_recall.models.model import Model
from pytest_recall.models.model_notes import NAME as MODEL_NOTES
from pytest_recall.models.model_notes import ModelNotes
from pytest_recall.replay.exchange import Call
from pytest_recall.schedule.boxes import DATASET
from pytest_recall.trials.cost import Spend, of_run, spend_of, total
from pytest_recall.trials.drive import Driver
from pytest_recall.trials.earlier_run import earlier_run, reason_to_rerun
from pytest_recall.trials.evidence import UNNAMED
from pytest_recall.trials.execution import (
    CallSummary,
    Result,
    RunFacts,
    TrialCase,
    judge_answer,
    make_trial,
    with_result,
)
from pytest_recall.trials.journal import NAME, is_begun, read_header, read_journal
from pytest_recall.trials.model_calls import RunModels, source_of
from pytest_recall.trials.question_run import QuestionRun, questions_header
from pytest_recall.trials.record import Header, Record, settings_of
from pytest_recall.trials.repeat_folders import set_aside_all
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import ANSWERED, UNJUDGED, Answer, Outcome, Passage, Trial, TrialStep

NO_STEMS = "LoCoMo's F1 decides on answers, and needs nltk; run `pip install 'pytest-recall[metrics]'`"
"""Why there is no verdict on an answer whose other values were measured."""


def folder_of(named: str, *beside: Path) -> Path | None:
    """Return the folder of the run that `named` means: itself, its journal, or one of that name in `beside`.

    None where there is no journal of a run over a dataset.
    """
    path = Path(named)
    folders = (path.parent if path.name == NAME else path, *(folder / named for folder in beside))
    return next((one for one in folders if is_begun(one) and read_header(one).source_kind == DATASET), None)


def several_in(named: str) -> str:
    """Return what is to be done with a folder of several runs, where one is wanted; empty where it is none."""
    found = sorted(path.parent for path in Path(named).glob(f"*/{NAME}"))
    if not any(map(_is_run, found)):
        return ""
    told = f"{named!r} is a folder of several runs"
    return f"{told}; name one, such as {found[0]}, or see all of them with `recall report {named}`"


def _is_run(folder: Path) -> bool:
    try:
        return folder_of(str(folder)) is not None
    except RecallError:  # Of a broken one there is more to say when it is named.
        return False


def reader_notes(folder: Path, reader: Model, calls: RunModels | None = None, *, replayed: bool) -> ModelNotes:
    """Return what is noted in the folder of a run on its reader, whose `calls` are heard."""
    places = tuple if calls is None else lambda: calls.memory.places
    return ModelNotes(folder / MODEL_NOTES, [(READER, reader)], places, replayed=replayed)


def read_asked(folder: Path, name: str) -> JournalContents:
    """Return what the journal in the folder holds, which messages call `name`. Raises RecallError."""
    record = read_journal(folder)
    return JournalContents(name, _asked_for(folder, record.header), newest(record), record.asked, total(of_run(record)))


def read_figures(folder: Path, name: str) -> JournalContents:
    """Return the same without passages, so that several large runs can be held at once. Raises RecallError."""
    found = read_asked(folder, name)
    return found._replace(trials={id: lean(trial) for id, trial in found.trials.items()})


def _asked_for(folder: Path, header: Header) -> Mapping[str, object]:
    try:
        if header.source_kind != DATASET:
            raise ValueError("of another kind")
        return arguments_of_settings(header.settings)
    except (ValueError, TypeError):
        raise RecallError(
            f"{folder / NAME}:1: is not the journal of a `recall memory run`; name the folder of one"
        ) from None


def newest(record: Record) -> dict[str, Trial]:
    """Return the trial of each question: of one that was asked or judged again the last one holds."""
    found: dict[str, Trial] = {}
    for trial in record.trials:
        found[trial.case_id] = with_passages_of(trial, found.get(trial.case_id))
    # In the order of the dataset: where several are asked at once that in which they end is by chance.
    return {id: found[id] for id in (*record.asked, *found) if id in found}


class MembenchResult(NamedTuple):
    """What a run came to so far."""

    trials: tuple[Trial, ...]
    """In the order of the dataset's questions."""
    total: int
    """How many questions there are."""
    record: Record | None = None
    """The journal, with the trials that were taken again; None if nothing was asked yet."""
    stop: RunStop | None = None
    """Why questions were not asked, if some were not."""
    earlier: EarlierAnswers = EarlierAnswers()
    """Those that an earlier command has asked."""

    @property
    def summary(self) -> MembenchSummary:
        """What all of them came to."""
        return fold(self.trials, self.total, {} if self.record is None else self.record.asked)

    @property
    def failed(self) -> tuple[Trial, ...]:
        """The questions that failed."""
        return tuple(filter(has_failed, self.trials))

    @property
    def unread(self) -> tuple[Trial, ...]:
        """The questions to which the reader gave no answer."""
        return tuple(trial for trial in self.trials if trial.stage == READER)

    @property
    def answered(self) -> bool:
        """Whether there is an answer to any question."""
        return any(trial.answer is not None and trial.answer.usage.get(ANSWERED) for trial in self.trials)

    @property
    def reading_spend(self) -> Spend:
        """What the calls of readers came to, those of questions that were asked again included."""
        trials = () if self.record is None else self.record.trials
        return spend_of((call for trial in trials for call in trial.calls if call.kind == "worker"), stays=())


def is_finished(
    bench: DatasetCases,
    folder: Path,
    arguments: Arguments,
    client: MemoryAdapter,
    notes: ModelNotes | None,
    *,
    keeps_failed: bool,
) -> bool:
    """Whether the journal in the folder has all questions of this run, so that the memory has nothing to do."""
    if not is_begun(folder):
        return False
    record = read_journal(folder)
    trials = newest(record)
    if [*differences(_asked_for(folder, record.header), arguments)] or reason_to_rerun(folder, record, client, notes):
        return False
    return all(id in trials and (keeps_failed or not is_open(trials[id])) for id in bench.entries)


def arguments_of(bench: DatasetCases, client: MemoryAdapter) -> Arguments:
    """Return what decides the outcome of a run. Raises RecallError if the dataset cannot be read."""
    asked, made_of = bench.asked, fingerprint(client.code())
    return Arguments(
        dataset=bench.dataset.format,
        file=Path(asked.path).name,
        sha256=digest(bench.dataset).sha256,
        memory=client.name,
        k=asked.limit,
        unit=asked.unit,
        sample=asked.sample,
        seed="" if asked.sample is None else str(asked.seed),
        categories=asked.categories or (),
        whole=client.whole,
        memory_models=client.calls_models,
        memory_title=client.title,
        code=made_of.code,
        packages=made_of.packages,
        accumulate=bench.accumulate,
        captions=asked.captions,
        dates=asked.dates,
    )


def header_of(folder: Path, bench: DatasetCases, arguments: Arguments, budget: float | None) -> Header:
    """Return the header of a run that begins now; the budget is that of the whole command, in US dollars."""
    return questions_header(
        folder,
        clock.now().isoformat(timespec="seconds"),
        bench.entries,
        DATASET,
        source_kind=DATASET,
        seed=arguments.seed,
        settings=settings_of(**plain(arguments)),
        budget=budget,
    )


def ask_open_questions(
    bench: DatasetCases,
    client: MemoryAdapter,
    run: QuestionRun,
    arguments: Arguments,
    *,
    allowed: bool,
    keeps_failed: bool = False,
    fresh: bool = False,
    reader: PassageReader | None = None,
    floor: ReaderFloor | None = None,
    models: RunModels | None = None,
    first: Callable[[], RunStop | None] = lambda: None,
    at_once: AtOnce | None = None,
    filled: Path | None = None,
) -> MembenchResult:
    """Ask the questions that the journal of the `run` has no answer to yet, and return what all of them came to.

    A question that failed is asked again, and five of them in a row stop the run, unless it `keeps_failed` ones.
    `allowed` says that a memory may be reset that is not empty; `fresh` asks all of them; the `reader` answers where
    the memory returns passages alone, as far as that can be paid for; `models` says how models are asked, and hears
    those of the memory itself;
    `first` does what comes before anything is asked, and returns why nothing is to be;
    `at_once` says how several are asked at a time; `filled` is the folder that says what the memory was told, where
    that is not the journal's.
    Raises RecallError; what was asked is in the journal.
    """
    folder, header, tell = run.folder, run.header, run.tell
    _, missing = metrics_of(bench.dataset.format, client.whole)
    if missing and floor is None:  # It was told of the memory.
        tell(missing)
    total = len(bench.entries)
    # A run has one memory: for its repeats the first folder decides, and for floors the tokens that it has returned.
    noted, decides = floor is None, filled in (None, folder)
    read_by: ModelNotes | None = None
    if reader is not None:
        read_by = reader_notes(folder, reader.model, reader.calls, replayed=reader.calls.mode == "replay")
    record = earlier_run(
        run,
        arguments.memory,
        lambda header: differences(_asked_for(folder, header), arguments),
        client if noted and decides else None,
        read_by,
        fresh=fresh,
        set_aside=partial(set_aside_all, folder),
    )
    trials = {} if record is None else {id: lean(trial) for id, trial in newest(record).items()}
    done = frozenset(id for id, trial in trials.items() if keeps_failed or not is_open(trial))
    if trials:
        tell(f"{folder}: {kept(trials.values(), total, keeps_failed)}")
    # What a recording has not is told of all questions at once: to look for it costs nothing.
    free = keeps_failed or (reader is not None and reader.calls.mode == "replay")
    before = EarlierAnswers(len(done), (record.header.date,)) if record is not None and done else EarlierAnswers()
    stop = first() if len(done) < total else None
    read = (id for id in done if (answer := trials[id].answer) is not None and answer.by == "model")
    if reader is not None:
        run.tell_unrecorded(reader.calls, read, "answers")
    if len(done) < total and stop is None:
        places = set[tuple[str, int | None]]() if models is None else models.memory.places
        resumes = record is not None
        notes: list[InputsNote | ModelNotes] = []
        if noted:
            notes.append(InputsNote(folder, lambda: client.inputs(places), resumes=resumes))
        if read_by is not None:
            notes.append(read_by)
        # A run that resumes a killed one has its stores, and empties them.
        name = f"{folder.resolve()} {(header if record is None else record.header).started}"
        if at_once is not None:
            at_once = at_once._replace(run=sha256(name.encode()).hexdigest()[:12])
        open_ = [one for id, one in bench.entries.items() if id not in done]
        with (
            open_questions(
                bench,
                client,
                open_,
                at_once,
                allowed=allowed,
                tell=tell,
                ask=partial(ask_question, bench, reader, floor, models),
                settle=arguments.settle,
                mark=FilledMark((filled or folder) / FILLED, client.name),
                models=models,
            ) as handed,
            Driver(run, models, total=total, left=len(open_), notes=notes, stops=not free) as driver,
        ):
            known = () if record is None else record.asked
            run.begin().asked(map(bench.question, bench.entries.values()), known)
            driver.ask(handed.questions, lambda trial: trials.update({trial.case_id: lean(trial)}), handed.rest)
            stop = driver.stop
        record = read_journal(folder)
    found = tuple(unjudged(trials[id]) for id in bench.entries if id in trials)
    return MembenchResult(found, total, record, stop, before)


def lean(trial: Trial) -> Trial:
    """Return the trial without its passages, which are in the journal: a large file is never held."""
    return trial if trial.answer is None else _with_passages(trial, trial.answer, ())


def _with_passages(trial: Trial, answer: Answer, passages: tuple[Passage, ...]) -> Trial:
    return with_result(trial, Result.of(trial)._replace(answer=replace(answer, passages=passages)))


def with_passages_of(trial: Trial, before: Trial | None) -> Trial:
    """Return a trial that models have judged with the passages of the trial `before`, of which it is the answer.

    Earlier versions wrote the line of a verdict without them.
    """
    if before is None or before.answer is None or trial.answer is None or trial.answer.passages:
        return trial
    if trial.answer.text != before.answer.text or not any(one.panel for one in trial.verdicts):
        return trial
    return _with_passages(trial, trial.answer, before.answer.passages)


def unjudged(trial: Trial) -> Trial:
    """Return the trial without what models have said of its answer: who is asked now decides on that."""
    if not JUDGED.keys() & (trial.measures or {}).keys():
        return trial
    kept = {name: value for name, value in (trial.measures or {}).items() if name not in JUDGED}
    return with_result(trial, Result.of(trial)._replace(measures=kept))


def ask_question(
    bench: DatasetCases,
    reader: PassageReader | None,
    floor: ReaderFloor | None,
    models: RunModels | None,
    entry: QuestionEntry,
    store: OpenStore,
) -> Trial:
    """Ask a question of the dataset, and return its trial; what breaks is an error of this question.

    Where there is a `floor`, it returns passages in place of the memory. A conversation is stored once for its
    questions. Raises RecallError if the dataset cannot be read any more, and SpentError for what cannot be paid for.
    """
    if models is None:
        return _trial(bench, reader, floor, entry, store, [])
    calls: list[Call] = []
    try:
        with models.memory.about(calls):
            return _trial(bench, reader, floor, entry, store, calls)
    except BaseException:
        # There is no trial of it, and what was called for it until then has cost its money.
        models.memory.beside(*calls)
        raise


def _trial(
    bench: DatasetCases,
    reader: PassageReader | None,
    floor: ReaderFloor | None,
    entry: QuestionEntry,
    store: OpenStore,
    calls: list[Call],
) -> Trial:
    """Return the trial of a question; into `calls` those of the memory's models are put while it is asked."""
    case = bench.case(entry)
    run = RunFacts(reason=DATASET, where=f"{bench.name}:{bench.lines[case.id]}")
    if floor is not None and is_unknown(floor.name, case.evidence, entry.question.unanswerable):
        return make_trial(TrialCase.of(case), Result.skipped(NO_EVIDENCE), run=run)
    try:
        if floor is None:
            answer = store.ask(case)
        else:
            answer = floor.answer(case.id, bench.units_of(entry), case.evidence or ())
    except CaseError as error:
        # What was stored for it is there all the same.
        took = store.took(case)
        given = Answer(text="", usage={ANSWERED: 0, **took}) if took else None
        return make_trial(TrialCase.of(case), Result.no_verdict(error, given), _summary(calls), run)
    if reader is None or answer.usage[ANSWERED]:
        result = _measured(bench, store.memory, entry, case, answer)
        return make_trial(TrialCase.of(case), result, _summary(calls), run)
    reading = reader.read(case, answer, bench.units_of(entry))
    result = _measured(bench, store.memory, entry, case, reading.answer)
    if reading.ending is not None:
        result = result._replace(
            outcome=Outcome.ERROR, verdicts=(), error=reading.error, stage=READER, **reading.ending._asdict()
        )
    return make_trial(TrialCase.of(case), result, _summary((*calls, *reading.calls)), run)


def _summary(calls: Sequence[Call]) -> CallSummary:
    return CallSummary(source_of(calls), tuple(calls))


def _measured(bench: DatasetCases, memory: Memory, entry: QuestionEntry, case: Case, answer: Answer) -> Result:
    retrieval = bench.retrieval(entry, answer)
    measures = bench.measured(retrieval, whole=memory.whole)
    kept = shortened(answer)
    if measures is None:
        result = Result.skipped(UNJUDGED, kept)
    elif case.evidence and answer.usage[ANSWERED] == 0 and retrieval is not None and retrieval.retrieved_ids is None:
        # What a memory returns in words of its own is no error, and what does not need ids is measured.
        result = Result.skipped(UNNAMED, kept)
    elif _needs_stems(bench, case, retrieval) and "locomo_f1" not in measures:
        # It decides on answers, and without NLTK it is left out of the measures.
        result = Result.skipped(NO_STEMS, kept)
    else:
        try:
            result = Result.judged(kept, judge_answer(case, answer, {JUDGE: benchmark}, thresholds={}, wait=_nothing))
        except CaseError as error:
            result = Result.no_verdict(error, kept)
    steps: tuple[TrialStep, ...] = ()
    if retrieval is not None and (found := ranks(retrieval)):
        evidence = evidence_step(bench.units_of(entry), retrieval.evidence or ())
        steps = (*found, evidence, *_floors(bench, memory, entry, retrieval))
    return result._replace(measures=measures, seconds=answer.usage["memory_recall_seconds"], steps=steps)


def _needs_stems(bench: DatasetCases, case: Case, retrieval: Retrieval | None) -> bool:
    """Return whether the answer is decided on by LoCoMo's F1."""
    answered = retrieval is not None and retrieval.answer is not None and not retrieval.unanswerable
    return answered and bench.dataset.format == "locomo" and case.expected is not None


def _floors(bench: DatasetCases, memory: Memory, entry: QuestionEntry, retrieval: Retrieval) -> tuple[TrialStep, ...]:
    """Return the step that says what floors and ceiling find in as many tokens; none where no floor is to be had.

    What shows all that it holds searches for nothing either.
    """
    if memory.whole or retrieval.retrieved_ids is None or not retrieval.evidence or retrieval.read is None:
        return ()
    found = floors_of(bench.units_of(entry), retrieval.evidence, retrieval.read, entry.question.id)
    return (TrialStep(BESIDE, found),)


def _nothing(awaitable: object) -> object:
    raise AssertionError("the judge of a dataset makes no call")


def shortened(answer: Answer) -> Answer:
    """Return the answer of a memory as a journal keeps it: its own words, and the first of its passages."""
    passages = tuple(replace(one, text=one.text[:LONGEST]) for one in answer.passages[:PASSAGES])
    # Without an answer of its own its text is that of the passages.
    return replace(answer, text=answer.text if answer.usage.get(ANSWERED, 1) else "", passages=passages)


def ranks(retrieval: Retrieval) -> tuple[TrialStep, ...]:
    """Return the step that says by rank what came back, as `evidence` would name it; none where that is not known."""
    if retrieval.retrieved_ids is None:
        return ()
    return (TrialStep(RETRIEVED, {"ids": list(retrieval.retrieved_ids)}),)
