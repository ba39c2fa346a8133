"""`recall memory run --floors`: the same reader, and the same judge, for floors and the ceiling."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.trials.journal import read_journal
from tests.cli.test_membench_reader import to_the_limit
from tests.datasets.bundles import write_bundle
from tests.datasets.files import write_few
from tests.helpers.priced import priced_folder
from tests.models.endpoint import Answer, Asked, Endpoint, chat

# A run of pytest in this process forgets what it was the first to import, and some of it would be there twice.
importlib.import_module("pytest_recall.datasets.judged")

RUN = ("memory", "run", "few.json", "--out", "o")
FLOORS = ("nothing", "random", "last", "oracle")
OWN = """
from pathlib import Path


class Memory:
    private = True

    def reset(self):
        self.kept = []

    def store(self, content, metadata):
        self.kept.append(content)

    def recall(self, query, limit, context):
        return self.kept[: int(Path("size.txt").read_text())]
"""


def all_passages(asked: Asked) -> Answer:
    """Answer with all passages, or judge that an answer with the word `Heron` is right."""
    content, model = asked.body["messages"][-1]["content"], asked.body["model"]
    if model == "judge":
        label = "correct" if "Heron" in content.split("BEGIN")[-1] else "wrong"
        answer = chat(json.dumps({"reasoning": "As it seems.", "label": label}))
    else:
        answer = chat(content.rpartition("\n\n")[0])
    return answer._replace(body={**answer.body, "model": model})


@pytest.fixture(name="served")
def _served() -> Iterator[Endpoint]:
    endpoint = Endpoint(all_passages)
    yield endpoint
    endpoint.close()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    priced_folder(tmp_path, monkeypatch, {"reader": 1000, "judge": 1000}, OWN)
    (tmp_path / "size.txt").write_text("5")
    write_few(tmp_path)


def reading(served: Endpoint) -> tuple[str, ...]:
    return "--reader", f"{served.url}/v1#reader", "--floors"


def found(capsys: pytest.CaptureFixture[str], *more: str, code: int = 0) -> dict[str, Any]:
    assert main([*RUN, *more, "--json"]) == code
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


def test_the_reader_answers_from_each_floor_in_as_many_tokens(
    served: Endpoint, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    models = (*reading(served), "--judge", f"{served.url}/v1#judge", "--k", "2")
    assert main([*RUN, *models, "--record", "tapes", "--concurrency", "4"]) == 0
    out = capsys.readouterr().out
    # 7 questions, of which 5 have a rule.
    assert len(served.asked) == 5 * (7 + 5)
    plain = found(capsys, *models)
    floors = plain["answer_floors"]
    assert floors["metric"] == "locomo_judge"
    assert {"contains", "answer_contains"} <= floors["oracle"]["all"]["metrics"].keys()
    means = {name: floors[name]["all"]["metrics"]["answer_contains"]["value"] for name in FLOORS}
    assert means["nothing"] == 0
    assert max(means["random"], means["last"]) < plain["all"]["metrics"]["answer_contains"]["value"] < means["oracle"]
    assert floors["discriminates"].keys() == {*plain["categories"], "all"} - {"adversarial"}  # It has no rule.
    budgets = {
        one.case_id: one.answer.usage["memory_handed_out_tokens"]
        for one in read_journal(Path("o")).trials
        if one.answer
    }
    for name in FLOORS:
        trials = read_journal(Path("o") / f"floor-{name}").trials
        assert len({one.case_id for one in trials}) == 7
        for one in trials:
            assert one.answer is not None
            assert one.answer.usage["memory_handed_out_tokens"] <= budgets[one.case_id]
    assert len(served.asked) == 5 * (7 + 5)
    the_table_has_the_floors_below_the_memory_by_the_judge(out)
    # What they cost, the bundle, and what a replay comes to.
    assert main(["cassettes", "cost", "o", "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)
    calls = {name: one["calls"] for name, one in cost["scenarios"].items() if name.startswith("floor-")}
    assert list(calls.items()) == [(f"floor-{name}", 12) for name in FLOORS]
    assert cost["total"]["calls"] == 5 * 12
    write_bundle(Path("b.zip"), Path("o"), *(Path("o", f"floor-{name}") for name in FLOORS), texts=True)
    assert main(["memory", "verify", "b.zip"]) == 0
    verified = capsys.readouterr().out
    assert "runs/5 (oracle (as many tokens as sqlite-fts)): 7 questions, 19 metrics computed again" in verified
    served.close()
    monkeypatch.delenv("OPENAI_API_KEY")
    replayed = found(capsys, *models, "--out", "replayed", "--replay", "tapes")
    costs = [one["answer_floors"].pop("cost") for one in (plain, replayed)]
    assert replayed["answer_floors"] == plain["answer_floors"]
    assert [(one["calls"], one["replayed"]) for one in costs] == [(48, 0), (48, 48)]


def the_table_has_the_floors_below_the_memory_by_the_judge(out: str) -> None:
    table = out.partition("\nLoCoMo judge  ")[2].splitlines()
    assert [line.split()[0] for line in table[1:6]] == ["memory", *FLOORS]
    assert table[0].startswith("  2 temporal (2)")
    assert table[7].startswith("below the memory, in as many tokens as it returned: the same reader answered from no")
    assert table[8].startswith("does not discriminate, as answers from a floor are about as good: ")
    assert [line.split()[-1] for line in table[1:6]] == ["$0.01"] * 5
    assert "\ncalls about the floors: 48, cost $0.48\n" in out


def test_a_budget_ends_the_floors_and_the_same_command_goes_on(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    to_the_limit(served, all_passages)
    run = (*reading(served), "--sample", "3")
    # Also where nothing is asked yet, it is not said that the memory answers by itself.
    for budget, asked in (("0.005", 0), ("0.02", 2)):
        assert main([*RUN, *run, "--budget", budget]) == 2
        said = capsys.readouterr().err
        assert "--floors: the same command asks them, once there is an answer to all questions\n" in said
        assert "answers by itself" not in said
        assert len(served.asked) == asked
    assert main([*RUN, *run, "--budget", "0.02"]) == 2
    captured = capsys.readouterr()
    assert "recall: nothing: 2 questions not asked, since the budget of $0.02 is spent" in captured.err
    assert "floor-random" not in captured.err
    assert "floors of answers: not measured; the same command measures them\n" in captured.out
    whole = found(capsys, *run, "--budget", "5")
    assert len(served.asked) == 5 * 3
    assert whole["answer_floors"]["oracle"]["all"]["reading"]["answers"] == 3


def test_floors_of_other_tokens_are_asked_again(served: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    own = (*reading(served), "--memory", "python:own.py:Memory", "--sample", "3")
    found(capsys, *own)
    Path("own.py").write_text(OWN + "# Another one.\n")
    Path("size.txt").write_text("2")
    assert main([*RUN, *own]) == 0
    err = capsys.readouterr().err
    assert "recall: python:own.py:Memory: its code has changed; all questions are asked again" in err
    again = "the memory has returned other numbers of tokens; all questions are asked again"
    assert f"recall: last (as many tokens as python:own.py:Memory): {again}" in err
    assert len(served.asked) == 2 * 5 * 3


def test_a_dry_run_says_what_floors_would_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--reader", "openai:x", "--floors", "--dry-run"]) == 0
    told = "then from nothing, random, last, oracle, in as many tokens as the memory returns: 28 further calls of the"
    assert told in capsys.readouterr().out
    several = ("--memory", "sqlite-fts,python:own.py:Memory,null")
    assert main([*RUN, *several, "--reader", "openai:x", "--floors", "--dry-run"]) == 0
    assert " 56 further calls of the" in capsys.readouterr().out
    run = ("memory", "run", "--dataset", "dmr", "sample", "--reader", "openai:x", "--floors", "--dry-run", "--json")
    assert main(run) == 0
    assert json.loads(capsys.readouterr().out)["floor_calls"] == 15  # No evidence is named, and no ceiling is known.


def test_what_the_reader_did_not_answer_has_its_floors_where_it_is_kept(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(asked: Asked) -> Answer:
        if "boat called" in asked.body["messages"][-1]["content"]:
            return Answer(400, {"error": {"message": "no", "type": "invalid_request_error"}})
        return all_passages(asked)

    served.script = [broken]
    run = ("--categories", "single-hop", *reading(served))
    assert main([*RUN, *run[:-1]]) == 2
    told = "floors of answers: not measured; --floors lets the reader answer from these as well\n"
    assert told in capsys.readouterr().out
    assert main([*RUN, *run]) == 2
    assert "floors of answers: not measured; the same command measures them" in capsys.readouterr().out
    kept = found(capsys, *run, "--keep-failed")
    assert kept["answer_floors"]["last"]["all"]["reading"]["unread"] == kept["all"]["reading"]["unread"] > 0


def test_a_memory_that_answers_by_itself_has_no_floors(served: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    text = OWN + "\n    def answer(self, query, limit, context):\n        return 'Heron'\n"
    Path("own.py").write_text(text)
    assert main([*RUN, *reading(served), "--memory", "python:own.py:Memory"]) == 0
    captured = capsys.readouterr()
    told = "--floors: python:own.py:Memory answers by itself, so that there is no answer of the reader to compare"
    assert told in captured.err
    assert "floors of answers" not in captured.out
    assert served.asked == []


def test_a_judge_that_is_not_there_is_told_before_the_reader_is_asked(
    served: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    for judge in ("nope:x", "python:nope.py:x"):
        assert main([*RUN, *reading(served), "--judge", judge]) == 2
        assert capsys.readouterr().err.startswith("recall: --judge: ")
    assert served.asked == []


def test_each_of_several_memories_has_its_floors_and_its_answers_by_category(
    served: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several = (*RUN, "--sample", "3", "--memory", "sqlite-fts,python:own.py:Memory,null", *reading(served))
    assert main(several) == 0
    text = capsys.readouterr().out
    assert "\nLoCoMo F1, by category (n)\n" in text
    assert [line for line in text.splitlines() if line.endswith(":")][1:] == ["sqlite-fts:", "python:own.py:Memory:"]
    assert text.count("\noracle  ") == 2
    assert main([*several, "--json"]) == 0
    first, second, null = json.loads(capsys.readouterr().out)["memories"]
    assert set(first["answer_floors"]) == set(second["answer_floors"]) == {"metric", "discriminates", *FLOORS, "cost"}
    assert "answer_floors" not in null
    assert first["answer_floors"]["metric"] == "locomo_f1"
    assert first["answer_floors"]["discriminates"].keys() == {*first["categories"], "all"}
    assert len(served.asked) <= 11 * 3  # Null, and five for each of the others; the same command asked nothing again.
    write_bundle(Path("b.zip"), *Path("o").glob("*-*"), *Path("o").glob("*/floor-*"))
    assert main(["memory", "verify", "b.zip"]) == 0
    assert "tests against the first memory: 2 pairs tested again" in capsys.readouterr().out
    # A floor that breaks leaves the table of the other memories.
    (oracle,) = tmp_path.glob("o/sqlite-fts-*/floor-oracle")
    shutil.rmtree(oracle)
    oracle.write_text("a file where its folder has to be")
    assert main([*several, "--json"]) == 2
    out, err = capsys.readouterr()
    plain = json.loads(out)
    floors = [set(one.get("answer_floors", ())) for one in plain["memories"]]
    assert floors == [{"metric", "discriminates", *FLOORS, "cost"}, set()]
    why = f"{oracle.relative_to(tmp_path)}: File exists; a file is where a folder has to be; move it away"
    told = f"recall: sqlite-fts: not in the table, since it broke: {why}; the same command asks it again"
    assert err.splitlines()[-1] == told
