"""Documentation: what the pages show is what happens, and nothing is left out of them.

    python -m tests.test_docs [PAGE…]    put real output under the commands whose output has changed

A block marked `console` is run: each `$ command` in order, all blocks of a page in one
empty folder, and what is printed must be what the page shows. A line `...` stands for any
lines. Blocks with a title are files, and are written before the next command runs. Under
`console sample` only the shapes of the lines count, since the numbers are of the day.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from unittest import mock

import pytest

import pytest_recall
from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.datasets import locomo, longmemeval
from pytest_recall.datasets.cases import read_bench
from pytest_recall.datasets.dataset import Kind
from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.corpus import read_questions
from pytest_recall.horizon.profile_file import read_profile
from pytest_recall.metrics.commands import retrieval_json as summary_as_json
from pytest_recall.metrics.retrieval import METRICS, Retrieval
from pytest_recall.metrics.summary import RetrievalFold
from pytest_recall.plugin import fixtures
from pytest_recall.results.comparison import compare
from pytest_recall.results.comparison_text import comparison_report
from pytest_recall.results.scorecard import summarize
from pytest_recall.results.scorecard_text import as_json
from pytest_recall.schedule.boxes import INTERVALS
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.trial import Answer, Outcome, Passage, Row, Trial, Verdict
from tests.helpers import command as recall
from tests.helpers import programs
from tests.helpers.autoload import nursery
from tests.helpers.museum import endpoint
from tests.helpers.scripts import loaded

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial.md"
"""The one page whose commands find a model: it begins with one's own."""
REFERENCE = DOCS / "reference"
SOURCE = ROOT / "src" / "pytest_recall"
PAGES = [
    README,
    *(ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "changelog.d/README.md")),
    *sorted(DOCS.rglob("*.md")),
    # Not deeper: anyone who has tried an example has an environment in it.
    *sorted((ROOT / "examples").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/*.md")),
]
BESIDE = sorted(
    page
    for folder in ("benchmarks", "eval", "examples", ".github")
    for page in (ROOT / folder).rglob("*.md")
    if not {"_artifacts", ".venv", ".pytest_cache", "node_modules"} & set(page.parts)
)
"""Pages whose links are followed, and whose commands are no business of these tests."""

TODAY = "2026-11-21"
"""The day on which the commands of a page run where they give none."""
CHECKOUT = ("eval", "pyproject.toml")
"""What the README's commands find in their folder; those of other pages find nothing."""

_FENCE = re.compile(r"^```([a-z]+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_OWN = re.compile(r"recall (?P<given>[\w .,:=/-]+?)(?: > (?P<out>[\w./]+))?(?: (?P<both>2>&1)| 2> (?P<err>[\w./]+))?")
_SHAPES = {
    r"recall: \w+ \S+, seed \S+: \d+ of \d+ cases \(": "the slice",
    r"\S*cases\.yaml [.FEsx]+ +\[": "progress",
    r"(reason|scenario)  +\w": "the head of a table",
    r"\w[\w ]*?(  +\d+)+$": "a row of a table",
    r"  \S+ \((box \d|new) ": "a failed case",
    r"      \S": "why it failed",
    r"=== .* in 0\.00s ===$": "the end",
}
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block: its language, what else the fence says, and its text."""

    page: Path
    line: int
    language: str
    about: str
    text: str

    @property
    def title(self) -> str | None:
        """The file that the block is, if it is one."""
        found = _TITLE.search(self.about)
        return found[1] if found else None

    def __str__(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    """Return the path of `page` from the root of the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of `page`, in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page=page, line=text.count("\n", 0, m.start()) + 1, language=m[1], about=m[2].strip(), text=m[3])
        for m in _FENCE.finditer(text)
    ]


def all_blocks(*languages: str) -> list[Block]:
    """Return the blocks of all pages in one of `languages`."""
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


# Commands


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with the output that is shown under it."""
    command, output = "", ""
    for line in text.splitlines():
        if command.endswith("\\"):
            command += f"\n{line}"
        elif line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], ""
        else:
            assert command, f"output before the first command: {line}"
            output += f"{line}\n"
    if command:
        yield command, output


def play(page: Path, folder: Path) -> Iterator[tuple[Block, str, str, str]]:
    """Run the commands of `page` in `folder`; yield each with the output shown and the real one."""
    env = {
        "PATH": os.pathsep.join([str(programs.folder()), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "80",
        "PYTHONUNBUFFERED": "1",
        # What else is installed here must not show in the pages.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "few_plugins",
        # As the conftest file of the project has it for cases, which the README's folder is without.
        "PYTEST_XDIST_AUTO_NUM_WORKERS": "0",
        "PYTHONPATH": str(Path(nursery.__file__).parent),
        # Of one authority: clients read all whenever they are made.
        "SSL_CERT_FILE": os.environ.get("SSL_CERT_FILE", ""),
        "RECALL_DATE": TODAY,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_NAME": "A. N. Other" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "other@example.org" for role in ("AUTHOR", "COMMITTER")},
    }
    model: AbstractContextManager[dict[str, str]] = endpoint() if page == TUTORIAL else nullcontext({})
    with model as served:
        yield from _played(page, folder, {**env, **served})


def _played(page: Path, folder: Path, env: dict[str, str]) -> Iterator[tuple[Block, str, str, str]]:
    code = 0
    for block in blocks(page):
        if block.title is not None:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if block.language != "console":
            continue
        for command, shown in commands(block.text):
            code, printed = called(command, folder, env, code)
            yield block, command, shown, printed


def called(command: str, folder: Path, env: dict[str, str], code: int) -> tuple[int, str]:
    """Run a command after another one that ended with `code`; return its own code and what it printed."""
    if found := _OWN.fullmatch(command):
        # Of our own command line, what needs no shell needs no process either.
        kept = {name: folder / path for name, path in found.groupdict().items() if name in ("out", "err") and path}
        with mock.patch.dict(os.environ, env, clear=True):
            done = recall.run(folder, *found["given"].split(), together=bool(found["both"] or not kept))
        for name, path in kept.items():
            path.write_text(getattr(done, name), encoding="utf-8")
        return done.code, "".join(getattr(done, name) for name in ("out", "err") if name not in kept)
    if re.fullmatch(r"pytest( [\w .,:=/-]+)?", command):
        done = recall.apart(folder, *command.split(), env=env, together=True)
        return done.code, done.out
    # The parenthesis hands on the exit code, so that `echo $?` works.
    process = subprocess.run(
        ["sh", "-c", f"(exit {code})\n{command}"],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    return process.returncode, process.stdout.decode("utf-8")


def fill(page: Path, folder: Path) -> None:
    """Put into `folder` what the commands of `page` may take for granted."""
    if page == README:
        for name in CHECKOUT:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
        shutil.rmtree(folder / "eval" / "_artifacts", ignore_errors=True)
        thin(folder / "eval" / "cases.yaml", page.read_text(encoding="utf-8"))


def thin(cases: Path, text: str) -> None:
    """Leave of a case file the cases that `text` names, all others of their scenarios, and each eighth of the rest."""
    head, *every = re.split(r"^- id: ", cases.read_text(encoding="utf-8"), flags=re.MULTILINE)
    scenarios = tuple(one.partition("-")[0] for one in every if one.split()[0] in text)
    assert scenarios, "none of them is named"
    kept = [one for number, one in enumerate(every) if number % 8 == 0 or one.startswith(scenarios)]
    cases.write_text("- id: ".join([head, *kept]), encoding="utf-8")


def steady(output: str) -> str:
    """Return `output` without what differs from run to run: durations, ports, commits, and names of runs and files."""
    output = re.sub(r"\bin \d+\.\d+s", "in 0.00s", output)
    output = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:11434", output)
    output = re.sub(r"^commit: \"?[0-9a-f]{40}\"?$", "commit: 0", output, flags=re.MULTILINE)
    # After a run a name may have the commit and a count of trials, and a digest, which is also of the run's name.
    output = re.sub(r"(T\d{6})([-.][0-9a-f]+)*-[0-9a-f]{6}\b", r"\1", output)
    output = re.sub(r"\d{4}-\d\d-\d\dT\d{6}(-\d+)?", "2026-11-21T120000", output)
    output = re.sub(r"([=_-])\1{3,}", r"\1\1\1", output)
    return "\n".join(line.rstrip() for line in output.strip("\n").split("\n"))


def shape(line: str) -> str:
    """Return what stays of a line of a run when its slice is another one."""
    for pattern, kind in _SHAPES.items():
        if re.match(pattern, line):
            return kind
    return " ".join(re.sub(r"[\d,.]*\d", "0", line).split())


def fits(block: Block, shown: str, real: str) -> bool:
    """Whether the page shows what a command printed."""
    shown, real = steady(shown), steady(real)
    if "sample" in block.about.split():
        shapes = {shape(line) for line in real.split("\n")}
        return bool(shown) == bool(real) and all(shape(line) in shapes for line in shown.split("\n") if line != "...")
    lines = [r"(?:.*\n)*?" if line == "..." else re.escape(f"{line}\n") for line in shown.split("\n")]
    return re.fullmatch("".join(lines), f"{real}\n") is not None


@pytest.mark.skipif(os.name == "nt", reason="the commands are written for a POSIX shell")
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.language == "console" for block in blocks(page))], ids=name_of
)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    fill(page, tmp_path)
    for block, command, shown, real in play(page, tmp_path):
        assert fits(block, shown, real), f"{block}: `{command}` printed\n{real}\nnot\n{shown}"


# Other blocks


@pytest.mark.parametrize("block", all_blocks("python"), ids=str)
def test_python_compiles(block: Block) -> None:
    compile(block.text, str(block), "exec")


@pytest.mark.parametrize("block", all_blocks("yaml", "jsonl"), ids=str)
def test_files_are_valid(block: Block, tmp_path: Path) -> None:
    path = tmp_path / Path(block.title or "untitled.yaml").name
    path.write_text(block.text, encoding="utf-8")
    rows = strict_yaml.load(block.text, str(block)) if block.language == "yaml" else None
    if "wrong" in block.about.split():
        with pytest.raises(RecallError):
            CaseFile(path, str(block))
    elif path.name == "questions.yaml":
        assert read_questions(path, str(block))
    elif path.name.endswith(".profile.yaml"):
        assert read_profile(path, str(block), {}, print).persona.id
    elif path.name.endswith(("cases.yaml", "cases.jsonl")) or (isinstance(rows, list) and "id" in rows[0]):
        assert CaseFile(path, str(block)).cases()
    elif path.name.endswith(".dataset.yaml"):
        assert read_bench(path, str(block)).cases()
    elif path.name == "rubric.yaml":
        read_settings(path, str(block))
    elif path.name == "recall.yaml":
        assert read_state(path, str(block)).rows


# Links


def prose(page: Path) -> str:
    """Return the text of `page` without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of `page`, by GitHub's rule."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = 1
        while anchor in found:
            anchor = f"{anchor.removesuffix(f'-{count - 1}')}-{count}"
            count += 1
        found.add(anchor)
    return found


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the page and the anchor of each link in `page` that stays in the project."""
    for target in _LINK.findall(prose(page)):
        if not target.startswith(("http://", "https://")):
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def astray(page: Path) -> list[str]:
    """Return the links of `page` that lead nowhere."""
    found = []
    for target, anchor in links(page):
        if not target.exists():
            found.append(f"{name_of(page)}: {target} is not there")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            found.append(f"{name_of(page)}: {target.name} has no heading #{anchor}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert astray(page) == []


def test_links_of_pages_beside_the_code_lead_somewhere() -> None:
    assert ROOT / "eval" / "README.md" in BESIDE
    assert [fault for page in BESIDE for fault in astray(page)] == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](#here) [b](#there) [c](gone.md) [d](https://example.org)\n", encoding="utf-8")
    assert astray(page) == ["page.md: page.md has no heading #there", f"page.md: {tmp_path}/gone.md is not there"]


def test_every_page_is_linked_from_the_index() -> None:
    linked = {target for target, _ in links(DOCS / "index.md")}
    assert [name_of(page) for page in DOCS.rglob("*.md") if page not in linked and page.name != "index.md"] == []


# Completeness


def test_listing_the_fixtures_names_the_judges_and_leaves_nothing_behind(tmp_path: Path) -> None:
    assert recall.run(tmp_path, "init").code == 0
    code, printed, _ = recall.apart(tmp_path, "pytest", "--fixtures", "-p", "no:cacheprovider", env=os.environ)
    assert code == 0
    assert {"judge_exact", "judge_brief"} <= set(re.findall(r"^judge_\w+", printed, re.MULTILINE))
    assert not (tmp_path / "eval" / "_artifacts").exists()
    assert "scorecard" not in printed


def test_reference_is_what_the_code_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["generate-reference.py", "--check"])
    code = loaded(ROOT / "scripts" / "generate-reference.py").main()
    assert code == 0, f"run scripts/generate-reference.py\n{capsys.readouterr()}"


def test_every_option_and_setting_is_documented(tmp_path: Path) -> None:
    code, printed, _ = recall.apart(tmp_path, "pytest", "--help", env=os.environ)
    assert code == 0
    own = printed.partition("\neval cases on a schedule")[2].partition("\n\n")[0]
    names = (line.partition("   ")[0] for line in own.splitlines() if line.startswith("  --"))
    found = {name for line in names for name in re.findall(r"--[a-z-]+", line)}
    found |= set(re.findall(r"^  (recall[a-z_]*)", printed, re.MULTILINE))
    assert {"--scenarios", "--recall-mode", "recall_files"} <= found
    page = (REFERENCE / "options.md").read_text(encoding="utf-8")
    # Short names share a heading with the long ones.
    headings = " ".join(re.findall(r"^### `(.+)`$", page, re.MULTILINE)).replace(",", "").split()
    assert sorted(found - set(headings)) == []


_FACTS = {"run": "", "date": TODAY, "mode": "all", "seed": "", "started": "", "total": 1, "picks": ()}
_HEADER = Header(**_FACTS, scheduled=True, writes=True)  # type: ignore[arg-type]


def _scorecard_keys() -> list[str]:
    return list(as_json(Record(header=_HEADER), summarize([], [], 1, date.fromisoformat(TODAY))))


def _comparison_keys() -> list[str]:
    record = Record(header=_HEADER, trials=(Trial("a", Outcome.PASSED, seconds=1.0),))
    plain = comparison_report(compare(record, record)).facts
    return [*plain, *plain["base"], *plain["overall"], *plain["not_compared"], *plain["seconds"]]


def _summary_keys() -> list[str]:
    fold = RetrievalFold(5)
    line = {"id": "a", "category": "x", "retrieved": ["x"], "ground_truth": "x", "seconds": 1.0}
    fold.add(Retrieval.model_validate(line))
    fold.add(Retrieval.model_validate({**line, "error": "late"}))
    told = summary_as_json(fold.summary(), refused=0)
    return [*told, *told["metrics"]["contains"], *told["percentiles"]["seconds"], *told["published"]]


KEYS = {"counts_for_schedule": "evidence"}
"""Keys of the journal that are called otherwise in the code."""


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("cases.md", list(Case.model_fields)),
        ("rubric.md", list(Settings.model_fields)),
        ("judges.md", [name.removeprefix("judge_") for name in vars(fixtures) if name.startswith("judge_")]),
        ("fixtures.md", ["agent", "recall_case", *pytest_recall.__all__]),
        ("fixtures.md", [f.name for kind in (Answer, Passage, Verdict) for f in fields(kind)]),
        ("state.md", [name for name in Row._fields if name != "extra"]),
        (
            "journal.md",
            [
                KEYS.get(name, name)
                for kind in (Header, Trial)
                for name in kind._fields
                if name not in ("weighed", "tally")
            ],
        ),
        ("journal.md", [outcome.value for outcome in Outcome]),
        ("journal.md", _scorecard_keys()),
        ("cli.md", _comparison_keys()),
        ("metrics.md", [*Retrieval.model_fields, *METRICS, *_summary_keys()]),
        ("datasets.md", [*(kind.name.lower() for kind in Kind), *locomo.CATEGORIES.values(), *longmemeval.CATEGORIES]),
    ],
)
def test_every_name_is_documented(page: str, names: list[str]) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    assert names
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_boxes_are_documented() -> None:
    text = (DOCS / "schedule.md").read_text(encoding="utf-8")
    assert [f"| {box} | {days} |" for box, days in INTERVALS.items() if f"| {box} | {days} |" not in text] == []


def test_the_architecture_names_modules_that_exist() -> None:
    named = re.findall(r"`(\w+/\w*(?:\.py)?)`", (DOCS / "architecture.md").read_text(encoding="utf-8"))
    assert "schedule/selection.py" in named
    assert [name for name in named if not (SOURCE / name).exists() and not (ROOT / name).exists()] == []


def rewrite(page: Path) -> None:
    """Put the real output under each command of `page` whose output has changed."""
    text, position = page.read_text(encoding="utf-8"), 0
    with tempfile.TemporaryDirectory() as folder:
        fill(page, Path(folder))
        for block, command, shown, real in play(page, Path(folder)):
            start = text.index(f"$ {command}\n{shown}", position) + len(f"$ {command}\n")
            if not fits(block, shown, real):
                print(f"{block}: {command}")
                text = text[:start] + presentable(real) + text[start + len(shown) :]
                shown = presentable(real)
            position = start + len(shown)
    page.write_text(text, encoding="utf-8")


def presentable(output: str) -> str:
    """Return `output` as a page shows it, with `...` for what pytest says of the machine."""
    lines: list[str] = []
    for line in output.strip("\n").split("\n"):
        about = (
            line.startswith(("platform ", "rootdir: ", "configfile: ", "plugins: ")) or "test session starts" in line
        )
        if not about:
            lines.append(line.rstrip())
        elif lines[-1:] != ["..."]:
            lines.append("...")
    return "".join(f"{line}\n" for line in lines) if output.strip() else ""


if __name__ == "__main__":
    for given in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        rewrite(given)
