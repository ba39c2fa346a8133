"""What the documents leave out: names without a reference, and blocks that no test runs, each with its reason."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_recall import cli
from pytest_recall.cases.check_commands import schema_of
from pytest_recall.cases.settings import Settings
from pytest_recall.plugin import fixtures
from tests.helpers import command
from tests.test_architecture import ROOMS
from tests.test_docs import PAGES, REFERENCE, ROOT, Block, blocks, name_of

# Blocks that no one runs

PAID = "asks a paid model"
HOST = "writes to a code host"
WHOLE = "is run by .ci/run, in fresh environments"
PICTURE = "is a drawing"
ABOVE = "stands above what the page runs"
SHOWN = "shows what a run says that takes long, or that breaks on the way"

NOT_RUN = {
    'README.md: python3 -m venv .venv && .venv/bin/pip install -q ".[all]"': WHOLE,
    'CONTRIBUTING.md: python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]"': WHOLE,
    "CONTRIBUTING.md: .venv/bin/pytest": WHOLE,
    "CONTRIBUTING.md: cli > plugin": "is compared with the rooms, below",
    "docs/architecture.md: cli > plugin": "is compared with the rooms, below",
    "examples/": "what installs and runs them is run by scripts/run-examples.py; the rest asks a model",
    "docs/schedule.md: a pull request: all that": "is the rule, in words",
    "docs/schedule.md: python benchmarks/schedule/play.py": "takes minutes; tests/benchmarks runs it over less",
    "docs/how-to/limit-the-cost.md: python benchmarks/schedule/play.py": "takes minutes; as above",
    "docs/reference/memory-baselines.md: scripts/memories-on-personas.py": "needs packages",
    "docs/how-to/gate-a-merge.md: suspects: #12, #15": "tests/plugin/test_suspects.py holds these lines",
    "docs/how-to/limit-the-cost.md: recall: 12 affected cases": "tests/plugin/test_budget_of_changes.py holds it",
    "docs/how-to/limit-the-cost.md: no price is known of": "tests/plugin/test_budget_of_changes.py holds it",
    "docs/how-to/compare-two-runs.md: pytest -p recall eval --recall-mode all": ABOVE,
    "docs/how-to/migrate.md: recall import promptfoo promptfooconfig.yaml -o": ABOVE,
    "docs/how-to/recover-a-killed-run.md: pytest -p recall eval --recall-resume": ABOVE,
    "docs/how-to/compare-two-runs.md: BASE  3.8 of 4 passed": "explains how a line is built",
    "docs/how-to/long-horizon-write.md: museum/": PICTURE,
    "docs/how-to/long-horizon-write.md: $ recall bench check museum": "tests/horizon/test_check.py has such lines",
    "docs/how-to/long-horizon-write.md: recall bench create-persona --model anthropic": PAID,
    "docs/how-to/long-horizon-write.md: recall bench generate-conversations --persona robin": PAID,
    "docs/how-to/long-horizon-run.md: recall bench run --profile mara.profile.yaml --out mara --budget": PAID,
    "docs/how-to/read-the-report.md: pip install": "installs",
    "docs/how-to/run-a-memory-benchmark.md: models of the memory, ingest:": "tests/cli has such lines",
    "docs/how-to/run-a-memory-benchmark.md: python benchmarks/write_bundle.py": "tests/benchmarks runs it",
    "docs/how-to/run-a-memory-benchmark.md: $ recall memory verify": "tests/datasets has such lines",
    "docs/how-to/read-the-report.md: recall view --open": "serves until it is stopped",
    "docs/how-to/record-and-replay.md: pytest -p recall eval --record": PAID,
    "docs/reference/replay.md: uname -p": "tests/replay/test_programs.py compares this list with the code",
    "docs/how-to/record-and-replay.md: $ recall cassettes varying": "tests/plugin/test_varying.py holds such lines",
    "docs/how-to/record-and-replay.md: recall cassettes list": "lists commands; some want files of others",
    "docs/how-to/recover-a-killed-run.md: partial: 3 of 12 chosen cases not run": SHOWN,
    "docs/how-to/run-what-a-change-affects.md: pytest": PAID,
    "docs/how-to/limit-the-cost.md: pytest -p recall eval --recall-mode nightly --recall-batch": PAID,
    "docs/how-to/run-in-ci.md: recall ci push --branch main": HOST,
    "docs/how-to/run-in-ci.md: pytest -p recall eval --recall-mode main": HOST,
    "docs/how-to/run-in-ci.md: recall: 12 of 88 cases": SHOWN,
    "docs/how-to/run-in-ci.md: pytest -p recall eval --recall-artifacts": "is about a checkout that cannot be written",
    "docs/how-to/run-in-ci.md: set -e": HOST,
    "docs/tutorial.md: export OPENAI_BASE_URL": "says where the reader's model is; the tests have one",
    "docs/how-to/run-cases-at-once.md: pytest -p recall eval --recall-shard 2/4": ABOVE,
    "docs/how-to/run-in-ci.md: recall ci post status --commit": HOST,
    "docs/how-to/run-in-ci.md: export GITHUB_TOKEN=…": HOST,
    "docs/reference/datasets.md: pip install": "installs",
    "docs/reference/memory-protocols.md: PROGRAM ARGS reset --yes": "is a pattern",
    "docs/tutorial.md: python3 -m venv .venv": "installs",
}
"""What is neither run nor a file that a page writes: the page and the beginning of the block, and why."""

_GENERATED = re.compile(r"<!-- generated: [a-z-]+ -->\n.*?<!-- end -->", re.DOTALL)


def aside() -> Iterator[Block]:
    """Yield the blocks that are neither run, nor checked as a file, nor written by the generator."""
    for page in PAGES:
        generated = "".join(_GENERATED.findall(page.read_text(encoding="utf-8")))
        for block in blocks(page):
            if block.language in ("sh", "text") and not block.title and block.text not in generated:
                yield block


def key(block: Block) -> str:
    """Return the page of a block and its first line, as `NOT_RUN` begins it."""
    return f"{name_of(block.page)}: {block.text.strip().splitlines()[0]}"


def test_each_block_that_is_not_run_has_its_reason() -> None:
    found = [key(block) for block in aside()]
    assert [one for one in found if not any(one.startswith(known) for known in NOT_RUN)] == [], "run it, or say why not"
    assert [known for known in NOT_RUN if not any(one.startswith(known) for one in found)] == [], "is not there"


@pytest.mark.parametrize(
    "block", [block for page in PAGES for block in blocks(page) if block.language == "json"], ids=str
)
def test_json_can_be_read(block: Block) -> None:
    for text in [block.text] if block.text.startswith("[") else block.text.strip().splitlines():
        json.loads(text)


def lines(block: Block) -> Iterator[list[str]]:
    """Yield the words of each command of a block, without what comes behind a pipe or goes into a file."""
    for line in block.text.replace("\\\n", " ").splitlines():
        for one in re.split(r"&&|\|\|?|;|\bthen\b", line):
            # Of a template in a shell only the command's own words count.
            try:
                words = shlex.split(one, comments=True)
            except ValueError:
                continue
            while words and ("=" in words[0] or words[0] in ("if", "then", "!")):
                words = words[1:]
            if words:
                yield words[: next((at for at, word in enumerate(words) if word.startswith((">", "2>"))), None)]


@pytest.fixture(scope="module")
def options_of_pytest(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    code, printed, _ = command.apart(
        tmp_path_factory.mktemp("empty"), "pytest", "-p", "recall", "--help", env=os.environ
    )
    assert code == 0
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", printed))


def test_commands_that_are_not_run_exist_with_their_options(options_of_pytest: set[str]) -> None:
    checked = 0
    for block in aside():
        if block.language != "sh":
            continue
        for words in lines(block):
            name = words[0].rpartition("/")[2]
            if name == "recall":
                try:
                    cli._parser(words[1:]).parse_args(words[1:])
                except SystemExit:
                    pytest.fail(f"{block}: unknown command `{shlex.join(words)}`")
                checked += 1
            elif name == "pytest":
                given = {word.partition("=")[0] for word in words[1:] if word.startswith("-")}
                assert given - options_of_pytest == set(), str(block)
                checked += 1
    assert checked > 30


# Figures that follow from a formula


# Names without a reference


def commands() -> list[str]:
    """Return every command of `recall`, also those below another one, as they are written."""

    def below(parser: argparse.ArgumentParser, above: str) -> Iterator[str]:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, one in action.choices.items():
                    yield f"{above}{name}"
                    yield from below(one, f"{above}{name} ")

    parser = argparse.ArgumentParser()
    cli.add_commands(parser.add_subparsers())
    return list(below(parser, ""))


def arguments(command: str) -> list[str]:
    """Return the options of a command of `recall` that its help shows."""
    parser = cli._parser(command.split())
    for word in command.split():
        parser = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices[word]
    told = [action for action in parser._actions if action.dest != "help" and action.help is not argparse.SUPPRESS]
    return [option for action in told for option in action.option_strings]


def section(command: str) -> str:
    """Return what the reference says of a command."""
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    return page.partition(f"## `recall {command}`\n")[2].partition("\n## ")[0]


def described(command: str) -> list[str]:
    """Return the options in the reference's table of a command."""
    return re.findall(
        r"(?<![\w-])--?\w[\w-]*", " ".join(re.findall(r"^\| `([^`]+)` \|", section(command), re.MULTILINE))
    )


def properties(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the names of all fields in a JSON Schema."""
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part.get("properties", {})


def test_every_command_and_each_of_its_options_is_in_the_reference() -> None:
    everything = commands()
    assert {"init", "cassettes import", "bench run", "ci post status"} <= set(everything)
    missing = [name for name in everything if not section(name)]
    missing += [f"{name} {one}" for name in everything for one in arguments(name) if one not in described(name)]
    assert missing == []


def test_every_fixture_is_in_the_reference() -> None:
    defined = re.findall(
        r"@pytest\.fixture.*\ndef ([a-z]\w*)\(", (ROOT / "src/pytest_recall/plugin/fixtures.py").read_text("utf-8")
    )
    assert {"agent", "memory", "judge_exact"} <= set(defined) <= set(vars(fixtures))
    page = (REFERENCE / "fixtures.md").read_text(encoding="utf-8")
    judges = (REFERENCE / "judges.md").read_text(encoding="utf-8")
    missing = [name for name in defined if not name.startswith("judge_") and f"| `{name}` |" not in page]
    missing += [name for name in defined if name.startswith("judge_") and f"### `{name[6:]}`" not in judges]
    assert missing == []


@pytest.mark.parametrize("what", ["cases", "rubric", "dataset"])
def test_every_field_of_a_schema_is_in_the_reference(what: str) -> None:
    page = (REFERENCE / "schemas.md").read_text(encoding="utf-8")
    part = page.partition(f"`recall check --schema {what}`")[2].partition("\n## ")[0]
    names = list(properties(schema_of(what)))
    assert names
    assert [name for name in names if f"| `{name}` |" not in part] == []


def test_every_setting_of_the_rubric_is_told_in_words() -> None:
    page = (REFERENCE / "rubric.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", page, re.MULTILINE))
    assert [name for name in Settings.model_fields if not rows.get(name, "").strip()] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_rooms_are_those_that_a_test_enforces(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    drawn = next(line for line in text.splitlines() if line.startswith("cli > plugin"))
    assert tuple(drawn.split(" > ")) == ROOMS


def test_changelog_fragments_are_named_by_their_kind() -> None:
    guide = (ROOT / "changelog.d" / "README.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE)
    fragments = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [name for name in fragments if not re.fullmatch(rf"(\d+|\+\w+)\.({'|'.join(kinds)})\.md", name)] == []
