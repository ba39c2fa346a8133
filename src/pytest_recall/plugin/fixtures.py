"""Define the fixtures: the default agent, the built-in judges, and the case that is running.

`pytest --fixtures` prints these docstrings; they are the reference of the judges. A team
adds a judge by writing a fixture `judge_<name>`, and replaces one by overriding it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case
    from pytest_recall.memory.session import Memory

Judge = Callable[..., Any]


@pytest.fixture(scope="session")
def _recall_on(pytestconfig: pytest.Config) -> None:
    """Skip a test that needs a run while the plugin is off: it may ask a model, which costs money."""
    from pytest_recall.plugin import switch

    if not switch.is_on(pytestconfig):
        pytest.skip(f"pytest-recall is off; {switch.HOW}")


@pytest.fixture
def agent(request: pytest.FixtureRequest, _recall_on: None) -> Callable[[Any], Any]:
    """The system under test: override it in eval/conftest.py. By default it is the model of `--model`, asked plainly.

    Return a function, sync or async, from the case's `input` to an answer: text, or an
    object with `text` and, if there are any, `passages` and `usage`. For a case with
    `turns` it gets the messages so far, each `{"role": ..., "content": ...}`.
    """
    from pytest_recall.plugin import collect, start

    if start.ensure_run(request.config).plan.context.model is None:
        pytest.fail(collect.no_agent(request.config), pytrace=False)
    model: Callable[[Any], Any] = request.getfixturevalue("recall_model")
    return model


@pytest.fixture(scope="session")
def recall_model(request: pytest.FixtureRequest, _recall_on: None) -> Callable[[Any], Any]:
    """The model under test, which `--model` or `model_primary` in rubric.yaml names by a selector.

    `recall_model("text")`, or with a list of messages, returns an Answer; `recall_model.ask(Ask(...))` a Reply.
    """
    from pytest_recall.files.errors import RecallError
    from pytest_recall.plugin import baselines

    try:
        return baselines.model_under_test(_with_run(request.config))
    except RecallError as error:
        pytest.fail(f"recall_model: {error}", pytrace=False)


@pytest.fixture
def recall_case(request: pytest.FixtureRequest) -> Case:
    """The Case that is running, for fixtures that depend on its tags, scenario or id."""
    from pytest_recall.plugin.stash import STATE

    state = request.node.stash.get(STATE, None)
    case: Case | None = None if state is None else state.case
    if case is None:
        pytest.fail("recall_case: the test is not a row of a case file; use it below an eval case only", pytrace=False)
    return case


@pytest.fixture(scope="session")
def recall_kind(request: pytest.FixtureRequest) -> Callable[[str], AbstractContextManager[None]]:
    """Mark the model calls made in a block: `with recall_kind("worker"): ...` for work on the side.

    The kinds are `agent`, which calls are by themselves, `judge` and `worker`; `--recall-live` says which of them are
    not recorded and replayed.
    """
    from pytest_recall.files.errors import nearest
    from pytest_recall.plugin.stash import CASSETTES
    from pytest_recall.replay.exchange import KINDS

    manager = request.config.stash.get(CASSETTES, None)

    def marked(kind: str) -> AbstractContextManager[None]:
        if kind not in KINDS:
            raise ValueError(f"`{kind}` is not a kind of call{nearest(kind, KINDS)}")
        return nullcontext() if manager is None else manager.player.asking(kind)

    return marked


@pytest.fixture(scope="session")
def recall_alone() -> None:
    """Run a case alone, with `--recall-concurrency`: for a fixture that changes what the whole process shares.

    That is the working directory or the environment, for example. Cases with `monkeypatch`, `capsys` and the
    like run alone without it.
    """


@pytest.fixture(scope="session")
def recall_memory(request: pytest.FixtureRequest, _recall_on: None) -> Iterator[Memory]:
    """The memory system of this session, as it is: the fixture `memory` empties it for each test."""
    from pytest_recall.plugin import memories

    with memories.opened(request.config) as opened:
        yield opened


@pytest.fixture(scope="module")
def _recall_file_memory(request: pytest.FixtureRequest, _recall_on: None) -> Iterator[Memory]:
    from pytest_recall.plugin import memories

    with memories.opened(request.config, memories.named_by_file(request.config, request.node)) as opened:
        yield opened


@pytest.fixture
def memory(request: pytest.FixtureRequest, recall_alone: None, _recall_on: None) -> Memory:
    """The memory system that `--memory` or `memory` in rubric.yaml names, empty: `store`, `recall`, `answer`, `count`.

    Override it in conftest.py to put a client of your own in its place. A case with `memory` fills it by itself.
    """
    from pytest_recall.plugin import memories
    from pytest_recall.plugin.stash import STATE

    name = "_recall_file_memory" if memories.named_by_file(request.config, request.node) else "recall_memory"
    found: Memory = request.getfixturevalue(name)
    state = request.node.stash.get(STATE, None)
    if state is None or state.case is None:
        found.reset()
    return found


@pytest.fixture(scope="session")
def judge_exact() -> Judge:
    """Pass if the answer is `expected`, white space collapsed; a list accepts any of it.

    `judges: [exact]` or `{exact: {ignore_case: true}}`.
    """
    from pytest_recall.judges import built_in

    return built_in.on_text(built_in.exact)


@pytest.fixture(scope="session")
def judge_contains() -> Judge:
    """Pass if the answer contains `expected`, or every text of a list; case is ignored.

    `judges: [contains]`, `{contains: [text, text]}`, or `{contains: {any: true, ignore_case: false, absent: [text]}}`:
    `any` asks for one text of the list only, `absent` lists what must not occur.
    """
    from pytest_recall.judges import built_in

    return built_in.on_text(built_in.contains)


@pytest.fixture(scope="session")
def judge_regex() -> Judge:
    """Pass if the regular expression `expected` is found in the answer.

    `{regex: '\\bID-\\d+'}` or `{regex: {ignore_case: true, full: true}}`: `full` asks for the whole answer.
    """
    from pytest_recall.judges import built_in

    return built_in.on_text(built_in.regex)


@pytest.fixture(scope="session")
def judge_json_schema() -> Judge:
    """Pass if the answer is JSON that fits the JSON Schema `expected`.

    `{json_schema: {schema: {type: object, required: [id]}}}`. Needs `pytest-recall[jsonschema]`.
    """
    from pytest_recall.judges import built_in

    return built_in.on_text(built_in.json_schema)


@pytest.fixture(scope="session")
def judge_numeric() -> Judge:
    """Pass if a number in the answer equals `expected`.

    `judges: [numeric]` or `{numeric: {tolerance: 0.5, relative: 0.01, pick: last}}`, where `pick` is `any`,
    `first` or `last`.
    """
    from pytest_recall.judges import built_in

    return built_in.on_text(built_in.numeric)


@pytest.fixture(scope="session")
def judge_token_f1() -> Judge:
    """Score the words shared with `expected`, the best of a list, as F1 from 0 to 1.

    `{token_f1: {threshold: 0.6}}`; without one, the case's `threshold`, then the rubric's, then 0.5 decides.
    """
    from pytest_recall.judges import built_in

    return built_in.on_text(built_in.token_f1)


@pytest.fixture(scope="session")
def judge_similarity() -> Judge:
    """Score how near the answer is in meaning to `expected`, the best of a list, from 0 to 1, without a network.

    `{similarity: {threshold: 0.6}}`; without one, as for token_f1. Needs `pytest-recall[similarity]`.
    """
    from pytest_recall.judges import built_in

    return built_in.on_text(built_in.similarity)


@pytest.fixture(scope="session")
def judge_recall_at_k() -> Judge:
    """Score the fraction of the case's `evidence` among the first `k` passages of the answer, from 0 to 1.

    `judges: [recall_at_k]` or `{recall_at_k: {k: 3, threshold: 1}}`; a piece is found by its id, or by its text.
    """
    from pytest_recall.judges import built_in

    return built_in.recall_at_k


@pytest.fixture(scope="session")
def judge_benchmark() -> Judge:
    """Score a memory on a question of a dataset: by its answer, or by its passages if it gives none.

    What a file that names a dataset asks by itself: LoCoMo's F1, `contains`, evidence among the passages, abstention.
    """
    from pytest_recall.judges import built_in

    return built_in.benchmark


@pytest.fixture(scope="session")
def judge_rubric(request: pytest.FixtureRequest, _recall_on: None) -> Judge:
    """Let a model score the answer on `criteria` of rubric.yaml, or check a requirement in words.

    `judges: [rubric]` scores all criteria, `{rubric: {criteria: [tone, grounded]}}` some, and `{rubric: "must say
    that …"}` is a text of the case, or a list of them. `threshold` is the lowest mean, 0 to 1.
    """
    from pytest_recall.plugin import judging

    return judging.judge_of(_with_run(request.config), "rubric")


@pytest.fixture(scope="session")
def judge_memory(request: pytest.FixtureRequest, _recall_on: None) -> Judge:
    """Let a model give six points for an answer from memory: correctness 3, completeness 2, nothing made up 1.

    `judges: [memory]` goes by `expected` alone; `{memory: {excerpts: [text]}}` by what the memory holds as well;
    `{memory: {disclosure: refuse, forbidden: [text]}}` asks whether it tells what it may. `threshold` is a share.
    """
    from pytest_recall.plugin import judging

    return judging.judge_of(_with_run(request.config), "memory")


@pytest.fixture(scope="session")
def judge_pairwise(request: pytest.FixtureRequest, _recall_on: None) -> Judge:
    """Let a model compare the answer with another, in both orders: 1 for a win, 0.5 for a tie, 0 for a loss.

    `{pairwise: {against: text, aspect: text, threshold: 1}}`; without a threshold, a tie passes.
    """
    from pytest_recall.plugin import judging

    return judging.judge_of(_with_run(request.config), "pairwise")


@pytest.fixture(scope="session")
def judge_paper(request: pytest.FixtureRequest, _recall_on: None) -> Judge:
    """Let a model say whether an answer to a memory benchmark is correct, by the rule of the benchmark's paper.

    `judges: [paper]` in a file `*.dataset.yaml`; elsewhere `{paper: {dataset: longmemeval, category: multi-session}}`.
    """
    from pytest_recall.plugin import judging

    return judging.judge_of(_with_run(request.config), "paper")


def _with_run(config: pytest.Config) -> pytest.Config:
    """Return the configuration, with a run: a test that asks for a fixture may be the first sign of one."""
    from pytest_recall.plugin.start import ensure_run

    return ensure_run(config).config
