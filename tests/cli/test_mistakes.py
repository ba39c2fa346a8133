"""Mistakes of every command: each is told in a sentence, exits with 2, prints nothing and changes nothing.

The sentences are in `screens/`, where the commands that are listed here stand above what they say.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from datetime import date
from pathlib import Path

import pytest

from pytest_recall.replay.cassette_file import write_cassette
from pytest_recall.replay.exchange import Failure
from pytest_recall.replay.matching import Rules
from tests.cli import test_cassette_move, test_compare_benches, test_imports
from tests.cli.conftest import Recall
from tests.cli.samples import files
from tests.cli.shelves import cassette
from tests.cli.test_judge_calibrate import LABELS, calibrating, label
from tests.cli.test_membench_at_once import MINE
from tests.datasets.files import write_few
from tests.helpers import stories
from tests.helpers.horizon_runs import SMALL, write_run
from tests.helpers.persona import write_persona, write_project
from tests.helpers.project import ECHOING, case, row
from tests.helpers.screens import RUN, assert_screen
from tests.horizon import tenday
from tests.replay.recordings import call

SCREENS = Path(__file__).parent / "screens"
MISTAKES = {
    "recall": (
        "nothing",
        """
        recall reprot
        recall estimate
        recall cassettes shwo x
        recall check --fils x
        recall status p
        recall status --jsno=3
        recall status --days many
        recall score --fail-on nevr
        recall state apply --explict
        recall state layout
        recall state show --dry-run
        recall init --dir ../evals
        recall init --requirement pytest-recall
        recall init --requirement 'pytest-recall>=1'
        recall init --requirement 'pytest-recall[all]==1'
        recall init --requirement other==1
        recall init --requirement 'pytest-recall @ file:///home/ann/recall'
        recall init --requirement 'pytest-recall @ git+file:///home/ann/recall@abc1'
        recall init --requirement 'pytest-recall @ ../recall'
        recall judges check opnai
        recall judges check openai:
        recall judges check "command:'x"
        recall judges check python:module
        recall judges check claude --timeout 0
        recall judges check claude --timeout 0ms
        recall judges check claude --timeout soon
        recall judges check claude --timeout 25h
        recall judges check claude --dir x
        recall memory dataset sample
        recall bench check museum
        recall bench rescore nowhere
        recall bench report nowhere
        recall bench heatmap nowhere
        recall bench rebuild nowhere
        """,
    ),
    "eval-directory": (
        "nothing",
        """
        recall schedule select
        recall status
        recall score
        recall compare previous latest
        recall compare runs/mine latest
        recall state apply latest
        recall state apply
        recall ci ratchet
        recall cassettes list
        recall cassettes show x
        recall cassettes verify
        recall cassettes scan
        recall cassettes prune
        recall status --dir evals
        """,
    ),
    "schedule": (
        "project",
        """
        recall schedule select --scenarios loan
        recall schedule select --dimensions mood
        recall schedule select --scenarios loan,x --dimensions mood
        recall schedule select --mode nightl
        recall schedule select --mode explicit
        recall schedule select --date 2026-02-30
        recall schedule estimate --fail-above 0
        recall schedule estimate --fail-above much
        recall schedule estimate --runs 0
        recall schedule estimate --runs x
        recall schedule estimate --baselines ,
        recall schedule estimate --baselines raw,raw
        recall status --date 10.3.2026
        recall status --days 0
        recall schedule select --files ''
        recall status --files ''
        recall check --files ''
        recall score latest
        recall state apply latest
        recall cassettes list --cassettes nowhere
        """,
    ),
    "state": (
        "rows",
        """
        recall state apply --explicit
        recall state apply latest
        recall state move aa b
        recall state move b c
        recall state move gone aa
        recall state move a
        recall state forget x
        recall state quarantine aa
        recall state quarantine b --release
        recall state quarantine --release
        recall state quarantine a --release --owner x
        recall state quarantine a --release --days 3
        recall state quarantine --days 3
        recall ci ratchet --add scenario:two
        recall ci ratchet --add refunds
        recall ci ratchet --add scenario:one
        """,
    ),
    "runs": (
        "ran",
        """
        recall score unknown
        recall state apply unknown
        recall report latest latest latest
        recall report latest latest
        recall report previous
        recall report -o - --open
        recall report -o eval/cases.yaml
        recall report -o eval
        recall compare latest
        recall compare latest latest
        recall compare previous latest
        recall compare latest eval --alpha 0.5
        recall compare latest eval --fail-on 0
        recall compare latest eval --fail-on drops
        recall compare latest eval --markdown --json
        recall judges audit latest --only fails --sample 3
        recall judges audit latest --only all --seed 3
        recall judges audit latest --import x --out y
        recall judges audit latest --import x
        recall accept latest --cassettes tapes --by me
        recall accept latest rigth --by me
        recall accept latest --scenarios nope --by me
        recall view unknown
        recall view --port=65536
        recall view --port=x
        recall view --port=-1
        recall ci post comment --pr 0
        recall ci post comment --pr x
        recall ci post comment --max-wait -1
        recall ci post comment --max-wait 61m
        """,
    ),
    "import": (
        "sets",
        """
        recall import deepeval sets/none.json
        recall import deepeval sets
        recall import deepeval eval/conftest.py
        recall import inspect sets/packed.eval
        recall import inspect sets/promptfoo/schema.json
        recall import promptfoo sets/goldens.json
        recall import inspect sets/log.json --default-judge [a
        recall import inspect sets/log.json --default-judge 'a b'
        recall import inspect sets/log.json --append
        recall import inspect sets/log.json -o x.txt
        recall import inspect sets/log.json -o eval/conftest.py
        recall import inspect sets/log.json --scenario 'a b'
        """,
    ),
    "cassettes": (
        "shelf",
        """
        recall cassettes list --cassettes nowhere
        recall cassettes move before rigth
        recall cassettes move befor right
        recall cassettes move right
        recall cassettes move worse
        recall cassettes move worse right
        recall cassettes move before right --scenario fees
        recall cassettes move before worse
        recall cassettes move twice right
        recall cassettes move broken right
        recall cassettes move foreign right
        recall cassettes import plain/right.yaml
        recall cassettes import empty/right.yaml
        recall cassettes import cut/right.ndjson
        recall cassettes import twice/right.ndjson
        recall cassettes import right.har
        recall cassettes import no-case.ndjson
        recall cassettes import plain --case right
        recall cassettes import eval/cassettes/closed/nothing
        recall cassettes import old --case right
        recall cassettes import old
        recall cassettes export befor other.yaml
        recall cassettes export there.ndjson out.yaml
        recall cassettes export fails.ndjson other.yaml
        recall cassettes show wurse
        recall cassettes show twice
        recall cassettes show eval/cassettes/loans/foreign.ndjson
        recall cassettes show x.ndjson
        """,
    ),
    "judges": (
        "labels",
        """
        recall judges calibrate labels.jsonl --dry-run --write
        recall judges calibrate labels.jsonl --record --replay
        recall judges calibrate labels.jsonl --dry-run --replay
        recall judges calibrate labels.jsonl --fresh --replay
        recall judges calibrate labels.jsonl --kind pairwise
        recall judges calibrate labels.jsonl --judge unknown
        recall judges calibrate labels.jsonl --budget 4 --record
        recall judges calibrate labels.jsonl --budget 4 --replay
        recall judges calibrate labels.jsonl --budget 4 --dry-run
        recall judges calibrate labels.jsonl --judge 'openai:deepseek-r1;http://127.0.0.1:9' --budget 4
        recall judges calibrate others.jsonl
        recall judges calibrate tome.jsonl
        """,
    ),
    "memory": (
        "few",
        """
        recall memory run gone.json
        recall memory run sample
        recall memory run few.json --memory sqlite
        recall memory run few.json --memory sqlite-fts,nope
        recall memory run few.json --memory full --memory-reset
        recall memory run few.json --memory full,python:gone.py:A
        recall memory run few.json --categories ,
        recall memory run few.json --categories '4 multi-hop'
        recall memory run few.json --fail-under contians=0.1
        recall memory run few.json --fail-under evidence=0.9
        recall memory run few.json --fail-under contains=high
        recall memory run few.json --budget 1
        recall memory run few.json --replay
        recall memory run few.json --reader-prompt plain
        recall memory run few.json --reader unknown:x
        recall memory run few.json --reader unknown:x --dry-run
        recall memory run few.json --reader openai:x --replay --budget 1
        recall memory run few.json --reader openai:x --memory grpc://127.0.0.1:1
        recall memory run few.json --reader openai:x --judge nope:x
        recall memory run few.json --judge x:y --record --replay
        recall memory run few.json --judge openai:x
        recall memory run few.json --floors
        recall memory run few.json --floors --reader openai:x --memory null,full
        recall memory run few.json --floors --reader openai:x --memory full
        recall memory run few.json --floors --reader openai:x --repeat 2
        recall memory run few.json --repeat 2 --memory sqlite-fts,null
        recall memory run few.json --repeat 2 --memory full
        recall memory run few.json --repeat 0
        recall memory run few.json --memory mem0:openai:gpt-9-unlisted --budget 1
        recall memory run --dataset longmemeval sample --published
        recall memory misses nowhere
        recall memory metrics few.json --metrics squad
        recall memory metrics few.json --metrics f1,squad_f1,x
        recall memory metrics few.json --metrics ' ,'
        recall memory metrics few.json --metrics contains --table
        recall memory metrics nowhere.jsonl
        recall memory metrics .
        recall memory metrics few.json --k 0
        recall memory metrics few.json --k 1.5
        recall memory metrics few.json --k 10000000
        recall memory run few.json --accumulate --memory python:mine.py:Mine --concurrency 2
        recall memory run few.json --memory python:mine.py:Shared --concurrency 2
        """,
    ),
    "memory-runs": (
        "memories",
        """
        recall compare . fts
        recall compare fts fts
        recall compare fts gone
        recall compare fts none --scenarios x
        recall compare fts none --include-changed
        recall compare fts none --fail-on any-flip
        recall compare fts none --dimensions temprl
        recall compare fts other
        recall compare fts broken
        recall memory run --dataset locomo sample --memory full --k 4 --out fts
        recall memory misses fts --k 30
        recall memory misses fts --k 1,2
        recall memory misses fts --categories temporl
        recall memory misses .
        """,
    ),
    "bench-run": (
        "clerk",
        """
        recall bench run --memory null
        recall bench run --profile typo.yaml
        recall bench run --profile clerk.profile.yaml --out a --resume b
        recall bench run --profile clerk.profile.yaml --resume nowhere
        recall bench run --profile clerk.profile.yaml --resume a --fresh
        recall bench run --profile clerk.profile.yaml --memory-reset
        recall bench run --profile clerk.profile.yaml --skip-preflight
        recall bench run --profile clerk.profile.yaml --skip-catchup-ingest
        recall bench run --profile clerk.profile.yaml --personas a b
        recall bench run --profile clerk.profile.yaml --ranges 0
        recall bench run --profile clerk.profile.yaml --memory sqlite
        recall bench run --profile clerk.profile.yaml --json-out a.json --out b
        recall bench run --profile clerk.profile.yaml --json-out a.txt
        recall bench run --profile clerk.profile.yaml --heatmap --json
        recall bench run --profile clerk.profile.yaml --failure-log x.jsonl
        recall bench run --profile clerk.profile.yaml --out a --question-log b/questions.jsonl
        recall bench run --profile clerk.profile.yaml --no-question-log
        recall bench run --profile clerk.profile.yaml --adapter x.js
        recall bench run --profile clerk.profile.yaml --parallelism 2
        recall bench run --profile clerk.profile.yaml --heatmap-script x.mjs
        recall bench run --profile clerk.profile.yaml --grpc-timeout 9
        recall bench run --profile clerk.profile.yaml --grpc-timeout 9 --memory 'grpc://x;timeout=2'
        recall bench run --data data --ranges 3d --memory null --json
        recall bench run --data data --ranges 3d --memory null --resume out
        recall bench run --data data --ranges 3d --memory null --personas clerk cook
        recall bench run --data data --ranges 3d --memory null --personas clark
        recall bench run --profile clerk.profile.yaml --skip-catchup-ingest --fresh
        recall bench run --data twice --ranges 3d --memory null --dry-run
        recall bench run --profile clerk.profile.yaml --budget 1
        recall bench run --profile clerk.profile.yaml --replay
        recall bench run --profile clerk.profile.yaml --judge openai:x --record --replay
        recall bench run --profile clerk.profile.yaml --judge openai:x --budget 1 --replay
        recall bench run --profile clerk.profile.yaml --judge openai:x --replay nowhere
        recall bench run --profile clerk.profile.yaml --judge openai:x --replay clerk --skip-preflight
        """,
    ),
    "bench-write": (
        "museum",
        """
        recall bench create-persona --persona office --prompt ferries --days 29 --model openai
        recall bench create-persona --persona office --prompt ferries --days 60 --model openai --arcs sub/arcs-60d.yaml
        recall bench create-persona --persona office --prompt ferries --days 60 --model openai --epoch 9999-12-30
        recall bench create-persona --persona office --prompt ferries --days 60 --model openai --epoch tomorrow
        recall bench create-persona --persona office --prompt ferries --days 60 --model openai --temperature warm
        recall bench create-persona --persona office --prompt ferries --days 60 --model openai --arcs-only
        recall bench generate --model openai
        recall bench generate --persona museum --model openai:x --days 3 --start 2
        recall bench generate --persona museum --model openai:x --start 9 --end 4
        recall bench generate --persona museum --model openai:x --start 13 --end 20
        recall bench generate --persona museum --model openai:x --history-window 1001
        recall bench generate --persona museum --model openai:x --arcs arcs-9d.yaml
        recall bench generate --persona museum --model openai:x --days 0
        recall bench generate --persona museum --model openai:x --days 10000001
        recall bench generate --persona museum --model openai:x --timeout 0.5ms
        recall bench generate --persona museum --model ofline
        recall bench create-persona --persona office --days 60 --model openai
        recall bench create-persona --persona office --prompt ferries --days 60
        recall bench create-persona --prompt ferries --days 60 --model openai
        recall bench generate --persona museum
        """,
    ),
    "bench-runs": (
        "long",
        """
        recall bench misses whole --categories synthesi
        recall bench misses whole --checkpoint 60d
        recall memory misses whole
        recall bench heatmap whole -o a.png
        recall bench merge a -o merged
        recall bench merge a b -o merged
        recall bench rescore unanswered
        recall bench report unanswered
        """,
    ),
    "bench-questions": (
        "workshop",
        """
        recall bench generate-qa --persona persona --query-session lease
        recall bench generate-qa --persona persona --mode boundary --query-session leas
        recall bench generate-qa --persona persona --start 11
        recall bench generate-qa --persona persona
        recall bench verify persona
        recall bench verify persona --apply --dry-run
        recall bench verify persona --apply --seed 1
        recall bench verify persona --apply --fresh
        recall bench verify persona --apply --temperature 0
        recall bench lint nowhere
        recall bench lint empty
        recall bench lint bare
        """,
    ),
}


@pytest.fixture
def nothing(tmp_path: Path) -> Path:
    """A folder without an eval directory."""
    return tmp_path


@pytest.fixture
def rows(pytester: pytest.Pytester) -> Path:
    """A project with a case in quarantine, another one, and a row of none."""
    known = {"a": row(1, 0, quarantined=date(2026, 3, 1)), "b": row(3, 3), "gone": row(3)}
    rubric = {"eval/rubric.yaml": "owner: ana\ngates: [{scenario: one, at_least: 0.5}]\n"}
    return ECHOING.with_cases(case("a"), case("b")).with_files(rubric).with_state(**known).at(pytester).path


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A project beside the sets of other tools."""
    shutil.copytree(test_imports.FOREIGN, tmp_path / "sets")
    (tmp_path / "sets" / "packed.eval").write_bytes(b"PK\x03\x04\xff")
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "conftest.py").write_text(test_imports.ECHO)
    return tmp_path


@pytest.fixture
def shelf(project: Path) -> Path:
    """A project with cassettes that cannot be moved, and files that cannot become any."""
    test_cassette_move.renamed(project)
    for name in ("worse", "twice"):
        cassette(project, name)
    cassette(project, "twice", scenario="closed")
    whole = cassette(project, "broken")
    whole.write_bytes(whole.read_bytes()[:-1])
    (whole.parent / "foreign.ndjson").write_text("{}\n", encoding="utf-8")
    line = json.dumps({"seq": 0, "ts": 1, "request": {}, "response": {}, "wasStreaming": False, "model": "m"})
    (project / "old").mkdir()
    failed = call()._replace(response=None, failure=Failure("ReadTimeout", "slow"))
    for name, one in ("there", call()), ("fails", failed):
        write_cassette(project / f"{name}.ndjson", {}, [one], Rules())
    texts = {
        "out.yaml": "mine",
        "plain/right.yaml": "interactions:\n",
        "empty/right.yaml": "interactions: []\nversion: 1\n",
        "cut/right.ndjson": line,
        "twice/right.ndjson": f"{line}\n{line}\n",
        "right.har": "{}",
        "no-case.ndjson": f"{line}\n",
    }
    for name, text in texts.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    return project


@pytest.fixture
def labels(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with labels of a judge, of another one alone, and with a criterion that there is not."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    checkout = calibrating(criteria={"tone": {"question": "Is it kind?"}}).at(pytester)
    others = [label(1, "x", "pass", judge="memory")]
    tome = [LABELS[0], label(1, "x", "pass", arguments={}, criteria=["tome"])]
    for name, lines in ("others", others), ("tome", tome):
        (checkout.path / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return checkout.path


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of questions, and memories of which nothing can be asked at once."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    write_few(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


@pytest.fixture
def memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with runs of two memories over one file, of another file, and one that is none."""
    monkeypatch.chdir(tmp_path)
    test_compare_benches.write_runs(tmp_path)
    return tmp_path


@pytest.fixture
def clerk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a persona and its profile, one with a typing error, and folders of two personas and one twice."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    write_project(tmp_path)
    for name in ("one", "other"):
        shutil.copytree(tmp_path / "clerk", tmp_path / "twice" / name)
    (tmp_path / "typo.yaml").write_text("persona:\n  id: clerk\nrun:\n  rangs: [3]\n")
    for name in ("baker", "clerk"):
        (tmp_path / "data").mkdir(exist_ok=True)
        folder = write_persona(tmp_path / "data").rename(tmp_path / "data" / f"{name}-")
        file = folder / "persona.yaml"
        file.write_text(json.dumps({**json.loads(file.read_text()), "id": name}))
    return tmp_path


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A folder with long-horizon runs: a whole one, two parts that are not of one, and one without answers."""
    write_run(tmp_path / "whole", SMALL)
    write_run(tmp_path / "a", {10: SMALL[10]})
    write_run(tmp_path / "b", {20: SMALL[20]}, seed=7)
    (write_run(tmp_path / "unanswered", SMALL, questions=False) / "result.json").unlink()
    return tmp_path


@pytest.fixture
def museum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a persona that has no days yet."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    stories.fill(tmp_path / "museum")
    return tmp_path


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a persona, one that has no questions, and one that has no persona."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for name in ("persona", "bare", "empty"):
        tenday.write(tmp_path / name)
    tenday.write_questions(tmp_path / "persona", tenday.question(1))
    (tmp_path / "empty" / "persona.yaml").unlink()
    return tmp_path


def kept(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, without those that any command may leave: locks, and what git is to ignore."""
    left = re.compile(r"\.lock$|\.gitignore$|^\.local/")
    return {name: data for name, data in files(folder).items() if not left.search(name)}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_is_told_in_a_sentence_and_changes_nothing(
    name: str, request: pytest.FixtureRequest, inside: Recall
) -> None:
    fixture, commands = MISTAKES[name]
    folder: Path = request.getfixturevalue(fixture)
    before = kept(folder)
    screen = []
    for command in commands.strip().splitlines():
        _, *words = shlex.split(command)
        done = inside(folder, *words)
        assert done.code == 2, done
        assert "Traceback" not in done.err
        assert done.out == "" or done.err == "", "help is no error"
        screen.append(f"$ {command.strip()}\n{done.err or done.out}")
    assert kept(folder) == before
    text = "\n".join(screen).replace(str(folder), "FOLDER")
    assert_screen(SCREENS / f"mistakes-{name}.txt", RUN.sub("RUN", text))
