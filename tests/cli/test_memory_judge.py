"""`recall memory judge`: published answers, judged by several rules, with labels of people and a corrected key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets import answer_judging
from tests.cli.test_judge_calibrate import REMOTE
from tests.datasets.files import few, write_few
from tests.helpers.scripted import JUDGE
from tests.helpers.upstream import Upstream, running

RUN = ("memory", "judge", "few.json")
BY_RULE = '''
import time


class ByRule:
    """Generous where it is told to be, and strict otherwise."""

    def ask(self, ask):
        with pathlib.Path(__file__).with_name("judged.txt").open("a") as log:
            log.write("asked\\n")
        said = next(text for _, name, text in SECTION.findall(ask.messages[-1].content) if name == "ANSWER")
        good = "right" in said or ("vague" in said and "Be generous" in ask.system)
        return Reply(text=json.dumps({"reasoning": "so", "label": "correct" if good else "wrong"}))


by_rule = ByRule()


class Slow:
    """Says when it begins and ends."""

    def ask(self, ask):
        log = pathlib.Path(__file__).with_name("at-once.txt")
        for sign in "+-":
            with log.open("a") as file:
                file.write(sign)
            time.sleep(0.02)
        return by_rule.ask(ask)


slow = Slow()


class Half:
    """Decides on every other answer."""

    def ask(self, ask):
        said = next(text for _, name, text in SECTION.findall(ask.messages[-1].content) if name == "ANSWER")
        return Reply(text=json.dumps({"reasoning": "so", "label": "correct"}) if said == "right" else "Well.")


half = Half()
'''


def asked() -> list[list[dict[str, Any]]]:
    """Return the questions of the file, by conversation."""
    return [row["qa"] for row in few()]


def written(path: str, said: Callable[[int, dict[str, Any]], str], *, zep: bool = False) -> str:
    """Write an answer file in the format of mem0, or of Zep."""
    found: dict[str, list[dict[str, Any]]] = {}
    number = 0
    for place, questions in enumerate(asked()):
        rows = []
        for one in questions:
            number += 1
            gold, question = one.get("answer", ""), one["question"]
            if zep and one["category"] != 5:
                rows.append(
                    {"question": question, "golden_answer": gold, "answer": said(number, one), "duration_ms": 1}
                )
            elif not zep:
                about = {"category": one["category"], "speaker_1_memories": [{"memory": "m"}], "response_time": 0.1}
                rows.append({"question": question, "answer": gold, "response": said(number, one), **about})
        found[f"locomo_experiment_user_{place}" if zep else str(place)] = rows
    Path(path).write_text(json.dumps(found))
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_few(tmp_path)
    (tmp_path / "judge.py").write_text(JUDGE + BY_RULE + REMOTE)
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "rubric.yaml").write_text("owner: us\njudge: {preflight: 'off'}\n")


@pytest.fixture(name="upstream")
def _upstream() -> Iterator[Upstream]:
    yield from running()


def judged(capsys: pytest.CaptureFixture[str], *more: str, code: int = 0) -> dict[str, Any]:
    assert main([*RUN, *more, "--json"]) == code
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


def means(plain: dict[str, Any], system: int = 0, category: str = "all") -> dict[str, Any]:
    return {name: one["value"] for name, one in plain["systems"][system]["categories"][category].items()}


def times_asked() -> int:
    return len(Path("judged.txt").read_text().split()) if Path("judged.txt").exists() else 0


def test_the_rule_decides_what_the_same_answers_are_worth(capsys: pytest.CaptureFixture[str]) -> None:
    vague = written("vague.json", lambda n, _: "vague" if n % 4 else "right")
    half = written("half.json", lambda n, _: "right" if n % 2 else "no", zep=True)
    by = ("--judge", "python:judge.py:by_rule")
    plain = judged(capsys, vague, half, *by)
    assert means(plain)["lenient"] == 1.0
    assert means(plain)["strict"] == means(plain)["per type"] < 0.3
    assert means(plain, 1)["lenient"] == means(plain, 1)["strict"]
    assert [one["format"] for one in plain["systems"]] == ["mem0's format", "Zep's format"]
    assert plain["systems"][0]["categories"]["2 temporal"]["strict"]["n"] == 2
    (dispute,) = plain["disputes"]
    assert dispute.startswith("half.json is above vague.json by strict, per type")
    assert "lenient" in dispute.partition("and below it by")[2]
    once = times_asked()
    assert once == 5 * 3 * 2  # Adversarial questions are left out.
    assert judged(capsys, vague, half, *by) == plain
    assert times_asked() == once  # What was replied is kept.
    assert main([*RUN, vague, half, *by]) == 0
    captured = capsys.readouterr()
    assert "to 1.00 by models, 0.00 to 0.00 by words" in captured.out
    assert "the order depends on the judge: half.json is above vague.json by strict" in captured.out
    assert "recall: questions that cannot be answered, or have no reference, are left out: 2\n" in captured.err


def test_words_alone_need_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    plain = judged(capsys, written("a.json", lambda _, one: f"It is {one.get('answer')}."))
    assert means(plain)["contains"] == 1.0
    assert 0.3 < means(plain)["token F1"] < 1.0
    assert "lenient" not in means(plain)


def test_answers_of_longmemeval_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question_id": "lib00001", "hypothesis": "A border terrier"}, {"question_id": "x", "hypothesis": "?"}]
    Path("a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert main(["memory", "judge", "--dataset", "longmemeval", "sample", "a.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "a.jsonl, LongMemEval's format, 6 of its questions have no answer, 1 row about none of its questions" in out
    assert "single-session-user" in out


def overlay(*lines: dict[str, Any]) -> str:
    Path("overlay.jsonl").write_text("".join(json.dumps({"reason": "as it was said", **one}) + "\n" for one in lines))
    return "overlay.jsonl"


def line(index: int, **more: Any) -> dict[str, Any]:
    one = asked()[0][index]
    text = f"{one['question']}{one.get('answer', '')}"
    return {"sample_id": "conv-1", "index": index, "sha256": hashlib.sha256(text.encode()).hexdigest(), **more}


def test_a_corrected_key_is_shown_beside_the_published_one(capsys: pytest.CaptureFixture[str]) -> None:
    answers = written("a.json", lambda n, one: "Albatross" if n == 1 else str(one.get("answer", "")))
    before = judged(capsys, answers)
    after = judged(capsys, answers, "--overlay", overlay(line(0, answer="Albatross"), line(1, drop=True)))
    assert means(after) == means(before)
    assert means(before)["contains"] == pytest.approx(4 / 5)
    assert means({"systems": after["overlay"]["systems"]})["contains"] == 1.0
    assert after["overlay"]["systems"][0]["categories"]["all"]["contains"]["n"] == 4
    assert main([*RUN, answers, "--overlay", "overlay.jsonl"]) == 0
    assert "by the corrected key (difference):" in (out := capsys.readouterr().out)
    assert "1.00 (+0.200)" in out


def test_labels_of_people_take_the_errors_of_a_rule_out(capsys: pytest.CaptureFixture[str]) -> None:
    answers = written("a.json", lambda n, _: "right" if n % 2 else "no")
    ids = [f"conv-{c}:q{n}" for c, qa in enumerate(asked(), 1) for n, one in enumerate(qa, 1) if one["category"] != 5]
    rows = [{"file": "a.json", "id": id, "label": "pass" if n % 3 else "fail"} for n, id in enumerate(ids[:6])]
    Path("people.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    by = ("--judge", "python:judge.py:oracle", "--labels", "people.jsonl")
    assert judged(capsys, answers, *by)["systems"][0]["corrected"]["strict"] == "5 labels, 30 are the least"
    Path("people.jsonl").write_text(json.dumps({**rows[0], "id": "conv-1:q99"}) + "\n")
    assert main([*RUN, answers, *by]) == 2
    assert "recall: people.jsonl:1: id: a.json has no answer to 'conv-1:q99'\n" in capsys.readouterr().err


@pytest.mark.parametrize("places", ["1", "4"])
def test_a_spent_budget_leaves_the_rest_to_the_same_command(
    capsys: pytest.CaptureFixture[str], upstream: Upstream, tmp_path: Path, places: str
) -> None:
    prices = "prices: {gpt-4o-mini: {input: 100000, output: 0}}\n"
    (tmp_path / "eval" / "rubric.yaml").write_text(f"owner: us\njudge: {{preflight: 'off'}}\n{prices}")
    (tmp_path / "url.txt").write_text(upstream.url)
    answers = written("a.json", lambda *_: "right")
    by = ("--judge", "python:judge.py:remote", "--concurrency", places)
    assert main([*RUN, answers, *by, "--budget", "6.50"]) == 2
    some = upstream.count
    assert 0 < some < 15
    said = capsys.readouterr().err
    assert f"recall: {15 - some} judgements not made, since the budget of $6.50 has no room for another" in said
    assert f"recall: spent ${some}.00 of the budget of $6.50, which has no room for another call, as one may" in said
    assert means(judged(capsys, answers, *by))["strict"] == 1.0
    assert upstream.count == 15


@pytest.mark.parametrize(("judge", "undecided", "code"), [("prose", 15, 1), ("half", 6, 2)])
def test_what_comes_to_no_verdict_is_counted(
    capsys: pytest.CaptureFixture[str], judge: str, undecided: int, code: int
) -> None:
    answers = written("a.json", lambda n, _: "right" if n % 2 else "no")
    for more in ((), ("--json",)):
        assert main([*RUN, answers, "--judge", f"python:judge.py:{judge}", *more]) == code
        captured = capsys.readouterr()
        assert f"recall: {undecided} of 15 judgements came to no verdict, the first as said above" in captured.err
    assert json.loads(captured.out)["undecided"] == undecided


def test_judgements_are_made_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answers = written("a.json", lambda n, _: ("right", "vague", "no")[n % 3])
    one_by_one = judged(capsys, answers, "--judge", "python:judge.py:by_rule")
    assert judged(capsys, answers, "--judge", "python:judge.py:slow", "--concurrency", "4") == one_by_one
    assert "+++" in (tmp_path / "at-once.txt").read_text()


def test_it_says_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_judging, "EVERY", 20)
    names = [written(f"{name}.json", lambda *_: "right") for name in "ab"]
    assert main([*RUN, *names, "--judge", "python:judge.py:by_rule"]) == 0
    assert "recall: 20 of 30 judgements\n" in capsys.readouterr().err


def test_a_price_that_is_not_known_is_told_before_the_first_call(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "eval" / "rubric.yaml").write_text("owner: us\n")
    answers = written("a.json", lambda *_: "right")
    sold = "http://127.0.0.1:9/v1#deepseek-r1"
    entry = "`prices: {deepseek-r1: {input: USD, output: USD}}`"
    said = f"judge `{sold}`: its price is unknown, so that no budget can be kept; add {entry} to eval/rubric.yaml, in"
    assert main([*RUN, answers, "--judge", sold, "--budget", "1"]) == 2
    assert said in capsys.readouterr().err
    run = ("memory", "run", "--dataset", "locomo", "sample", "--reader", "python:judge.py:remote", "--out", "o")
    assert main([*run, "--judge", sold, "--budget", "1"]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("places", ["1", "4"])
def test_a_recording_is_replayed_without_the_model(
    capsys: pytest.CaptureFixture[str], upstream: Upstream, tmp_path: Path, places: str
) -> None:
    (tmp_path / "url.txt").write_text(upstream.url)
    answers = written("a.json", lambda n, _: "right" if n % 2 else "no")
    by = ("--judge", "python:judge.py:remote", "--concurrency", places)
    recorded = judged(capsys, answers, *by, "--record", "tapes")
    assert upstream.count == 15
    assert judged(capsys, answers, *by, "--replay", "tapes") == recorded
    assert upstream.count == 15


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"12": []}, "expected conversations 0 to 1"),
        ({"0": [{"question": "?", "hypothesis": "x"}]}, "0[0]: expected `response` as in mem0's format"),
        ({"0": [{"question": "?", "response": 3}]}, "0[0].response: expected text"),
        ({"0": [{"question": "?", "response": "x"}]}, "answers no question of the dataset"),
        ([], "expected an object with a list of answers"),
    ],
)
def test_files_of_another_shape_are_one_sentence(capsys: pytest.CaptureFixture[str], rows: Any, said: str) -> None:
    Path("a.json").write_text(json.dumps(rows))
    assert main([*RUN, "a.json"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("recall: a.json")
    assert said in captured.err


def test_a_judge_that_makes_no_call_is_no_recording(capsys: pytest.CaptureFixture[str]) -> None:
    answers = written("a.json", lambda *_: "right")
    by = ("--judge", "python:judge.py:by_rule")
    assert main([*RUN, answers, *by, "--record", "tapes"]) == 0
    told = "recall: python:judge.py:by_rule: made no call that can be recorded, so that a replay will have nothing"
    assert told in capsys.readouterr().err
    assert main([*RUN, answers, *by, "--replay", "tapes"]) == 2
    told = "no such recording; make it with --record, or leave out --replay if python:judge.py:by_rule makes no call"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (line(0, drop=True, sha256="0"), "conv-1:q1: sha256 is that of another question or reference"),
        (line(0, drop=True, answer="x"), "give either `drop: true` or an `answer`"),
        (line(0), "give either `drop: true` or an `answer`"),
        (line(0, drop=True) | {"index": 99}, "there is no question 99 of 'conv-1'"),
    ],
)
def test_a_bad_line_of_an_overlay_is_one_sentence(
    capsys: pytest.CaptureFixture[str], bad: dict[str, Any], said: str
) -> None:
    answers = written("a.json", lambda *_: "right")
    assert main([*RUN, answers, "--overlay", overlay(bad)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--budget", "1"), "--budget is about the verdicts of models; name one with --judge"),
        (("--judge", "unknown:x"), "--judge: 'unknown:x': no model is selected like this;"),
        (("--judge", "x:y", "--record", "--fresh"), "--fresh and --budget are for judging that may stop halfway"),
        (("a.json",), "an answer file is named twice"),
    ],
)
def test_mistakes_are_one_sentence(capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str) -> None:
    answers = written("a.json", lambda *_: "right")
    assert main([*RUN, answers, *more]) == 2
    assert f"recall: {said}" in capsys.readouterr().err
