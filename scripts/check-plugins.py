#!/usr/bin/env python3
"""Run a small eval set beside each of the most used pytest plugins: live, recorded and replayed, alone and on workers.

    scripts/check-plugins.py                       the plugins that are installed
    scripts/check-plugins.py --all                 all of them; one that is missing is an error
    scripts/check-plugins.py pytest-html           these

Each run is compared with the same run without the plugin: what pytest counts, the state and the trials of the journal
have to be equal, and the file that a plugin writes has to tell of as many tests that passed, and that did not, as
pytest has counted. Where a plugin repeats what failed, the last trial of each case is compared.
`pip install -e ".[plugins]"` installs them.
"""

from __future__ import annotations

import argparse
import html
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from eval_runs import JsonHandler, environment, serving, trials

CASES = """\
- {id: right, scenario: facts, dimension: recall, input: right, judges: [{contains: right}]}
- {id: wrong, scenario: facts, dimension: recall, input: wrong, judges: [{contains: another}]}
- {id: crash, scenario: facts, dimension: recall, input: crash, judges: [{contains: crash}]}
- {id: sound, scenario: tools, dimension: recall, input: sound, judges: [{contains: sound}]}
"""
CONFTEST = """\
import json
import os
import urllib.request

import pytest


@pytest.fixture
def agent():
    def ask(question):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": question}]}).encode()
        request = urllib.request.Request(
            os.environ["UPSTREAM"] + "/v1/chat/completions", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            text = json.load(answer)["choices"][0]["message"]["content"]
        if question == "crash":
            raise RuntimeError("the agent broke")
        return text

    return ask
"""
TESTS = """\
import pytest


@pytest.mark.recall("marked")
def test_marked(agent):
    assert "ten" in agent("ten")


def test_that_is_no_case():
    assert True
"""
STATE = """\
version: 1
rows: 2
cases:
  right: {box: 2, pass_streak: 1, last_tested: 2026-03-01, next_due: 2026-03-04}
  wrong: {box: 3, pass_streak: 2, last_tested: 2026-03-01, next_due: 2026-03-08}
"""


def of_json_report(file: Path) -> list[str]:
    """Return the outcomes in a file of pytest-json-report."""
    return [test["outcome"] for test in json.loads(file.read_text(encoding="utf-8"))["tests"]]


def of_report_log(file: Path) -> list[str]:
    """Return the outcomes in a file of pytest-reportlog."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [row["outcome"] for row in rows if row.get("$report_type") == "TestReport" and row["when"] == "call"]


def of_html(file: Path) -> list[str]:
    """Return the outcomes in a page of pytest-html."""
    blob = re.search(r'data-jsonblob="([^"]*)"', file.read_text(encoding="utf-8"))
    tests = json.loads(html.unescape(blob[1]))["tests"] if blob else {}
    return [row["result"].lower() for rows in tests.values() for row in rows]


def of_allure(folder: Path) -> list[str]:
    """Return the outcomes in a folder of allure-pytest."""
    return [json.loads(file.read_text(encoding="utf-8"))["status"] for file in folder.glob("*-result.json")]


def of_markdown(file: Path) -> list[str]:
    """Return the outcomes in a file of pytest-md."""
    found = re.findall(r"^- (\d+) (passed|failed|error)", file.read_text(encoding="utf-8"), re.MULTILINE)
    return [outcome for number, outcome in found for _ in range(int(number))]


class Plugin(NamedTuple):
    """A plugin: its module, the options by which it does something, and a file that it writes, with its outcomes."""

    module: str
    options: tuple[str, ...] = ()
    file: str = ""
    needs: tuple[str, ...] = ()
    repeats: bool = False
    outcomes: Callable[[Path], list[str]] | None = None


PLUGINS = {
    "pytest-asyncio": Plugin("pytest_asyncio.plugin", ("-o", "asyncio_mode=auto")),
    "anyio": Plugin("anyio.pytest_plugin"),
    "pytest-cov": Plugin("pytest_cov.plugin", ("--cov=eval", "--cov-report=xml:cov.xml"), "cov.xml"),
    "pytest-mock": Plugin("pytest_mock"),
    "pytest-timeout": Plugin("pytest_timeout", ("--timeout=60",)),
    "pytest-rerunfailures": Plugin("pytest_rerunfailures", ("--reruns=1",), repeats=True),
    "pytest-retry": Plugin("pytest_retry.retry_plugin", ("--retries=1",), repeats=True),
    "flaky": Plugin("flaky.flaky_pytest_plugin", ("--force-flaky", "--max-runs=2"), repeats=True),
    "pytest-randomly": Plugin("pytest_randomly"),
    "pytest-random-order": Plugin("random_order.plugin", ("--random-order",)),
    "pytest-order": Plugin("pytest_order"),
    "pytest-dependency": Plugin("pytest_dependency"),
    "pytest-metadata": Plugin("pytest_metadata.plugin"),
    "pytest-html": Plugin(
        "pytest_html.plugin", ("--html=report.html",), "report.html", ("pytest_metadata.plugin",), outcomes=of_html
    ),
    "pytest-json-report": Plugin(
        "pytest_jsonreport.plugin",
        ("--json-report", "--json-report-file=report.json"),
        "report.json",
        ("pytest_metadata.plugin",),
        outcomes=of_json_report,
    ),
    "pytest-reportlog": Plugin(
        "pytest_reportlog.plugin", ("--report-log=log.jsonl",), "log.jsonl", outcomes=of_report_log
    ),
    "allure-pytest": Plugin("allure_pytest.plugin", ("--alluredir=allure",), "allure", outcomes=of_allure),
    "pytest-md": Plugin("pytest_md.plugin", ("--md=report.md",), "report.md", outcomes=of_markdown),
    "pytest-sugar": Plugin("pytest_sugar"),
    "pytest-instafail": Plugin("pytest_instafail", ("--instafail",)),
    "pytest-tldr": Plugin("pytest_tldr"),
    "pytest-clarity": Plugin("pytest_clarity.plugin"),
    "pytest-icdiff": Plugin("pytest_icdiff"),
    "pytest-check": Plugin("pytest_check.plugin"),
    "pytest-subtests": Plugin("pytest_subtests.plugin"),
    "pytest-benchmark": Plugin("pytest_benchmark.plugin", ("--benchmark-disable",)),
    "pytest-env": Plugin("pytest_env.plugin"),
    "pytest-socket": Plugin("pytest_socket", ("--allow-hosts=127.0.0.1",)),
    "pytest-freezer": Plugin("pytest_freezer"),
    "pytest-httpx": Plugin("pytest_httpx"),
    "pytest-recording": Plugin("pytest_recording.plugin"),
    "pytest-picked": Plugin("pytest_picked.plugin"),
    "pytest-split": Plugin("pytest_split.plugin"),
    "pytest-bdd": Plugin("pytest_bdd.plugin"),
    "pytest-durations": Plugin("pytest_durations", ("--pytest-durations=5",)),
    "pytest-github-actions-annotate-failures": Plugin("pytest_github_actions_annotate_failures.plugin"),
}
MODES = {"live": (), "record": ("--record",), "replay": ("--replay",)}
WORKERS = {"": (), " -n2": ("-p", "xdist", "-n2")}


class Upstream(JsonHandler):
    """Answers with the text of the last message."""

    def reply(self, asked: Any) -> Any:
        """Return the answer to a body."""
        message = {"role": "assistant", "content": asked["messages"][-1]["content"]}
        return {"model": "m", "choices": [{"index": 0, "message": message}]}


class Found(NamedTuple):
    """What a run came to: its exit code, what pytest counted, the state, and the trials of each case."""

    code: int
    counts: dict[str, int]
    state: str
    trials: dict[str, list[str]]
    printed: str

    def last(self) -> Found:
        """The same with the last trial of each case, for a plugin that repeats some."""
        return self._replace(counts={}, trials={name: told[-1:] for name, told in self.trials.items()})

    def difference(self, other: Found) -> str:
        """Return how another run differs, in a line; empty if it is the same."""
        for name in ("code", "counts", "state", "trials"):
            mine, others = getattr(self, name), getattr(other, name)
            if mine != others:
                return f"{name}: {mine!r} without it, {others!r} with it"
        return ""


def run(folder: Path, url: str, mode: str, workers: str, plugin: Plugin | None) -> Found:
    """Run the set in a fresh process, from the same state each time."""
    shutil.rmtree(folder / "eval" / "_artifacts", ignore_errors=True)
    (folder / "eval" / "recall.yaml").write_text(STATE)
    command = [sys.executable, "-m", "pytest", "-p", "recall", "eval", "test_marked.py", "--recall-mode=all"]
    command += ["--recall-date=2026-03-10", "-p", "no:cacheprovider", *MODES[mode], *WORKERS[workers]]
    if plugin is not None:
        command += [part for name in (*plugin.needs, plugin.module) for part in ("-p", name)] + [*plugin.options]
    kept = environment(UPSTREAM=url, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", NO_COLOR="1")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=kept, timeout=300, check=False)
    printed = f"{done.stdout}\n{done.stderr}"
    # The last line of pytest; a plugin that writes another one is compared by the rest.
    ends = re.findall(r"^=*\s*(\d+ (?:passed|failed|error)[^\n]*) in [0-9.]+s", printed, re.MULTILINE)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", ends[-1])} if ends else {}
    told = {
        name: [f"{row['outcome']} {row.get('source', '')}".strip() for row in rows]
        for name, rows in trials(folder / "eval").items()
    }
    state = (folder / "eval" / "recall.yaml").read_text(encoding="utf-8")
    return Found(done.returncode, counts, state, told, printed)


def check(name: str, plugin: Plugin, folder: Path, url: str, bare: dict[str, Found]) -> dict[str, str]:
    """Return how each run beside a plugin differs from the bare one, by the name of the run."""
    found = {}
    for workers in WORKERS:
        shutil.rmtree(folder / "eval" / "cassettes", ignore_errors=True)
        for mode in MODES:
            step = f"{mode}{workers}"
            got, wanted = run(folder, url, mode, workers, plugin), bare[step]
            if "INTERNALERROR" in got.printed or not got.trials:
                found[step] = got.printed[-2000:]
                continue
            if plugin.repeats:
                got, wanted = got.last(), wanted.last()
            elif not got.counts:
                wanted = wanted._replace(counts={})
            difference = wanted.difference(got) or amiss(plugin, folder / plugin.file, bare[step].counts)
            if difference:
                found[step] = f"{difference}\n{got.printed[-1500:]}"
    return found


def amiss(plugin: Plugin, written: Path, counts: dict[str, int]) -> str:
    """Return what is wrong with the file that a plugin has written, which is deleted; empty if nothing."""
    if not plugin.file:
        return ""
    if not written.exists():
        return f"{plugin.file} was not written"
    told = Counter(outcome == "passed" for outcome in plugin.outcomes(written)) if plugin.outcomes else None
    shutil.rmtree(written) if written.is_dir() else written.unlink()
    wanted = {True: counts["passed"], False: sum(counts.values()) - counts["passed"]}
    if told is None or dict(told) == wanted:
        return ""
    return f"{plugin.file} tells of {told[True]} that passed and {told[False]} that did not, and not of {wanted}"


def is_installed(name: str) -> bool:
    """Return whether a distribution is installed."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--all", action="store_true", help="one that is not installed is an error")
    args = parser.parse_args()
    if unknown := sorted(set(args.names) - set(PLUGINS)):
        parser.error(f"{unknown[0]}: unknown; known: {', '.join(PLUGINS)}")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="recall-plugins-") as made, serving(Upstream) as url:
        folder = Path(made)
        (folder / "eval").mkdir()
        files: dict[str, Any] = {"pytest.ini": "[pytest]\n", "eval/rubric.yaml": "owner: us\n", "test_marked.py": TESTS}
        files |= {"eval/cases.yaml": CASES, "eval/conftest.py": CONFTEST, "conftest.py": CONFTEST}
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        bare = {f"{mode}{workers}": run(folder, url, mode, workers, None) for workers in WORKERS for mode in MODES}
        for step, found in bare.items():
            print(f"without a plugin, {step}: exit code {found.code}, {found.counts}, {found.trials}", flush=True)
        for name in args.names or PLUGINS:
            if not is_installed(name):
                print(f"{name:40} not installed")
                failed += args.all or name in args.names
                continue
            differences = check(name, PLUGINS[name], folder, url, bare)
            print(f"{name:40} {'differs: ' + ', '.join(differences) if differences else 'the same'}", flush=True)
            for step, text in differences.items():
                print(f"\n{name}, {step}: {text}", file=sys.stderr)
            failed += bool(differences)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
