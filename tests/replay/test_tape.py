"""Tapes: the next answer in turn, and what a recording keeps."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.cassette_file import Cassette, write_cassette
from pytest_recall.replay.differences import DifferenceKind, RequestDifference, difference_line
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.other_headers import digest_of
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.repeatable_calls import RepeatableCalls
from pytest_recall.replay.tape import CassetteMode, HeaderCheck, Mismatch, Tape

RULES = Rules()
URL = "http://upstream/v1/messages"


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def ask(prompt: str) -> Request:
    """Return a request."""
    return Request("POST", URL, (("content-type", "application/json"),), b'{"prompt":"%s"}' % prompt.encode())


def call(prompt: str, answer: str = "fine", seq: int = 0) -> Exchange:
    """Return a call that went well."""
    return Exchange("", seq, "agent", ask(prompt), Response(200, "OK", (), (answer.encode(),)), at="2026-03-10")


def traced(trace: str, seq: int = 0) -> Exchange:
    """Return a call whose request has a trace, which is answered with it."""
    request = Request("POST", URL, (("content-type", "application/json"),), b'{"trace":"%s"}' % trace.encode())
    return call("", trace, seq)._replace(request=request)


def body_of(exchange: Exchange | None) -> bytes:
    """Return what was answered."""
    assert exchange is not None
    assert exchange.response is not None
    return exchange.response.body


def tape_of(
    folder: Path,
    *calls: Exchange,
    mode: CassetteMode = "replay",
    secrets: dict[str, str] | None = None,
    base: Iterable[Exchange] = (),
) -> Tape:
    """Return a tape with these calls on it, and others in the recording of its base."""
    path = folder / "case.ndjson"
    cassette = None
    if calls:
        write_cassette(path, {}, calls, RULES)
        cassette = Cassette(path, "case", RULES)
    tape = Tape("case", mode, RULES, Redactor(secrets or {}), "record it", cassette, folder / "draft.ndjson")
    if recorded := list(base):
        write_cassette(folder / "base.ndjson", {}, recorded, RULES)
        tape.base = Cassette(folder / "base.ndjson", "base", RULES)
    return tape


class TestServing:
    """The kth identical request gets the kth answer."""

    def test_by_key_and_not_by_position(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, call("a", "1", 0), call("b", "2", 1), call("a", "3", 2))
        assert [body_of(tape.serve(ask(prompt), "agent")) for prompt in "baa"] == [b"2", b"1", b"3"]
        assert tape.serve(ask("a"), "agent") is None
        assert tape.serve(ask("c"), "agent") is None
        assert tape.unused() == []

    def test_one_of_another_spelling_takes_its_turn_among_the_same(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, call("a", "1", 0), call("a", "2", 1))
        spelt = ask("a")._replace(body=b'{ "prompt" : "a" }')
        assert [body_of(tape.serve(request, "agent")) for request in (spelt, ask("a"))] == [b"1", b"2"]

    def test_what_was_recorded_under_other_rules_is_served_once(self, tmp_path: Path) -> None:
        """Two requests that were told apart then are the same now."""
        tape = tape_of(tmp_path, *(traced(trace, seq) for seq, trace in enumerate("1234")))
        tape.cassette = Cassette(tmp_path / "case.ndjson", "case", Rules(["trace"]))
        asked = [traced(trace).request for trace in "3x1y"]
        assert [body_of(tape.serve(request, "agent")) for request in asked] == [b"1", b"2", b"3", b"4"]
        assert [tape.serve(request, "agent") for request in (*asked, traced("4").request)] == [None] * 5
        assert tape.unused() == []
        assert [exchange.request for exchange in tape.served()] == [traced(trace).request for trace in "1234"]

    def test_what_is_told_apart_now_and_was_not_then(self, tmp_path: Path) -> None:
        path = tmp_path / "case.ndjson"
        loose = Rules(["trace"])
        write_cassette(path, {}, [traced(trace, seq) for seq, trace in enumerate("123")], loose)
        tape = tape_of(tmp_path)
        tape.cassette = Cassette(path, "case", RULES)
        spelt = traced("1").request._replace(body=b'{ "trace": "1" }')
        asked = [traced("3").request, traced("2").request, spelt]
        assert [body_of(tape.serve(request, "agent")) for request in asked] == [b"3", b"2", b"1"]
        assert tape.serve(traced("4").request, "agent") is None

    def test_all_at_once_get_each_answer_once(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, *(call("a", str(number), number) for number in range(200)))
        with ThreadPoolExecutor(8) as pool:
            served = list(pool.map(lambda _: tape.serve(ask("a"), "agent"), range(220)))
        assert sorted(int(body_of(one)) for one in served if one is not None) == list(range(200))

    def test_what_nobody_asked_for_is_unused(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, call("a", "1", 0), call("b", "2", 1), call("a", "3", 2))
        cause = " (a cache of the agent's framework may have answered; switch it off or empty it)"
        what = f"the first of them {ask('a').line}{cause}"
        assert tape.left_over() == [f"case: 3 recorded calls were not asked for (1, 2, 3), {what}; record it"]
        tape.serve(ask("a"), "agent")
        assert sorted(map(body_of, tape.unused())) == [b"2", b"3"]
        what = f"(2, 3), the first of them POST {URL}"
        assert tape.left_over() == [f"case: 2 recorded calls were not asked for {what}; record it"]

    def test_what_may_be_repeated_is_no_sign_that_a_test_has_asked_its_own_calls(self, tmp_path: Path) -> None:
        fetched = call("prices")._replace(request=Request("GET", "https://models.dev/api.json"))
        tape = tape_of(tmp_path, fetched, call("a", "1", 1))
        assert tape.is_answered_elsewhere()
        tape.repeatable = RepeatableCalls((), lambda: tape)
        tape.serve(fetched.request, "agent")
        assert tape.is_answered_elsewhere()
        tape.serve(ask("a"), "agent")
        assert not tape.is_answered_elsewhere()
        alone = tape_of(tmp_path / "alone", fetched)
        alone.repeatable = RepeatableCalls((), lambda: alone)
        alone.serve(fetched.request, "agent")
        assert not alone.is_answered_elsewhere()

    def test_nothing_is_recorded_without_a_cassette(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path)
        assert tape.serve(ask("a"), "agent") is None
        assert tape.missed(ask("a")) == f"case: POST {URL} is not recorded; record it"

    @pytest.mark.usefixtures("hasty")
    def test_a_thousand_identical_calls_of_32_threads_get_a_thousand_answers(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, *(call("a", str(number), number) for number in range(1000)))
        request = ask("a")
        with ThreadPoolExecutor(32) as pool:
            found = list(pool.map(lambda _: tape.serve(request, "agent"), range(1000)))
        assert {int(body_of(exchange)) for exchange in found} == set(range(1000))
        assert sorted(made.seq for made in tape.made) == list(range(1000))
        assert tape.serve(request, "agent") is None

    @pytest.mark.usefixtures("hasty")
    def test_thirty_two_threads_with_a_thousand_calls_each(self, tmp_path: Path) -> None:
        # Each answer is returned once, however the threads come to meet.
        count = 32
        tape = tape_of(tmp_path, *(call("a", str(number), number) for number in range(1000)))
        request = ask("a")

        def thousand(_: int) -> list[bytes]:
            found = (tape.serve(request, "agent") for _ in range(1000))
            return [body_of(exchange) for exchange in found if exchange is not None]

        with ThreadPoolExecutor(count) as pool:
            found = [body for bodies in pool.map(thousand, range(count)) for body in bodies]
        assert len(found) == len(set(found)) == 1000


def older_and_newer(folder: Path, *recordings: dict[str, str], mode: CassetteMode = "replay") -> Tape:
    """Return a tape of several recordings of the same, the newest first, each with answers by what was asked."""
    found = []
    for number, recording in enumerate(recordings):
        path = folder / f"recording-{number}.ndjson"
        calls = [call(asked, answer, seq) for seq, (asked, answer) in enumerate(recording.items())]
        write_cassette(path, {}, calls, RULES)
        found.append(Cassette(path, f"recording {number}", RULES))
    draft = folder / "draft.ndjson"
    return Tape("case", mode, RULES, Redactor({}), "record it", found[0], draft, older=tuple(found[1:]))


class TestBase:
    """The recording of a base answers until the agent asks what it lacks."""

    def test_after_the_first_call_that_it_lacks_it_answers_judges_alone(self, tmp_path: Path) -> None:
        base = [call("a", "1", 0), call("b", "2", 1), call("c", "3", 2)._replace(kind="judge")]
        tape = tape_of(tmp_path, mode="missing", base=base)
        assert body_of(tape.serve(ask("a"), "agent")) == b"1"
        assert tape.serve(ask("other"), "judge") is None
        tape.leave_base("judge")
        assert body_of(tape.serve(ask("b"), "agent")) == b"2"
        tape.leave_base("worker")
        assert tape.serve(ask("b"), "agent") is None
        assert body_of(tape.serve(ask("c"), "judge")) == b"3"
        assert [made.source for made in tape.made] == ["replayed"] * 3

    def test_what_a_trial_that_was_cut_off_has_asked_is_another_answer(self, tmp_path: Path) -> None:
        base = [call("a", "old", 0), call("b", "old", 1), call("c", "old", 2)]
        tape = tape_of(tmp_path, call("other", "new", 0), call("b", "new", 1), mode="missing", base=base)
        answers = [tape.serve(ask(prompt), "agent") for prompt in ("a", "other", "b", "c")]
        assert [one and body_of(one) for one in answers] == [b"old", b"new", b"new", None]
        assert tape.unused() == []

    @pytest.mark.parametrize(
        "response",
        [Response(500, "Broken", (), (b"sorry",)), Response(200, "OK", (), (b"he",), complete=False), None],
        ids=["error", "cut off", "none"],
    )
    def test_an_outage_of_the_base_is_not_replayed(self, tmp_path: Path, response: Response | None) -> None:
        failure = Failure("ConnectError", "refused") if response is None else None
        tape = tape_of(tmp_path, mode="missing", base=[call("a")._replace(response=response, failure=failure)])
        assert tape.serve(ask("a"), "agent") is None
        assert tape.made == []

    def test_a_token_that_is_fetched_anew_is_nothing_that_it_lacks(self, tmp_path: Path) -> None:
        token = '{"access_token": "[MINTED_ACCESS_TOKEN-01234567]", "token_type": "Bearer"}'
        fresh = token.replace("[MINTED_ACCESS_TOKEN-01234567]", "ya29.a0AfH6SMBxqWvT3zYkLmN8rP")
        tape = tape_of(tmp_path, mode="missing", base=[call("a", token, 0), call("b", "2", 1)])
        assert tape.serve(ask("a"), "agent") is None
        assert tape.fetches_token(ask("a"))
        assert not tape.fetches_token(ask("b"))
        tape.keep(call("a", "no", tape.reserve()), record=True)
        assert tape.fetches_token(ask("a"))
        for is_token in (True, False):
            tape.keep(call("a", fresh, tape.reserve()), record=True)
            assert tape.made[-1].is_token is is_token
        tape.close()
        assert body_of(tape.serve(ask("b"), "agent")) == b"2"

    def test_both_parts_are_written_in_the_order_of_the_calls(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="missing", base=[call("a", "1", 0)])
        assert tape.serve(ask("a"), "agent")
        assert tape.is_of_base
        tape.keep(call("b", "2", tape.reserve()), record=True)
        tape.close()
        assert [(one.seq, body_of(one)) for one in (*tape.served(), *tape.recorded())] == [(0, b"1"), (1, b"2")]


class TestOlderRecordings:
    """Of several recordings one is replayed: the newest in which the first request is."""

    @pytest.mark.parametrize("mode", ["replay", "missing"])
    def test_the_newest_that_has_the_first_request(self, tmp_path: Path, mode: CassetteMode) -> None:
        recordings = ({"c": "1"}, {"a": "2", "b": "2"}, {"a": "3", "b": "3"})
        for asked, answer, number in (("a", b"2", 1), ("b", b"2", 1), ("c", b"1", 0)):
            tape = older_and_newer(tmp_path, *recordings, mode=mode)
            assert body_of(tape.serve(ask(asked), "agent")) == answer
            assert tape.name == f"recording {number}"

    def test_all_later_requests_are_answered_by_the_same_one(self, tmp_path: Path) -> None:
        recordings = ({"a": "1", "b": "1"}, {"a": "2", "c": "2"})
        tape = older_and_newer(tmp_path, *recordings)
        assert body_of(tape.serve(ask("a"), "agent")) == b"1"
        assert tape.serve(ask("c"), "agent") is None
        tape = older_and_newer(tmp_path, *recordings)
        assert body_of(tape.serve(ask("c"), "agent")) == b"2"
        assert tape.serve(ask("b"), "agent") is None
        assert body_of(tape.serve(ask("a"), "agent")) == b"2"

    def test_where_none_has_it_the_newest_is_what_it_is_compared_with(self, tmp_path: Path) -> None:
        tape = older_and_newer(tmp_path, {"a": "1"}, {"d": "2"})
        assert tape.serve(ask("x"), "agent") is None
        assert tape.cassette is not None
        assert tape.cassette.name == "recording 0"
        assert tape.serve(ask("d"), "agent") is None, "the older one is out of the question by now"
        assert body_of(tape.serve(ask("a"), "agent")) == b"1"

    def test_what_is_left_over_is_that_of_the_one_that_was_replayed(self, tmp_path: Path) -> None:
        tape = older_and_newer(tmp_path, {"c": "1", "d": "1"}, {"a": "2"})
        tape.serve(ask("a"), "agent")
        assert (tape.left_over(), tape.unused()) == ([], [])

    def test_a_secret_in_the_first_request_is_redacted_before_it_is_looked_for(self, tmp_path: Path) -> None:
        tape = older_and_newer(tmp_path, {"b": "1"}, {"[MY_KEY]": "2"})
        tape.redactor = Redactor({"MY_KEY": "correct-horse-battery"})
        assert body_of(tape.serve(ask("correct-horse-battery"), "agent")) == b"2"

    def test_one_that_was_recorded_under_other_rules_is_found(self, tmp_path: Path) -> None:
        path = tmp_path / "older.ndjson"
        loose = Rules(["trace"])
        write_cassette(path, {}, [traced("1")], RULES)
        tape = older_and_newer(tmp_path, {"a": "1"})
        tape.rules, tape.older = loose, (Cassette(path, "older", loose),)
        assert body_of(tape.serve(traced("2").request, "agent")) == b"1"

    @pytest.mark.usefixtures("hasty")
    def test_threads_that_ask_at_once_are_answered_by_one_recording(self, tmp_path: Path) -> None:
        asked = [f"q{number}" for number in range(60)]
        recordings = [dict.fromkeys(asked, str(number)) for number in range(3)]
        tape = older_and_newer(tmp_path, *recordings)
        with ThreadPoolExecutor(8) as pool:
            found = set(pool.map(lambda one: body_of(tape.serve(ask(one), "agent")), asked))
        assert found == {b"0"}


def varied(variant: str, answer: str = "fine", seq: int = 0) -> Exchange:
    """Return a call that was recorded with a header of its own."""
    made = call("a", answer, seq)
    return made._replace(request=made.request._replace(others=(("x-variant", digest_of(variant)),)))


def asks(variant: str) -> Request:
    """Return the request of such a call."""
    request = ask("a")
    return request._replace(headers=(*request.headers, ("X-Variant", variant)))


class TestHeaders:
    """Where all headers are compared, another value of one is a difference."""

    OTHER = RequestDifference(DifferenceKind.CHANGED, "header x-variant")

    def tape(self, folder: Path, *calls: Exchange, mode: CassetteMode = "replay") -> Tape:
        """Return a tape that compares them."""
        tape = tape_of(folder, *calls, mode=mode)
        tape.header_check = "report"
        return tape

    def test_one_that_differs_is_served_and_said(self, tmp_path: Path) -> None:
        tape = self.tape(tmp_path, call("b", "1", 0), varied("a", "2", 1), varied("a", "3", 2))
        assert [body_of(tape.serve(asks(variant), "worker")) for variant in "bc"] == [b"2", b"3"]
        assert tape.difference == Mismatch("worker", 2, (self.OTHER,))
        assert tape.misses == []

    def test_without_that_they_are_not_looked_at(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, varied("a"))
        assert tape.serve(asks("b"), "agent") is not None
        assert (tape.difference, tape.lacks_headers) == (None, False)

    def test_of_equal_requests_the_one_with_these_headers_comes_first(self, tmp_path: Path) -> None:
        tape = self.tape(tmp_path, *(varied(variant, variant, seq) for seq, variant in enumerate("abab")))
        assert [body_of(tape.serve(asks(variant), "agent")) for variant in "bbaa"] == [b"b", b"b", b"a", b"a"]
        assert tape.difference is None
        assert tape.serve(asks("a"), "agent") is None

    def test_a_recording_that_does_not_say_is_held_to_nothing(self, tmp_path: Path) -> None:
        tape = self.tape(tmp_path, call("a"), call("b", seq=1)._replace(background=True))
        assert tape.serve(ask("b"), "agent") is not None
        assert not tape.lacks_headers
        assert tape.serve(asks("b"), "agent") is not None
        assert (tape.difference, tape.lacks_headers) == (None, True)

    def test_what_cases_share_is_refused(self, tmp_path: Path) -> None:
        """It is not asked again for each of them, so that each has to be told."""
        tape = self.tape(tmp_path, varied("a"))
        tape.header = {"fixture": "index", "scope": "session"}
        with pytest.raises(RecallError, match=f"^case: call 1: {difference_line(self.OTHER)}; record it$"):
            tape.serve(asks("b"), "agent")
        assert tape.difference == Mismatch("agent", 1, (self.OTHER,))

    def test_a_run_that_records_what_is_missing_asks_anew(self, tmp_path: Path) -> None:
        tape = self.tape(tmp_path, varied("a"), mode="missing")
        assert tape.serve(asks("b"), "agent") is None
        assert body_of(tape.serve(asks("a"), "agent")) == b"fine"
        assert tape.difference is None

    def test_a_damaged_line_is_said(self, tmp_path: Path) -> None:
        tape, path = self.tape(tmp_path, varied("a")), tmp_path / "case.ndjson"
        path.write_bytes(path.read_bytes().replace(b"x-variant", b"x-Variant"))
        tape.cassette = Cassette(path, "case", RULES)
        with pytest.raises(RecallError, match=r"^case:3: damaged"):
            tape.serve(asks("a"), "agent")


class TestKeeping:
    """What is recorded, and what is not."""

    def test_other_headers_are_kept_as_digests(self, tmp_path: Path) -> None:
        secret = "correct-horse-battery"
        tape = tape_of(tmp_path, mode="record", secrets={"MY_KEY": secret})
        sent = (("X-Variant", "the-value"), ("x-own", secret), ("authorization", "k"), ("User-Agent", "u"))
        tape.keep(call("a")._replace(request=ask("a")._replace(headers=sent)), record=True)
        tape.keep(call("b"), record=True)
        tape.close()
        kept = [exchange.request for exchange in tape.recorded()]
        assert [request.headers for request in kept] == [(), ask("b").headers]
        assert [request.others for request in kept] == [(("x-own", ""), ("x-variant", digest_of("the-value"))), ()]
        text = (tmp_path / "draft.ndjson").read_text(encoding="utf-8")
        assert (secret in text, "the-value" in text) == (False, False)

    def test_calls_are_kept_in_a_draft_as_they_end(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        tape.keep(call("b", seq=1), record=True)
        tape.keep(call("a", seq=0), record=True)
        assert [exchange.seq for exchange in tape.recorded()] == [1, 0]
        tape.close()
        assert [made.source for made in tape.made] == ["live", "live"]

    def test_a_live_call_is_known_and_not_recorded(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        tape.keep(call("a"), record=False)
        assert (len(tape.made), tape.recorded()) == (1, [])
        assert not (tmp_path / "draft.ndjson").exists()

    def test_secrets_are_replaced_on_every_side(self, tmp_path: Path) -> None:
        secret = "correct-horse-battery"
        tape = tape_of(tmp_path, mode="record", secrets={"MY_KEY": secret})
        request = Request("POST", f"{URL}?tag={secret}", (("x-key", secret),), secret.encode())
        failure = Failure("ReadError", f"no {secret} today")
        tape.keep(
            Exchange("", 0, "agent", request, Response(200, secret, (), (secret.encode(),)), failure), record=True
        )
        tape.close()
        text = (tmp_path / "draft.ndjson").read_text(encoding="utf-8")
        assert secret not in text
        assert text.count("[MY_KEY]") >= 4

    @pytest.mark.parametrize("form", ['{{"ticket": "{}", "for": "us"}}', "{}\n"])
    @pytest.mark.parametrize("header", [("Authorization", "Bearer {}"), ("x-aws-ec2-metadata-token", "{}")])
    def test_what_a_later_request_carries_is_a_token_whatever_its_field_is_called(
        self, tmp_path: Path, form: str, header: tuple[str, str]
    ) -> None:
        token, placeholder = "correct-horse-battery", "[MINTED_TOKEN-"
        tape = tape_of(tmp_path, mode="record")
        carries = (header[0], header[1].format(token))
        asked = ask("b")._replace(headers=(*ask("b").headers, carries))
        tape.keep(call("a", form.format(token)), record=True)
        tape.keep(call("b", f"for {token}", seq=1)._replace(request=asked), record=True)
        tape.keep(call(f"once more {token}", seq=2), record=True)
        tape.close()
        calls = tape.recorded()
        assert token not in str(calls)
        assert all(placeholder in str(one) for one in calls)
        write_cassette(tmp_path / "case.ndjson", {}, calls, RULES)
        Cassette(tmp_path / "case.ndjson", "case", RULES).verify()
        served = tape_of(tmp_path, *calls).serve(ask("a"), "agent")
        assert placeholder in body_of(served).decode()

    def test_a_credential_that_no_answer_has_handed_out_changes_nothing(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record", secrets={"MY_KEY": "correct-horse-battery"})
        for seq, value in enumerate(("Bearer correct-horse-battery", "short", "1764438712")):
            asked = ask("a")._replace(headers=(("Authorization", value),))
            answer = '{"id": "short", "at": "1764438712"}'
            tape.keep(call("a", answer, seq=seq)._replace(request=asked), record=True)
        tape.close()
        assert {body_of(one).decode() for one in tape.recorded()} == {answer}

    def test_what_looks_like_a_key_is_not_written(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        tape.keep(call("sk-ant-" + "api03-Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3"), record=True)
        assert tape.recorded() == []
        [problem] = tape.problems
        assert problem.startswith(
            f"case: a call to {URL} was not recorded, since it holds what looks like an Anthropic"
        )
        assert "sk-" not in problem

    @pytest.mark.parametrize("place", ["the URL", "the reason"])
    def test_a_call_is_named_without_the_key_that_it_holds(self, tmp_path: Path, place: str) -> None:
        key = "ghp_" + "Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3Rk7Wq2Zx9Lm4"
        url, reason = (f"{URL}/{key}", "OK") if place == "the URL" else (URL, key)
        tape = tape_of(tmp_path, mode="record")
        tape.keep(Exchange("", 0, "agent", Request("POST", url), Response(200, reason, (), (b"a",))), record=True)
        assert tape.recorded() == []
        [problem] = tape.problems
        assert f"it holds what looks like a GitHub token in {place};" in problem
        assert "ghp_" not in problem
        assert tape.unkept == ["secret"]

    def test_a_call_that_ends_after_its_test_is_said_and_not_recorded(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        tape.close()
        tape.keep(call("a"), record=True)
        assert not (tmp_path / "draft.ndjson").exists()
        assert tape.problems == [
            f"case: a call to {URL} ended after its test, and was not recorded; let the test wait for it"
        ]

    def test_the_last_call_of_a_thread_from_before_the_test_is_left_out(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        tape.close()
        tape.keep(call("a")._replace(background=True), record=True)
        assert (tape.recorded(), tape.problems) == ([], [])

    def test_a_draft_that_cannot_be_written_is_said(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        (tmp_path / "draft.ndjson").mkdir()
        tape.keep(call("a"), record=True)
        [problem] = tape.problems
        assert problem.startswith("case: a call was not recorded (")

    @pytest.mark.usefixtures("hasty")
    def test_many_threads_keep_every_call(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda number: tape.keep(call(f"p{number % 7}", seq=number), record=True), range(200)))
        tape.close()
        assert sorted(exchange.seq for exchange in tape.recorded()) == list(range(200))


class TestOtherHeaders:
    """Calls with one key and several answers are told apart by headers that are not matched."""

    @staticmethod
    def of(tenant: str | None, answer: str, seq: int) -> Exchange:
        """Return a call of a tenant; None where the recording does not say which headers there were."""
        others = None if tenant is None else (("x-tenant", digest_of(tenant)),)
        recorded = call("a", answer, seq)
        return recorded._replace(request=recorded.request._replace(others=others))

    @staticmethod
    def by(tenant: str) -> Request:
        """Return the request of a tenant."""
        asked = ask("a")
        return asked._replace(headers=(*asked.headers, ("X-Tenant", tenant)))

    def test_each_gets_its_own_in_any_order(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, self.of("acme", "1", 0), self.of("zen", "2", 1), self.of("acme", "3", 2))
        served = [tape.serve(self.by(tenant), "agent") for tenant in ("zen", "acme", "acme")]
        assert [body_of(one) for one in served] == [b"2", b"1", b"3"]
        assert tape.serve(self.by("zen"), "agent") is None
        assert body_of(tape.serve_again(self.by("acme"))) == b"3"
        assert tape.unused() == []

    @pytest.mark.parametrize("check", ["off", "report"])
    def test_another_value_is_a_miss_that_names_the_header(self, tmp_path: Path, check: HeaderCheck) -> None:
        tape = tape_of(tmp_path, self.of("acme", "1", 0), self.of("zen", "2", 1))
        tape.header_check = check
        assert tape.serve(self.by("other"), "agent") is None
        assert not tape.holds(self.by("other"))
        assert "add `match_headers: [x-tenant]`" in tape.missed(self.by("other"))
        assert tape.difference == Mismatch("agent", 0, (RequestDifference(DifferenceKind.CHANGED, "header x-tenant"),))

    @pytest.mark.parametrize(
        ("calls", "served"),
        [
            ([("acme", "1"), ("zen", "1")], [b"1", b"1"]),
            ([("acme", "1"), ("acme", "2")], [b"1", b"2"]),
            ([("acme", "1"), (None, "2")], [b"1", b"2"]),
        ],
    )
    def test_where_nothing_tells_them_apart_they_are_in_turn(
        self, tmp_path: Path, calls: list[tuple[str | None, str]], served: list[bytes]
    ) -> None:
        tape = tape_of(tmp_path, *(self.of(tenant, answer, seq) for seq, (tenant, answer) in enumerate(calls)))
        assert [body_of(tape.serve(self.by("other"), "agent")) for _ in calls] == served

    def test_a_header_that_is_ignored_tells_none_apart(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, self.of("acme", "1", 0), self.of("zen", "2", 1))
        tape.rules = Rules(ignored=["x-tenant"])
        assert [body_of(tape.serve(self.by("zen"), "agent")) for _ in range(2)] == [b"1", b"2"]


class TestMessages:
    """What is said of a request that nothing answers."""

    def test_the_nearest_is_named_with_what_changed(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, call("good morning", seq=0), call("something else", seq=1))
        assert tape.missed(ask("good evening")) == (
            f"case: POST {URL} is not recorded; record it\n"
            "  nearest: call 1, recorded → asked\n"
            "    prompt: “good morning” → “good evening”"
        )

    def test_one_too_many(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, call("a"))
        tape.serve(ask("a"), "agent")
        assert tape.missed(ask("a")) == (
            f"case: POST {URL} is asked once more than it was recorded, which is once; record it"
        )

    def test_many_changes_are_cut_short(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, call("a"))
        lines = tape.missed(ask("a")._replace(body=b'{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}'))
        assert lines.splitlines()[2:][8:] == ["    … 2 more"]

    def test_a_cassette_without_calls_has_none_near(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path)
        write_cassette(tmp_path / "case.ndjson", {}, [], RULES)
        tape.cassette = Cassette(tmp_path / "case.ndjson", "case", RULES)
        assert tape.missed(ask("a")) == f"case: POST {URL} is not recorded; record it"
        assert tape.difference is not None
        assert tape.difference.differences == (RequestDifference(DifferenceKind.NOT_RECORDED, f"POST {URL}"),)


class TestDamage:
    """A recording that was changed by hand is told where it is read, and nothing is compared with it."""

    SAID = "case:3: damaged (its checksum does not fit); restore the cassette from git, or record it again"

    @pytest.fixture
    def damaged(self, tmp_path: Path) -> Tape:
        """A tape with one call, whose answer is another one than was recorded."""
        tape, path = tape_of(tmp_path, call("a")), tmp_path / "case.ndjson"
        path.write_bytes(path.read_bytes().replace(b"fine", b"nine"))
        tape.cassette = Cassette(path, "case", RULES)
        return tape

    def test_a_miss_and_what_is_left_over_say_so(self, damaged: Tape) -> None:
        assert damaged.missed(ask("b")) == (
            f"case: POST {URL} is not recorded, and the cassette is damaged: {self.SAID}"
        )
        assert damaged.left_over() == [self.SAID]
        with pytest.raises(RecallError) as error:
            damaged.serve(ask("a"), "agent")
        assert str(error.value) == self.SAID

    def test_an_id_that_may_be_of_a_damaged_answer_is_kept(self, tmp_path: Path) -> None:
        def about(call_id: str) -> bytes:
            called = {"role": "assistant", "tool_calls": [{"id": call_id, "function": {"name": "f"}}]}
            return json.dumps({"messages": [called, {"role": "tool", "tool_call_id": call_id}]}).encode()

        found = []
        for damage in (b"", b"burn"):
            path = tmp_path / "case.ndjson"
            asked = ask("")._replace(body=b'{"messages":[{"role":"user","content":"turn"}]}')
            tape = tape_of(tmp_path, call("a")._replace(request=asked, key=key_of(asked, RULES)), mode="missing")
            path.write_bytes(path.read_bytes().replace(b"turn", damage or b"turn"))
            tape.cassette = Cassette(path, "case", RULES)
            assert body_of(tape.serve(asked, "agent")) == b"fine"
            tape.keep(call("", seq=1)._replace(request=asked._replace(body=about("call_of_mine"))), record=True)
            found += [b"call_of_mine" in one.request.body for one in tape.recorded()]
            tape.close()
            (tmp_path / "draft.ndjson").unlink()
        assert found == [False, True]
