"""Provide the memory system of a session, and the questions of profiles that are asked checkpoint by checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

from pytest_recall.files.errors import CaseError, MissError, RecallError
from pytest_recall.plugin import options
from pytest_recall.plugin.extensions import registry_of
from pytest_recall.plugin.pytest_internals import definitions
from pytest_recall.plugin.stash import CASSETTES, MODELS_OF_FILES, RUN
from pytest_recall.trials.execution import Awaiter, Result

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case
    from pytest_recall.cases.settings import Settings
    from pytest_recall.datasets.membench import MembenchSummary
    from pytest_recall.horizon.items import PointsJudge, ProfileCases
    from pytest_recall.memory.client import MemoryAdapter
    from pytest_recall.memory.session import Memory
    from pytest_recall.models.model import Model
    from pytest_recall.plugin.session import Run
    from pytest_recall.replay.exchange import CallKind
    from pytest_recall.runs.plan import Source
    from pytest_recall.trials.baselines import Baseline
    from pytest_recall.trials.trial import Answer


ENDS = (pytest.exit.Exception, MissError)
_HOME = "pytest_recall.plugin.fixtures"


def check_options(config: pytest.Config) -> None:
    """Refuse a memory that cannot be found, and a leave to reset that has no effect. Raises RecallError."""
    from pytest_recall.memory.resolve import resolve

    option = config.option
    client = resolve(option.recall_memory, registry_of(config).memories()) if option.recall_memory else None
    if option.recall_memory_reset and client is not None and client.private:
        raise RecallError(f"--recall-memory-reset: {client.name} is empty when a run begins; remove the option")


class FileMemory(NamedTuple):
    """The memory that a file of cases names, by a selector whose paths are from `root`, and what it is made with."""

    selector: str
    root: Path | None
    config: Mapping[str, Any]


def named_by_file(config: pytest.Config, node: Any) -> FileMemory | None:
    """Return the memory that the file names in which the case is, None where that of other cases is asked.

    `--memory` takes the place of either.
    """
    run = config.stash.get(RUN, None)
    file = None if run is None else run.plan.files.get(node.path)
    if file is None or config.option.recall_memory or not file.memory:
        return None
    return FileMemory(file.memory, file.root, file.memory_config)


@contextmanager
def opened(config: pytest.Config, named: FileMemory | None = None) -> Iterator[Memory]:
    """Hand out the memory that a file has `named`, or that of this session without one.

    A test that wants it ends in one sentence where there is none.
    """
    from pytest_recall.memory.session import Memory
    from pytest_recall.trials.concurrency import Loop

    run, manager = config.stash.get(RUN, None), config.stash.get(CASSETTES, None)
    mode = "off" if manager is None else manager.mode
    with ExitStack() as stack:
        loop = stack.enter_context(closing(Loop()))
        try:
            memory = Memory(
                _client(config, named),
                wait=loop.wait if run is None else run.loop.wait,
                ends=ENDS,
                # A case that is replayed alone has to find in its own recording all that it does.
                reuses=mode == "off",
            )
            stack.callback(memory.close)
            if mode in ("off", "record"):
                memory.ready()
            memory.healthcheck()
            # What a replay resets is what was recorded, and nothing that is there now.
            memory.guard(config.option.recall_memory_reset or mode == "replay", "--recall-memory-reset")
        except RecallError as error:
            pytest.fail(f"memory: {error}", pytrace=False)
        yield memory
        if memory.readback is not None and run is not None:
            run.log.note(f"memory {memory.name}{_worker_note(config)}: {memory.readback}")
        if memory.filled and not memory.private and mode == "off":
            memory.reset()  # What the run has stored is not there for the next one to stumble over.


def _client(config: pytest.Config, named: FileMemory | None) -> MemoryAdapter:
    from pytest_recall.memory.resolve import DEFAULT, resolve
    from pytest_recall.memory.selector import WORKER

    run, manager = config.stash.get(RUN, None), config.stash.get(CASSETTES, None)
    channel = None
    if manager is not None:
        from pytest_recall.models.resolve import through

        channel = through(manager.player)
    if named is None:
        named = FileMemory(config.option.recall_memory or _rubric(config).memory or DEFAULT, None, {})
    selector = named.selector
    root = named.root or (config.rootpath if run is None else run.plan.place.root)
    client = resolve(
        selector,
        registry_of(config).memories(),
        root=root,
        channel=channel,
        worker=_worker(config),
        config=named.config,
    )
    if options.is_worker(config) and WORKER not in selector and not client.private:
        raise RecallError(
            f"{client.name} would be one store for several processes, each of which resets it; write {WORKER} where"
            " the selector has to differ, or run without -n (an object of your own in Python says `private = True`)"
        )
    return client


def _rubric(config: pytest.Config) -> Settings:
    run: Run | None = config.stash.get(RUN, None)
    if run is not None:
        return run.plan.rubric
    from pytest_recall.cases.settings_file import read_settings

    try:
        place = options.place_of(config)
        return read_settings(place.rubric, place.name(place.rubric))
    except RecallError as error:
        pytest.fail(f"memory: {error}", pytrace=False)


def _worker(config: pytest.Config) -> str:
    given: str = getattr(config, "workerinput", {}).get("workerid", "main")
    return given


def _worker_note(config: pytest.Config) -> str:
    return f" ({_worker(config)})" if options.is_worker(config) else ""


def takes_part(module: pytest.Module, agent: str) -> bool:
    """Whether the fixture `agent` asks for the fixture `memory`, by itself or through others."""
    waiting, seen = [agent], set[str]()
    while waiting:
        name = waiting.pop()
        found = () if name in seen or not name else definitions(module, name)
        seen.add(name)
        waiting += found[-1].argnames if found else ()
    return "memory" in seen


def without_effect(config: pytest.Config, definitions: Sequence[Any]) -> str:
    """Return why `--memory` has no effect, as a sentence; empty if it has, or is not given."""
    if definitions[-1].func.__module__ == _HOME or not config.option.recall_memory:
        return ""
    name = options.spelled(config, "memory")
    return f"{name} has no effect, since a fixture `memory` of your own takes its place; remove one of the two"


def agent_of(
    config: pytest.Config, path: Path, case: Case, given: Any, agent: Any, baseline: Baseline | None, *, wait: Awaiter
) -> Any:
    """Return who answers a case with `memory` in the file at `path`: the memory, or an agent that asks it, once filled.

    `given` is what the fixture `memory` gave, None for a baseline that does not ask for it; a client of the user's own
    is awaited by `wait`. Those that are shipped send what would be stored as a conversation, each unit a message, and
    the question as its last.
    """
    part = case.memory
    assert part is not None
    if given is None:
        if baseline is None or baseline.kind != "shipped":
            return agent
        said = [
            f"({unit.metadata['date']}) {unit.content}" if "date" in unit.metadata else unit.content
            for unit in part.units
        ]
        messages = [{"role": "user", "content": text} for text in (*said, str(case.input))]
        return lambda question: agent(messages)
    memory = _memory_of(given, wait)
    if agent is None and (asked := profile_agent(config, path, case, memory)) is not None:
        return asked
    if agent is None:
        return lambda question: _judgeable(case, memory.ask(case))

    def ask(question: Any) -> Any:
        memory.ingest(part)
        return agent(question)

    return ask


def _judgeable(case: Case, answer: Answer) -> Answer:
    """Return the answer; skip a case that cannot be judged by it, which is neither a pass nor a fail."""
    from pytest_recall.datasets.questions import JUDGE, PAPER
    from pytest_recall.trials.evidence import UNNAMED, ranked
    from pytest_recall.trials.trial import ANSWERED, UNJUDGED

    asked = any(call.name in (JUDGE, PAPER) and call.arguments.get("unanswerable") for call in case.judges)
    if asked and not answer.usage.get(ANSWERED):
        pytest.skip(UNJUDGED)
    by_evidence = case.evidence and any(call.name == JUDGE for call in case.judges)
    if by_evidence and answer.passages and not answer.usage.get(ANSWERED):
        assert case.memory is not None
        if ranked(answer.passages, case.memory.units, case.evidence or ()) is None:
            pytest.skip(UNNAMED)
    return answer


def measures(file: Source, case_id: str, result: Result, given: Any) -> dict[str, float | None] | None:
    """Return the metrics of an answer to a question of the dataset that `file` names, None where it cannot be judged.

    `given` is what the fixture `memory` gave; the window baselines of a context have no first k.
    """
    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.datasets.questions import PAPER
    from pytest_recall.memory.session import Memory

    assert isinstance(file, DatasetCases)
    assert result.answer is not None
    whole = isinstance(given, Memory) and given.whole
    found = file.measured(file.retrieval(file.entries[case_id], result.answer), whole=whole)
    if found is None:
        return None
    judged = [one.passed for one in result.verdicts if one.judge == PAPER]
    return found | {f"{file.dataset.format}_judge": None if one is None else float(one) for one in judged}


def missing_metrics(files: Iterable[Source], datasets: Mapping[str, MembenchSummary]) -> list[str]:
    """Return why a metric of answers to datasets is not there, as sentences."""
    from pytest_recall.datasets.cases import DatasetCases, metrics_of

    answered = {name for name, summary in datasets.items() if "answer_contains" in summary.everything.means}
    asked = [file for file in files if isinstance(file, DatasetCases) and file.name in answered]
    return [f"{file.name}: {why}" for file in asked if (why := metrics_of(file.dataset.format, False)[1])]


def _memory_of(given: Any, wait: Awaiter) -> Memory:
    """Return what the fixture `memory` gave: ours, or a client of the user's own."""
    from pytest_recall.memory.python_memory import Own, checked
    from pytest_recall.memory.session import Memory

    if isinstance(given, Memory):
        return given
    try:
        checked(given)
    except RecallError as error:
        raise CaseError("memory setup", f"the fixture `memory`: {error}") from None
    client = Own("the fixture `memory`", given)
    return Memory(client, wait=wait, ends=ENDS)


def read_source(config: pytest.Config, path: Path, name: str) -> Source:
    """Return the cases of a file that names a dataset, or is a profile. Raises RecallError."""
    from pytest_recall.files.eval_directory import is_profile

    if is_profile(path):
        from pytest_recall.horizon.items import ProfileCases

        return ProfileCases(path, name, config.option.recall_memory)
    from pytest_recall.datasets.cases import read_bench
    from pytest_recall.plugin.extensions import registry_of

    return read_bench(path, name, registry_of(config).datasets())


def source_of(config: pytest.Config, path: Path) -> ProfileCases | None:
    """Return the profile at `path`; None for any other file."""
    from pytest_recall.files.eval_directory import is_profile

    return cast("ProfileCases", config.stash[RUN].plan.files[path]) if is_profile(path) else None


def judges_of(config: pytest.Config, path: Path) -> Mapping[str, PointsJudge]:
    """Return the judges that a profile brings along, by name. Raises RecallError.

    Without `models.judge` in the profile no model is asked. `--judge` is about other cases.
    """
    source = source_of(config, path)
    assert source is not None
    from pytest_recall.horizon.evaluation import JUDGE
    from pytest_recall.plugin.judging import asks_live
    from pytest_recall.replay import tape

    rubric = config.stash[RUN].plan.rubric
    judge = source.judge(
        lambda selector: _model(config, source, selector, "judge"),
        preflight=asks_live(config) and rubric.judge.preflight != "off",
    )
    judge.ready = tape.known_answers()(judge.ready)  # type: ignore[method-assign]
    return {JUDGE: judge}


def with_points(result: Result, case_id: str, judges: Mapping[str, PointsJudge]) -> Result:
    """Return the result of a profile's case with its points and its checkpoint."""
    from pytest_recall.horizon.evaluation import JUDGE

    return judges[JUDGE].with_points(case_id, result)


def profile_agent(config: pytest.Config, path: Path, case: Case, memory: Memory) -> Callable[[Any], Answer] | None:
    """Return who answers a case of a profile: the memory, or a model from what it finds; None for other files."""
    source = source_of(config, path)
    if source is None:
        return None
    from pytest_recall.horizon.disclosure import BOUNDARY

    selector = source.settings.answer
    answerer = None if selector is None else _model(config, source, selector, "agent")

    def answer(question: Any) -> Answer:
        if case.dimension == BOUNDARY and not memory.takes_context:
            pytest.skip(f"{memory.name} is not told in which session a question is asked")
        return source.answered(case, memory.ask(case, source.seconds), answerer)

    return answer


def _model(config: pytest.Config, source: ProfileCases, selector: str, kind: CallKind) -> Model:
    """Return a model, the same one for all cases of the file in this process. Raises RecallError."""
    models = config.stash.setdefault(MODELS_OF_FILES, {})
    key = (str(source.path), kind, selector)
    if key not in models:
        from pytest_recall.models.resolve import model_of

        model = model_of(
            selector,
            kind,
            player=config.stash[CASSETTES].player,
            root=source.root,
            say=config.stash[RUN].log.note,
            ready=not config.option.collectonly,
            timeout=source.settings.model_timeout,
        )
        config.add_cleanup(model.close)
        models[key] = model
    return models[key]
