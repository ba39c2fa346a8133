"""Batches that end badly or not at all, runs that are killed, and what the next run finds."""

from __future__ import annotations

import re
import signal

import pytest

from tests.helpers.batching import NAMES, NEVER, Service, batched, project, run
from tests.helpers.project import Checkout
from tests.helpers.running import Running, wait_until
from tests.helpers.talking import answers, trial

pytest.importorskip("openai")
pytest.importorskip("anthropic")

SDKS = pytest.mark.parametrize("way", ["openai_sync", "anthropic_async"])
LOOP = 'return plain_sync(f"tell me more of {plain_sync(question)}")'
BATCH = ("--recall-mode=all", "--recall-batch")
TWO = NAMES[:2]
HELD = batched(requests=len(TWO), quiet=5, poll=0.05)
"""The rubric of runs that wait for long, and look seldom."""
ASKED_ONCE = dict.fromkeys(NAMES, 1)
SWALLOWS = "try:\n    return {way}(question)\nexcept Exception:\n    return 'sorry'"


def errors(checkout: Checkout) -> set[str]:
    """Return why the cases of the newest run came to no verdict."""
    found = {trial.error for trial in checkout.journal().trials}
    assert {trial.outcome.value for trial in checkout.journal().trials} == {"error"}
    return found


def noted(checkout: Checkout) -> list[str]:
    """Return the lines of the file that says which batches there are."""
    path = checkout.artifacts.folder / "batches.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def killed(pytester: pytest.Pytester, service: Service, body: str, *, batches: int = 1) -> Checkout:
    """Return where a run was killed that waited for the last of so many batches, which has ended since."""
    service.hold = batches
    running = Running(project(service, body, *TWO, files=HELD), pytester)
    begun = running.start(*BATCH)
    wait_until(lambda: len(noted(running.checkout)) == batches)
    assert running.end(begun, signal.SIGKILL).ret == -signal.SIGKILL
    service.hold = NEVER
    return running.checkout


class TestLines:
    """Single calls that a batch has no good answer to."""

    def test_an_error_is_that_of_the_direct_call(self, pytester: pytest.Pytester, service: Service) -> None:
        body = """\
import anthropic
import openai
way, sdk = (openai_sync, openai) if question.endswith("openai") else (anthropic_sync, anthropic)
try:
    return way(question)
except sdk.BadRequestError as error:
    return f"{error.status_code} {error.body}"
"""
        names = [f"{how}-{sdk}" for sdk in ("openai", "anthropic") for how in ("good", "bad")]
        checkout = project(service, body, *names, files=batched(requests=2, quiet=5)).at(pytester)
        run(checkout).assert_outcomes(passed=4)
        told = answers(checkout)
        for sdk in ("openai", "anthropic"):
            assert told[f"good-{sdk}"] == f"re: good-{sdk}"
            assert told[f"bad-{sdk}"].startswith("400 {")
            assert "bad question" in told[f"bad-{sdk}"]
        assert service.sizes == [2, 2]

    def test_one_that_expired_is_no_failed_case_whatever_the_agent_makes_of_it(
        self, pytester: pytest.Pytester, service: Service
    ) -> None:
        body = f"if question == 'late-2':\n    return asyncio.run(anthropic_async(question))\n{SWALLOWS}"
        names = ("good", "late-1", "late-2")
        files = batched(requests=2)
        checkout = project(service, body.format(way="plain_sync"), *names, files=files).at(pytester)
        run(checkout).assert_outcomes(passed=1, errors=2)
        for name in names[1:]:
            error = trial(checkout, name).error
            assert "/v1/" in error
            assert re.search(r"batch_\d has ended without an answer to it: ", error)
        run(checkout).assert_outcomes(passed=1, errors=2)
        assert service.prompts == dict.fromkeys(names, 2), "none is there for another run"


class TestWhole:
    """Batches of which nothing comes."""

    def test_one_that_failed_ends_each_case_in_one_sentence(self, pytester: pytest.Pytester, service: Service) -> None:
        service.failing = "the model does not do batches"
        checkout = project(service, SWALLOWS.format(way="plain_sync"), *TWO).at(pytester)
        run(checkout).assert_outcomes(errors=2)
        assert all("failed: line 1: the model does not do batches; correct that" in error for error in errors(checkout))

    def test_a_refusal_to_make_one_names_no_key(self, pytester: pytest.Pytester, service: Service) -> None:
        service.refusals = [(401, {})]
        checkout = project(service, "return openai_sync(question)", *TWO).at(pytester)
        result = run(checkout)
        result.assert_outcomes(errors=2)
        said = f"POST {service.url}/v1/chat/completions: no batch could be made: {service.url}/v1 answered 401: not now"
        assert errors(checkout) == {f"{said} [key]; correct that, or run without --recall-batch"}
        assert "sk-none" not in result.stdout.str()

    @SDKS
    def test_one_that_is_refused_for_now_is_made_later(
        self, pytester: pytest.Pytester, service: Service, way: str
    ) -> None:
        service.refusals = [(429, {"retry-after": "0.1"}), (500, {"retry-after-ms": "50"})]
        body = f"return {way}(question)" if way == "openai_sync" else f"return asyncio.run({way}(question))"
        run(project(service, body, *TWO).at(pytester)).assert_outcomes(passed=2)
        assert service.sizes == [2]
        assert sum(request == "POST /v1/files" for request in service.requests) == (way == "openai_sync")

    def test_one_of_which_nobody_knows_whether_it_was_made_is_not_made_twice(
        self, pytester: pytest.Pytester, service: Service
    ) -> None:
        service.refusals = [(0, {})]
        checkout = project(service, "return plain_sync(question)", *TWO).at(pytester)
        run(checkout).assert_outcomes(errors=2)
        assert all("it is unknown whether a batch was made" in error for error in errors(checkout))
        assert service.requests.count("POST /v1/batches") == 1

    def test_one_that_takes_too_long_is_there_for_the_next_run(
        self, pytester: pytest.Pytester, service: Service
    ) -> None:
        service.hold = 1
        files = batched(wait=1, requests=2, quiet=5, poll=0.1)
        checkout = project(service, SWALLOWS.format(way="plain_sync"), *TWO, files=files).at(pytester)
        result = run(checkout)
        result.assert_outcomes(errors=2)
        assert all(re.search(r"the batch batch_\d has not ended within 1 s", error) for error in errors(checkout))
        result.stdout.fnmatch_lines(["* batch* on, or ha* answers that no case has used (batch_1*); *"])
        service.hold = NEVER
        result = run(checkout)
        result.assert_outcomes(passed=2)
        assert service.prompts == dict.fromkeys(TWO, 1)
        result.stdout.fnmatch_lines(
            ["batches: 2 calls at half price, 2 of them asked by an earlier run, 0 batches made"]
        )


class TestKilled:
    """Runs that end before their batches do."""

    def test_a_killed_run_has_paid_for_the_next_one(self, pytester: pytest.Pytester, service: Service) -> None:
        checkout = killed(pytester, service, "return plain_sync(question)")
        result = run(checkout)
        result.assert_outcomes(passed=2)
        assert answers(checkout) == {name: f"re: {name}" for name in TWO}
        assert service.prompts == dict.fromkeys(TWO, 1)
        result.stdout.fnmatch_lines(
            ["batches: 2 calls at half price, 2 of them asked by an earlier run, 0 batches made"]
        )
        run(checkout).assert_outcomes(passed=2)
        assert set(service.prompts.values()) == {2}, "what was used is asked again"

    def test_what_a_killed_run_got_and_made_nothing_of_is_not_bought_again(
        self, pytester: pytest.Pytester, service: Service
    ) -> None:
        checkout = killed(pytester, service, LOOP, batches=2)
        run(checkout, "-n", "1").assert_outcomes(passed=2)
        assert service.sizes == [2, 2]
        assert set(service.prompts.values()) == {1}

    def test_a_killed_run_with_workers_is_picked_up_by_one_without(
        self, pytester: pytest.Pytester, service: Service
    ) -> None:
        service.hold = 1
        running = Running(project(service, "return plain_messages(question)", files=batched(poll=0.05)), pytester)
        checkout, begun = running.checkout, running.start(*BATCH, "-n", "2")
        wait_until(lambda: len(noted(checkout)) >= 2)
        running.end(begun, signal.SIGKILL)
        before = dict(service.prompts)
        service.hold = NEVER
        # The workers see that no one reads them any more, and go.
        wait_until(lambda: not list(checkout.artifacts.folder.glob(".batching-*")) or not _alive(checkout))
        run(checkout).assert_outcomes(passed=6)
        assert service.prompts == ASKED_ONCE | before

    def test_ctrl_c_says_which_go_on(self, pytester: pytest.Pytester, service: Service) -> None:
        service.hold = 1
        running = Running(project(service, "return plain_sync(question)", *TWO, files=HELD), pytester)
        checkout, begun = running.checkout, running.start(*BATCH)
        wait_until(lambda: len(noted(checkout)) == 1)
        result = running.end(begun, signal.SIGINT)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        said = "answers that no case has used (batch_1); the next run with --recall-batch picks it up"
        assert said in result.stdout.str()
        assert list(checkout.artifacts.folder.glob(".batching-*")) == []
        service.hold = NEVER
        run(checkout).assert_outcomes(passed=2)
        assert service.prompts == dict.fromkeys(TWO, 1)

    def test_ctrl_c_before_a_batch_is_made_buys_nothing(self, pytester: pytest.Pytester, service: Service) -> None:
        body = "asked(question)\nreturn plain_sync(question)"
        running = Running(project(service, body, *TWO, files=batched(quiet=300)), pytester)
        begun = running.start(*BATCH)
        wait_until(lambda: bool(running.checkout.asked()))
        assert running.end(begun, signal.SIGINT).ret == pytest.ExitCode.INTERRUPTED
        assert service.requests == []
        assert noted(running.checkout) == []

    def test_two_runs_at_once_take_nothing_from_each_other(self, pytester: pytest.Pytester, service: Service) -> None:
        service.hold = 1
        running = Running(project(service, "return plain_sync(question)", *TWO, files=HELD), pytester)
        first = running.start(*BATCH)
        wait_until(lambda: len(noted(running.checkout)) == 1)
        second = running.start(*BATCH)
        wait_until(lambda: len(noted(running.checkout)) == 2)
        service.hold = NEVER
        for begun in (first, second):
            result = begun.result(timeout=60)
            result.assert_outcomes(passed=2)
            result.stdout.fnmatch_lines(["batches: 2 calls at half price, 1 batch made"])
        assert service.sizes == [2, 2]

    def test_a_batch_that_is_not_there_any_more_is_asked_anew(
        self, pytester: pytest.Pytester, service: Service
    ) -> None:
        checkout = killed(pytester, service, "return plain_sync(question)")
        service.batches["batch_7"] = service.batches.pop("batch_1")
        run(checkout).assert_outcomes(passed=2)
        assert set(service.prompts.values()) == {2}


def _alive(checkout: Checkout) -> bool:
    from filelock import FileLock, Timeout

    for path in checkout.artifacts.folder.glob(".batching-*"):
        try:
            with FileLock(path, timeout=0):
                pass
        except Timeout:
            return True
    return False
