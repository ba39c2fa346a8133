"""The site: what it is made of, its navigation, and what the script finds wrong with built pages."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.helpers.scripts import loaded

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "build-site.py"


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """The script, whose name with hyphens no import can write."""
    return loaded(SCRIPT)


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """Make a project with these files."""

    def make(**files: str) -> Path:
        for name, text in {"README": "# Home\n", "docs__index": "# Pages\n", **files}.items():
            path = tmp_path / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return make


# The navigation


def pages(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for target in entry.values():
            yield from pages(target) if isinstance(target, list) else [target]


def test_the_navigation_is_the_index(site: ModuleType) -> None:
    nav = tomllib.loads(f"nav = {site.navigation(ROOT)}")["nav"]
    assert [next(iter(section)) for section in nav] == ["Start", "Learn", "Do", "Look up", "Understand"]
    assert all(isinstance(next(iter(group.values())), list) for group in nav[2]["Do"])
    found = list(pages(nav))
    assert len(found) == len(set(found))
    everything = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(found) == everything | {"README.md", "examples/README.md"}


def test_groups_keep_their_pages(site: ModuleType, project: Callable[..., Path]) -> None:
    root = project(
        docs__index="## Do\n\n### One `thing`\n\n- [A `b`](a.md): more\n\n"
        "### Two\n\n- do it → [C](c.md)\n\n## What\n\nText.\n"
    )
    nav = tomllib.loads(f"nav = {site.navigation(root)}")["nav"]
    assert nav[1:] == [{"Do": [{"One `thing`": [{"A b": "docs/a.md"}]}, {"Two": [{"C": "docs/c.md"}]}]}]


# What it is made of


def test_what_pages_link_to_comes_along(site: ModuleType, project: Callable[..., Path]) -> None:
    root = project(
        docs__a="[more](../more/b.md#top), [here](#here), [out](https://example.org/x)\n```md\n[no](gone.md)\n```\n",
        more__b="[other](c.md)",
        more__c="end",
        unlinked="no page links to it",
    )
    found = [path.relative_to(root).as_posix() for path in site.sources(root)]
    assert found == ["README.md", "docs/a.md", "docs/index.md", "more/b.md", "more/c.md"]


def test_a_link_to_a_folder_is_one_to_its_readme(site: ModuleType, project: Callable[..., Path]) -> None:
    root = project(docs__a="[folder](../more/)", more__README="text")
    assert root / "more" / "README.md" in site.sources(root)
    (root / "more" / "README.md").unlink()
    with pytest.raises(SystemExit, match=r"README\.md: a page links to it or its folder, and it is not there"):
        site.sources(root)


def test_marks_of_our_tests_are_taken_off_fences(
    site: ModuleType, project: Callable[..., Path], tmp_path: Path
) -> None:
    root = project(docs__a='```console sample\n$ a\n```\n```yaml wrong title="x.yaml"\nb: 1\n```\n```sh\nc d\n```\n')
    site.copy(root, tmp_path / "out")
    text = (tmp_path / "out" / "docs" / "a.md").read_text(encoding="utf-8")
    assert text == '```console\n$ a\n```\n```yaml title="x.yaml"\nb: 1\n```\n```sh\nc d\n```\n'


# What is found wrong


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="../b/#top">b</a>', None),
        ('<a href="https://example.org/">elsewhere</a>', None),
        ('<link rel="canonical" href="https://example.org/a/">', None),
        ('<a href="../c/">c</a>', "a/index.html: ../c/ leads nowhere"),
        ('<a href="../b/#bottom">b</a>', "a/index.html: ../b/#bottom leads to no heading"),
        ('<a href="#here">here</a>', "a/index.html: #here leads to no heading"),
        ('<script src="x.js"></script>', "a/index.html: x.js leads nowhere"),
        (
            '<script src="https://example.org/x.js"></script>',
            "a/index.html: loads https://example.org/x.js from another host",
        ),
        (
            '<link rel="stylesheet" href="//example.org/x.css">',
            "a/index.html: loads //example.org/x.css from another host",
        ),
        ('<img src="http://example.org/x.png">', "a/index.html: loads http://example.org/x.png from another host"),
    ],
)
def test_faults(site: ModuleType, tmp_path: Path, body: str, fault: str | None) -> None:
    for name, text in (("a", body), ("b", '<h1 id="top">B</h1>')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(text, encoding="utf-8")
    assert list(site.faults(tmp_path)) == ([fault] if fault else [])


@pytest.mark.parametrize("rule", ["@import 'https://example.org/f.css';", "b { src: url(//example.org/f.woff2) }"])
def test_fonts_of_others_are_a_fault(site: ModuleType, tmp_path: Path, rule: str) -> None:
    (tmp_path / "x.css").write_text(rule, encoding="utf-8")
    assert [fault.partition(":")[0] for fault in site.faults(tmp_path)] == ["x.css"]


def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, f"{tmp_path}: is there and no site; name another folder\n")
    assert (tmp_path / "mine.txt").exists()


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="the extra `docs` is not installed")
def test_it_is_built(
    site: ModuleType, project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a few pages; `.ci/run` builds that of ours."""
    root = project(
        README="# Home\n\n[All](docs/index.md)\n", docs__index="# Pages\n\n## Do\n\n- [A](a.md)\n", docs__a="# A\n"
    )
    shutil.copy(ROOT / "zensical.toml", root)
    monkeypatch.setattr(site, "ROOT", root)
    built = root / "built"
    monkeypatch.setattr(sys, "argv", [SCRIPT.name, "--out", str(built), "--url", "https://example.org/recall/"])
    code = site.main()
    told = "".join(capfd.readouterr())
    assert (code, "arning" in told) == (0, False), told
    assert "<h1" in (built / "docs" / "a" / "index.html").read_text(encoding="utf-8")
    assert 'href="/recall/' in (built / "404.html").read_text(encoding="utf-8")
    assert (built / "search.json").is_file()
    # A link that leads nowhere is a warning, and with one there is no site.
    (root / "docs" / "a.md").write_text("# A\n\n[nowhere](#nowhere)\n", encoding="utf-8")
    assert site.main() == 1
