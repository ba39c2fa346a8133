"""The player: what is done with each call, by its kind, its tape and the mode."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.exchange import Failure, Request
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import CassetteMode
from tests.replay.test_tape import URL, ask, body_of, call, tape_of


class TestWays:
    """By cassette, live, or not at all."""

    @pytest.mark.parametrize("mode", ["off", "record", "missing"])
    def test_without_a_tape_calls_go_through(self, mode: CassetteMode) -> None:
        assert Player(mode).ask(ask("a")) == CallStep()

    def test_without_a_tape_nothing_is_sent_in_a_replay(self) -> None:
        player = Player("replay")
        with pytest.raises(MissError, match="called outside of any case, and nothing is sent in a replay"):
            player.ask(ask("a"))
        assert len(player.strays) == 1

    @pytest.mark.parametrize("named", ["by the rubric", "by a variable"])
    def test_a_model_at_a_place_that_takes_telemetry_is_asked_all_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
    ) -> None:
        host = "gateway.example:4318"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{host}" if named == "by a variable" else "")
        player = Player("replay", telemetry=[host] if named == "by the rubric" else [])
        with player.playing(tape_of(tmp_path)) as tape:
            served = player.ask(Request("POST", f"http://{host}/v1/traces", (), b"")).served
            assert served is not None
            with pytest.raises(MissError, match="is not recorded"):
                player.ask(Request("POST", f"http://{host}/v1/chat/completions", (), b"{}"))
        assert len(tape.misses) == 1

    def test_what_is_recorded_at_such_a_place_is_replayed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", URL.replace("messages", "traces"))
        asked = Request("GET", URL.replace("messages", "traces"), (), b"")
        player = Player("replay")
        with player.playing(tape_of(tmp_path, call("a")._replace(request=asked))) as tape:
            assert body_of(player.ask(asked).served) == b"fine"
            assert body_of(player.ask(asked._replace(method="POST")).served) != b"fine"
        assert tape.misses == []

    @pytest.mark.parametrize(
        ("path", "host", "names"),
        [
            ("/otel/v1/traces?a=b", "x", (True, True)),
            ("/v1/logs", "x", (True, True)),
            ("/v1/messages", "other.example", (False, False)),
            ("/any", "upstream", (True, False)),
            ("/any", "other.example", (True, True)),
        ],
    )
    def test_a_miss_where_telemetry_may_be_sent_names_its_setting(
        self, tmp_path: Path, path: str, host: str, names: tuple[bool, bool]
    ) -> None:
        player, request = Player("replay"), Request("POST", f"http://{host}{path}", (), b"")
        with pytest.raises(MissError) as outside:
            player.ask(request)
        with player.playing(tape_of(tmp_path, call("a"))), pytest.raises(MissError) as missed:
            player.ask(request)
        assert tuple("`calls: {HOST: telemetry}`" in str(one.value) for one in (outside, missed)) == names

    def test_off_listens_and_records_nothing(self, tmp_path: Path) -> None:
        player = Player("off")
        tape = tape_of(tmp_path, mode="off")
        with player.playing(tape):
            step = player.ask(ask("a"))
        assert step.served is None
        assert step.recorder is not None
        assert not step.record
        ended(step.recorder)
        assert (len(tape.made), tape.recorded()) == (1, [])

    def test_record_listens_and_records(self, tmp_path: Path) -> None:
        player = Player("record")
        tape = tape_of(tmp_path, mode="record")
        with player.playing(tape):
            step = player.ask(ask("a"))
        assert step.record
        assert step.recorder is not None
        ended(step.recorder)
        tape.close()
        [exchange] = tape.recorded()
        assert body_of(exchange) == b"well done"
        assert exchange.key

    def test_once_a_call_is_live_others_at_once_are_live_too(self, tmp_path: Path) -> None:
        player = Player("missing")
        tape = tape_of(tmp_path, mode="missing", base=[call("a", seq=0), call("b", seq=1), call("c", seq=2)])
        with player.playing(tape), ThreadPoolExecutor(1) as pool:
            assert body_of(player.ask(ask("a")).served) == b"fine"
            assert player.ask(ask("other")).record  # It has no answer yet.
            assert pool.submit(player.ask, ask("b")).result().record
            with player.asking("judge"):
                assert body_of(player.ask(ask("c")).served) == b"fine"

    def test_missing_serves_what_there_is_and_records_the_rest(self, tmp_path: Path) -> None:
        player = Player("missing")
        with player.playing(tape_of(tmp_path, call("a"), mode="missing")):
            assert body_of(player.ask(ask("a")).served) == b"fine"
            assert player.ask(ask("a")).record
            assert player.ask(ask("b")).record

    def test_replay_serves_or_refuses(self, tmp_path: Path) -> None:
        player = Player("replay")
        tape = tape_of(tmp_path, call("a"))
        with player.playing(tape):
            assert body_of(player.ask(ask("a")).served) == b"fine"
            with pytest.raises(MissError, match="is asked once more"):
                player.ask(ask("a"))
            with pytest.raises(MissError, match="is not recorded"):
                player.ask(ask("b"))
        assert len(tape.misses) == 2
        assert player.strays == []

    def test_a_miss_is_no_exception_that_anybody_catches(self) -> None:
        assert not issubclass(MissError, Exception)

    def test_missing_sends_nothing_with_the_placeholder_of_a_token(self, tmp_path: Path) -> None:
        player = Player("missing")
        token = ("authorization", "Bearer [MINTED_ACCESS_TOKEN-01234567]")
        with player.playing(tape_of(tmp_path, call("a"), mode="missing")):
            assert body_of(player.ask(ask("a")._replace(headers=(token,))).served) == b"fine"
            with pytest.raises(MissError, match="holds the placeholder of a token"):
                player.ask(ask("b")._replace(headers=(token,)))

    @pytest.mark.parametrize("mode", ["off", "record", "missing", "replay"])
    def test_a_forbidden_kind_is_refused(self, tmp_path: Path, mode: CassetteMode) -> None:
        player = Player(mode, {"judge": "forbidden"})
        tape = tape_of(tmp_path, mode=mode)
        with player.playing(tape), player.asking("judge"), pytest.raises(MissError, match="`judge` are forbidden"):
            player.ask(ask("a"))
        assert len(tape.misses) == 1

    def test_a_live_kind_is_let_through_in_a_replay(self, tmp_path: Path) -> None:
        player = Player("replay", {"judge": "live"})
        with player.playing(tape_of(tmp_path)), player.asking("judge"):
            step = player.ask(ask("a"))
        assert step.recorder is not None
        assert not step.record

    @pytest.mark.parametrize(
        ("ignored", "url", "let_through"),
        [
            ("upstream", URL, True),
            ("UPSTREAM:80", URL, True),
            ("upstream:443", URL, False),
            ("other", URL, False),
            ("localhost", "http://127.0.0.1:9/x", True),
            ("localhost:9", "http://[::1]:9/x", True),
            ("127.0.0.1", "http://localhost:9/x", False),
        ],
    )
    def test_an_ignored_host_is_none_of_our_business(
        self, tmp_path: Path, ignored: str, url: str, let_through: bool
    ) -> None:
        player = Player("replay", ignored=[ignored])
        with player.playing(tape_of(tmp_path)):
            if let_through:
                assert player.ask(Request("GET", url)) == CallStep()
            else:
                with pytest.raises(MissError):
                    player.ask(Request("GET", url))


class TestTaps:
    """How a call ended."""

    @pytest.mark.parametrize(
        ("chunks", "complete"),
        [
            ([b"data: 1\n\n", b"data: [DONE]\n\n"], True),
            ([b"data: 1\n\n", b"data: [DO", b"NE]\n\n"], True),
            ([b"event: message_stop\ndata: {}\n\n"], True),
            ([b"data: 1\n\n"], False),
            ([], False),
        ],
    )
    def test_closing_after_the_last_event_is_the_end(self, tmp_path: Path, chunks: list[bytes], complete: bool) -> None:
        tape = tape_of(tmp_path, mode="record")
        recorder = CallRecorder(tape, ask("a"), "agent", record=True)
        recorder.started(200, "OK", ())
        for chunk in chunks:
            recorder.chunk(chunk)
        recorder.closed()
        tape.close()
        [exchange] = tape.recorded()
        assert exchange.response is not None
        assert exchange.response.complete is complete

    def test_only_the_first_end_counts(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        recorder = CallRecorder(tape, ask("a"), "agent", record=True)
        ended(recorder)
        recorder.closed()
        recorder.failed("ReadError", "late")
        tape.close()
        [exchange] = tape.recorded()
        assert exchange.failure is None
        assert exchange.response is not None
        assert exchange.response.complete

    def test_who_has_cancelled_a_call_is_not_recorded(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        recorder = CallRecorder(tape, ask("a"), "agent", record=True)
        recorder.failed("CancelledError", "Cancelled via cancel scope 7f08ce88cae0 by <Task pending name='Task-113'>")
        tape.close()
        assert [exchange.failure for exchange in tape.recorded()] == [Failure("CancelledError", "")]

    def test_the_order_is_that_in_which_calls_begin(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        for prompt in ("long enough", "a", "b"):
            ended(CallRecorder(tape, ask(prompt), "agent", record=True))
        tape.close()
        assert [(exchange.seq, exchange.request.body) for exchange in tape.recorded()] == [
            (0, b'{"prompt":"long enough"}'),
            (1, b'{"prompt":"a"}'),
            (2, b'{"prompt":"b"}'),
        ]

    def test_the_order_of_calls_at_once_is_by_what_they_ask(self, tmp_path: Path) -> None:
        """Which of them begins first, and which ends, is another one each time."""
        found = set()
        for number, prompts in enumerate(itertools.permutations(["a", "bb", "cc"])):
            tape = tape_of(tmp_path / str(number), mode="record")
            ended(CallRecorder(tape, ask("alone and before"), "agent", record=True))
            several = [CallRecorder(tape, ask(prompt), "agent", record=True) for prompt in prompts]
            for recorder in several[1:] + several[:1]:
                ended(recorder)
            ended(CallRecorder(tape, ask("z"), "agent", record=True))
            tape.close()
            kept = sorted(tape.recorded(), key=lambda exchange: exchange.seq)
            found.add(tuple(exchange.request.body for exchange in kept))
            assert [exchange.seq for exchange in kept] == [0, 1, 2, 3, 4]
        (order,) = found
        assert order[:2] == (b'{"prompt":"alone and before"}', b'{"prompt":"a"}')
        assert order[-1] == b'{"prompt":"z"}'

    def test_what_a_judge_asks_while_a_stream_is_left_open_comes_after_it(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        left = CallRecorder(tape, ask("long enough"), "agent", record=True)
        left.started(200, "OK", ())
        ended(CallRecorder(tape, ask("long enough, and answered"), "agent", record=True))
        ended(CallRecorder(tape, ask("ok?"), "judge", record=True))
        tape.close()
        kept = sorted(tape.recorded(), key=lambda exchange: exchange.seq)
        assert [(exchange.kind, len(exchange.request.body)) for exchange in kept] == [
            ("agent", 24),
            ("agent", 38),
            ("judge", 16),
        ]


def ended(recorder: CallRecorder) -> None:
    """Let a call end well."""
    recorder.started(200, "OK", ())
    recorder.chunk(b"well ")
    recorder.chunk(b"done")
    recorder.ended()
