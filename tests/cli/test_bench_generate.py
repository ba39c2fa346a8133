"""`recall bench generate-qa`, `generate-conversations`, `generate-tool-calls`, with a model on the loopback device."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_recall.cli import main
from pytest_recall.files import strict_yaml
from tests.cli.samples import environment, recall
from tests.helpers import programs
from tests.helpers.command import Done
from tests.horizon import tenday
from tests.models.endpoint import Answer, Asked, Endpoint, chat, endpoint, failure

ARCS = ("--arcs", tenday.ARCS)
Command = Callable[..., Done]


@pytest.fixture(name="persona")
def _persona(tmp_path: Path) -> Path:
    return tenday.write(tmp_path / "persona")


@pytest.fixture(name="bench")
def _bench(persona: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(persona.parent)
    monkeypatch.setenv("OPENAI_API_KEY", "key")

    def call(name: str, *more: str) -> Done:
        try:
            code = main(["bench", name, "--persona", "persona", *ARCS, *more])
        except SystemExit as error:
            code = int(str(error.code))
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture(name="said")
def _said() -> Iterator[Callable[..., Endpoint]]:
    opened = []

    def open_one(*script: Any) -> Endpoint:
        context = endpoint(*script)
        opened.append(context)
        return context.__enter__()

    yield open_one
    for context in opened:
        context.__exit__(None, None, None)


def model(upstream: Endpoint) -> tuple[str, str]:
    return "--model", f"openai:scripted;{upstream.url}/v1"


def message(asked: Asked) -> str:
    return str(asked.body["messages"][-1]["content"])


def proposal(number: int, day: int, **more: Any) -> dict[str, Any]:
    plain = {"question": f"What about {number}?", "answer": "This.", "category": "factual-recall"}
    return {**plain, "difficulty": "easy", "relevant_days": [day], **more}


def proposing(asked: Asked) -> Answer:
    """Propose two questions about the last day that is shown."""
    day = max(int(line.split("DAY ")[1].split(" ")[0]) for line in message(asked).split("\n") if " DAY " in line[:40])
    return chat(json.dumps([proposal(day * 10, day), proposal(day * 10 + 1, day)]))


@pytest.mark.parametrize("command", ["generate-qa", "generate-conversations", "generate-tool-calls"])
def test_a_selector_of_no_model_is_refused_with_those_that_there_are(
    bench: Command, persona: Path, command: str
) -> None:
    before = sorted(persona.rglob("*"))
    done = bench(command, "--model", "offline")
    assert (done.code, done.out) == (2, "")
    assert all(name in done.err for name in ("'offline'", "anthropic", "openai", "python"))
    assert sorted(persona.rglob("*")) == before


class TestQuestions:
    """Questions, window by window."""

    def test_each_window_is_asked_for_with_its_days(self, bench: Command, said: Any, persona: Path) -> None:
        upstream = said(proposing)
        done = bench("generate-qa", *model(upstream), "--interval", "4")
        assert (done.code, done.out) == (
            0,
            "persona/qa-10d/questions.yaml: 6 questions added (factual-recall 6)\n3 calls, $0.00\n",
        )
        first, second, third = map(message, upstream.asked)
        assert "DAY 4 (2026-03-05, Thursday)" in first
        assert "DAY 5" not in first
        assert "Write 12 questions." in first
        assert "factual-recall 0" in first
        assert "factual-recall 2" in second
        assert "- What about 41?" in second
        assert "corrected to: The workshop opens at 10:00 on Saturday" in second
        assert "Write 6 questions." in third
        assert "day 1" not in (persona / "qa-10d/questions.yaml").read_text()

    def test_it_goes_on_where_it_was_stopped(self, bench: Command, said: Any, persona: Path) -> None:
        """By what was done and not by the days of the questions: no one asked about day 8."""
        path = persona / "qa-10d/questions.yaml"
        early = chat(json.dumps([proposal(1, 5)]))
        stopped = said(proposing, early, failure(401, "no such key"))
        done = bench("generate-qa", *model(stopped), "--interval", "4")
        assert done.code == 2
        assert "days 9 to 10: " in done.err
        assert done.err.endswith("the same command resumes it\n")
        there = path.read_text()
        path.write_text(there.replace("  difficulty", "  irrelevant_after: 9\n  note: ours\n  difficulty", 1))
        there = path.read_text()
        upstream = said(proposing)
        assert bench("generate-qa", *model(upstream), "--interval", "4").code == 0
        assert len(upstream.asked) == 1
        assert path.read_text().startswith(there)
        assert [row["id"] for row in strict_yaml.load(path.read_text(), "x")] == [
            f"workshop-q00{n}" for n in range(1, 6)
        ]
        assert bench("generate-qa", *model(upstream), "--interval", "4").out.endswith(
            ": 0 questions added\nno call was made\n"
        )
        assert len(upstream.asked) == 1

    def test_boundary_questions_keep_no_standard_window_from_being_written(self, bench: Command, said: Any) -> None:
        refused = said(chat(json.dumps([{**proposal(1, 2), "answer": "Decline to disclose that."}])))
        assert bench("generate-qa", *model(refused), "--mode", "boundary", "--query-session", "health").code == 0
        upstream = said(proposing)
        assert bench("generate-qa", *model(upstream), "--interval", "5").code == 0
        assert len(upstream.asked) == 2

    def test_a_reply_that_was_cut_off_is_used_as_far_as_it_goes(self, bench: Command, said: Any) -> None:
        whole = json.dumps([proposal(1, 3), proposal(2, 3)])
        upstream = said(chat(f"```json\n{whole[:-30]}", "length"))
        done = bench("generate-qa", *model(upstream), "--interval", "10")
        assert (done.code, done.out.split(": ")[1]) == (
            0,
            "1 question added (factual-recall 1)\n1 call, $0.00\n",
        )
        assert "days 1 to 10: the reply breaks off after 1 question, kept all the same" in done.err

    def test_what_is_not_taken_is_told_and_asked_for_once_more(self, bench: Command, said: Any) -> None:
        bad = [proposal(1, 11), proposal(2, 3, question="What was on day 3?"), proposal(3, 3, difficulty="mild")]
        upstream = said(chat(json.dumps(bad)), chat(json.dumps([proposal(4, 3)])))
        done = bench("generate-qa", *model(upstream), "--interval", "10")
        assert done.code == 0
        assert "not taken: names day 11, which was not shown: What about 1?" in done.err
        assert "not taken: speaks of 'day 3': What was on day 3?" in done.err
        assert "not taken: `difficulty` does not fit" in done.err
        assert "This was asked before, and a question was not taken" in message(upstream.asked[1])

    @pytest.mark.parametrize("reply", ["Sorry, I cannot.", "[]", '[{"question": '])
    def test_a_window_without_a_question_is_left_out_and_asked_for_again(
        self, bench: Command, said: Any, persona: Path, reply: str
    ) -> None:
        upstream = said(chat(reply), chat(reply), proposing)
        done = bench("generate-qa", *model(upstream), "--interval", "5", "--json")
        assert done.code == 2
        plain = json.loads(done.out)
        assert plain["left_out"] == ["days 1 to 5"]
        assert plain["added"] == ["workshop-q001", "workshop-q002"]
        assert bench("generate-qa", *model(upstream), "--interval", "5").code == 0
        rows = strict_yaml.load((persona / "qa-10d/questions.yaml").read_text(), "x")
        assert [row["relevant_days"] for row in rows] == [[10], [10], [5], [5]]

    def test_boundary_probes_and_those_that_must_be_answered(self, bench: Command, said: Any, persona: Path) -> None:
        def probing(asked: Asked) -> Answer:
            about = message(asked)
            assert "Saturday" not in about.split("BEGIN")[1]
            if "Dr. Falk" in about:
                reveals = {**proposal(5, 4), "answer": "Decline to tell of 14:45 with Dr. Falk."}
                return chat(json.dumps([reveals, {**proposal(6, 4), "answer": "Decline: that is not told here."}]))
            fine = {**proposal(1, 2), "answer": "Decline to disclose that."}
            control = {**proposal(2, 9), "answer": "$1,175", "expected_disclosure": "answer"}
            wrong = {**proposal(3, 9), "answer": "$9,999", "expected_disclosure": "answer"}
            return chat(json.dumps([fine, control, wrong]))

        upstream = said(probing)
        done = bench("generate-qa", *model(upstream), "--mode", "boundary")
        assert done.code == 0
        assert "health, days 4 to 4: not taken: tells " in done.err
        assert "lease, days 2 to 9: not taken: has $9,999 in its reference, which its days have not" in done.err
        rows = strict_yaml.load((persona / "qa-10d/questions.yaml").read_text(), "x")
        assert [(row["query_session"], row["forbidden_sessions"], row["expected_disclosure"]) for row in rows] == [
            ("principal", ["lease"], "refuse"),
            ("lease", ["health"], "answer"),
            ("principal", ["health"], "refuse"),
        ]

    def test_questions_from_elsewhere_need_a_start(self, bench: Command, said: Any, persona: Path) -> None:
        tenday.write_questions(persona, tenday.question(7))
        upstream = said(proposing)
        done = bench("generate-qa", *model(upstream))
        assert (done.code, len(upstream.asked)) == (2, 0)
        assert "has 1 question, and nothing says which days they cover; give --start" in done.err
        done = bench("generate-qa", *model(upstream), "--start", "7", "--interval", "4")
        assert done.code == 0
        ids = [row["id"] for row in strict_yaml.load((persona / "qa-10d/questions.yaml").read_text(), "x")]
        assert ids == [f"workshop-q{n:03}" for n in (7, 8, 9, 10, 11)]

    def test_a_dry_run_asks_nobody_and_writes_nothing(self, bench: Command, said: Any, persona: Path) -> None:
        upstream = said(proposing)
        dry = ("generate-qa", "--interval", "5", "--dry-run")
        assert bench(*dry, *model(upstream)).out.endswith(", at most $0.00 at list price\n")
        done = bench(*dry, "--model", "openai:m;https://models.example/v1")
        assert done.out.startswith("2 windows: 2 calls or more, about ")
        assert done.out.endswith("its price is not known\n")
        plain = json.loads(bench("generate-qa", "--model", "openai:gpt-4o-mini", "--dry-run", "--json").out)
        assert (plain["windows"], plain["calls"], plain["output_tokens"]) == (2, 2, 8000)
        assert plain["usd"] > 0
        assert (upstream.asked, (persona / "qa-10d").exists()) == ([], False)

    def test_a_profile_names_the_persona_and_the_model(
        self, persona: Path, said: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "")
        monkeypatch.delenv("OPENAI_API_KEY")  # and what is set on the way goes again
        (tmp_path / "keys.env").write_text("OPENAI_API_KEY=from-the-file\n")
        upstream = said(proposing)
        plain = {
            "env": {"file": "keys.env"},
            "persona": {"id": "workshop", "dir": "persona", "arcs": tenday.ARCS},
            "models": {"generation": model(upstream)[1]},
            "generate": {"temperature": 0.2, "maxTokens": 1234},
        }
        (tmp_path / "run.yaml").write_text(json.dumps(plain))
        assert main(["bench", "generate-qa", "--profile", str(tmp_path / "run.yaml"), "--max-tokens", "99"]) == 0
        assert upstream.asked[0].body["temperature"] == 0.2
        assert upstream.asked[0].body["max_tokens"] == 99
        assert upstream.asked[0].headers["authorization"] == "Bearer from-the-file"

    def test_a_profile_says_which_days_questions_are_about(
        self, persona: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def windows(part: dict[str, Any], *more: str) -> tuple[Any, str]:
            plain = {"persona": {"id": "workshop", "dir": "persona", "arcs": tenday.ARCS}, "generate": part}
            (tmp_path / "run.yaml").write_text(json.dumps(plain))
            asking = ("--model", "openai:gpt-4o-mini", "--interval", "2", "--dry-run", "--json", *more)
            assert main(["bench", "generate-qa", "--profile", str(tmp_path / "run.yaml"), *asking]) == 0
            captured = capsys.readouterr()
            return json.loads(captured.out)["windows"], captured.err

        assert windows({}) == (5, "")
        assert windows({"days": 4}) == (2, "")
        assert windows({"start": 3, "end": 8}) == (3, "")
        assert windows({"start": 3, "end": 8}, "--end", "10") == (5, "")
        told = "run.yaml: generate.historyWindow: no effect on `recall bench generate-qa`\n"
        assert windows({"historyWindow": 2})[1].endswith(told)

    def test_a_pass_that_is_killed_goes_on_to_the_same_questions(
        self, persona: Path, said: Any, tmp_path: Path
    ) -> None:
        """The command, ended while it waits for its second window."""
        other = tenday.write(tmp_path / "other")
        upstream: Endpoint = said(proposing)
        upstream.script = [proposing, upstream.hang, proposing]
        arguments = [*ARCS, "--interval", "4", *model(upstream)]
        ended(signal.SIGKILL, upstream, 2, "generate-qa", "--persona", str(persona), *arguments)
        assert recall_with_key(tmp_path, "bench", "generate-qa", "--persona", str(persona), *arguments).code == 0
        assert len(upstream.asked) == 4
        assert recall_with_key(tmp_path, "bench", "generate-qa", "--persona", str(other), *arguments).code == 0
        name = "qa-10d/questions.yaml"
        assert (persona / name).read_bytes() == (other / name).read_bytes()


def ended(by: signal.Signals, upstream: Endpoint, asked: int, *arguments: str) -> Done:
    """Run the command until so much has been asked, and end it by a signal."""
    running = programs.begin(Path.cwd(), "bench", *arguments, env={**environment(), "OPENAI_API_KEY": "k"})
    until = time.monotonic() + 60
    while len(upstream.asked) < asked and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(running.pid, by)
    out, err = running.communicate(timeout=60)
    return Done(running.returncode, out, err)


def recall_with_key(folder: Path, *arguments: str) -> Done:
    return recall(folder, *arguments, OPENAI_API_KEY="k")


TURNS = [{"role": "user", "content": "And?"}, {"role": "assistant", "content": "Done."}]


class TestConversations:
    """Days as conversations."""

    def test_each_day_by_itself_with_its_date(self, bench: Command, said: Any, persona: Path) -> None:
        upstream = said(chat(json.dumps(TURNS)))
        done = bench("generate-conversations", *model(upstream), "--concurrency", "3")
        assert (done.code, done.out) == (
            0,
            "persona/conversations-10d: 10 days written, 0 were there, 0 left out; 10 calls, $0.00\n",
        )
        texts = sorted(map(message, upstream.asked))
        assert len(texts) == 10
        assert texts[0].startswith("Today is Friday, 2026-03-06.\n")
        assert "The agent is Robin, AI assistant" in upstream.asked[0].body["messages"][0]["content"]
        path = persona / "conversations-10d" / "conv-0007.md"
        assert path.read_text() == "**User**:\n\nAnd?\n\n**Assistant**:\n\nDone.\n"

    def test_what_is_there_is_kept_and_not_asked_for(self, bench: Command, said: Any, persona: Path) -> None:
        upstream = said(chat(json.dumps(TURNS)))
        folder = persona / "conversations-10d"
        folder.mkdir()
        (folder / "conv-0002.json").write_text("[]")
        options = (*model(upstream), "--days", "3", "--format", "json")
        assert "2 days written, 1 were there" in bench("generate-conversations", *options).out
        assert (len(upstream.asked), (folder / "conv-0002.json").read_text()) == (2, "[]")
        assert json.loads((folder / "conv-0003.json").read_text()) == TURNS
        assert "3 days written, 0 were there" in bench("generate-conversations", *options, "--overwrite").out
        assert json.loads((folder / "conv-0002.json").read_text()) == TURNS

    def test_a_day_that_cannot_be_read_twice_is_left_out_and_named(
        self, bench: Command, said: Any, persona: Path
    ) -> None:
        def answering(asked: Asked) -> Answer:
            return chat("Hello! How can I help?" if "2026-03-03" in message(asked) else json.dumps(TURNS))

        upstream = said(answering)
        done = bench("generate-conversations", *model(upstream), "--start", "1", "--end", "3")
        assert (done.code, len(upstream.asked)) == (2, 4)
        assert "day 2 left out: the reply has no JSON list of objects; the same command asks it again" in done.err
        assert sorted(one.name for one in (persona / "conversations-10d").iterdir()) == ["conv-0001.md", "conv-0003.md"]

    def test_a_model_that_cannot_be_asked_is_asked_once(self, bench: Command, said: Any) -> None:
        upstream = said(failure(401, "no such key"))
        done = bench("generate-conversations", *model(upstream), "--json")
        assert (done.code, len(upstream.asked)) == (2, 1)
        assert len(json.loads(done.out)["left_out"]) == 10
        assert done.err.count("left out") == 1

    def test_whoever_stops_it_is_told_how_to_go_on(self, said: Any, persona: Path) -> None:
        upstream: Endpoint = said(chat(json.dumps(TURNS)))
        upstream.script.append(upstream.hang)
        arguments = ("--persona", str(persona), *ARCS, *model(upstream))
        done = ended(signal.SIGINT, upstream, 2, "generate-conversations", *arguments)
        folder = persona / "conversations-10d"
        assert (done.code, done.out) == (130, "")
        assert done.err.endswith(f"recall: {folder}: stopped; the same command resumes it\n")
        assert [path.name for path in folder.iterdir()] == ["conv-0001.md"]

    @pytest.mark.parametrize(
        "turns",
        [
            TURNS[:1],
            TURNS[::-1],
            [*TURNS, {"role": "system", "content": "x"}],
            [*TURNS, {"role": "user", "content": " "}],
        ],
    )
    def test_what_is_no_conversation(self, bench: Command, said: Any, turns: Any) -> None:
        upstream = said(chat(json.dumps(turns)))
        assert bench("generate-conversations", *model(upstream), "--days", "1").code == 2

    def test_a_day_that_is_not_there(self, bench: Command) -> None:
        assert bench("generate-conversations", "--model", "openai", "--start", "11").code == 2


def calling(asked: Asked) -> Answer:
    """Save one thing in each session of the day, from the last on, and one where there is none."""
    line = message(asked).split("\n")[0]
    sessions = line.split("Sessions: ")[1].rstrip(".").split(", ")
    calls = [{"session": id, "tool": "memorySave", "content": f"{line[9:30]}: - kept"} for id in reversed(sessions)]
    return chat(json.dumps({"calls": [*calls, {"session": "attic", "tool": "memorySave", "content": "x"}]}))


class TestToolCalls:
    """What would have been saved."""

    def test_the_published_form(self, bench: Command, said: Any, persona: Path) -> None:
        done = bench("generate-tool-calls", *model(said(calling)), "--days", "1")
        assert done.code == 0
        assert "day 1: a call not taken: it is in 'attic', which is not a session of the day" in done.err
        text = (persona / "tools-10d" / "day-0001.yaml").read_text()
        assert text.startswith("# 2026-03-02 — Tool calls (memorySave invocations) for workshop day 1.\n")
        assert "\n\nday: 1\ndate: 2026-03-02\nday_of_week: Monday\npersona: workshop\ncalls:\n" in text
        plain, others = strict_yaml.load(text, "x"), yaml.safe_load(text)
        assert plain["date"] == str(others["date"]) == "2026-03-02"
        assert plain["calls"] == others["calls"]
        assert [call["session"] for call in plain["calls"]] == ["principal", "workshop-floor"]

    def test_each_day_is_shown_the_calls_of_the_day_before_also_after_a_stop(
        self, bench: Command, said: Any, persona: Path
    ) -> None:
        first = said(calling)
        bench("generate-tool-calls", *model(first), "--days", "2")
        second = said(calling)
        bench("generate-tool-calls", *model(second), "--days", "4")
        shown = ["CALLS OF THE DAY BEFORE" in message(asked) for asked in [*first.asked, *second.asked]]
        assert shown == [False, True, True, True]
        assert (persona / "tools-10d/day-0002.yaml").read_text().strip() in message(second.asked[0])

    def test_days_in_stretches(self, bench: Command, said: Any) -> None:
        upstream = said(calling)
        assert bench("generate-tool-calls", *model(upstream), "--concurrency", "3").code == 0
        shown = ["CALLS OF THE DAY BEFORE" in message(asked) for asked in upstream.asked]
        assert (len(shown), shown.count(False)) == (10, 3)

    @pytest.mark.parametrize("reply", ['{"calls": []}', '{"calls": [{"session": "attic", "content": "x"}]}', "none"])
    def test_a_day_without_calls_is_left_out(self, bench: Command, said: Any, persona: Path, reply: str) -> None:
        done = bench("generate-tool-calls", *model(said(chat(reply))), "--days", "1")
        assert done.code == 2
        assert "day 1 left out: the reply has no " in done.err
        assert not (persona / "tools-10d").exists()


def test_the_published_calls_are_written_as_they_are_published() -> None:
    """But for the lines above them, to the last byte."""
    from pytest_recall.horizon.day_forms import SavedCall
    from pytest_recall.horizon.passes.daily import day_text

    corpus = tenday.published()
    # These files have the dates of the calendar, and not those of the days' texts.
    corpus = type(corpus)(corpus.path, "arcs-180d.yaml", dates="calendar")
    for day in corpus.days:
        text = (corpus.tools / f"day-{day:04}.yaml").read_text()
        calls = [SavedCall(call["session"], call["content"]) for call in strict_yaml.load(text, "x")["calls"]]
        assert day_text(corpus, day, calls).partition("\n\n")[2] == text.partition("\n\n")[2]
