#!/usr/bin/env python3
"""Build the site of README.md and docs/, without a warning or not at all.

    scripts/build-site.py                   into site/
    scripts/build-site.py --out DIR         elsewhere
    scripts/build-site.py --url URL         with the address under which it will be served

Pages keep their paths, so that a link which holds in the repository holds on the site, and
what a page links to outside of docs/ is on the site too. The navigation is docs/index.md.
Afterwards each link of the built pages is followed, and a page may load nothing from another
host. Needs `pip install '.[docs]'`. Exit code 1 says that something is wrong with the pages.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
MENU = "docs/index.md"
SETTINGS = "#: settings\n"

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
ENTRY = re.compile(r"^(#{2,3}) (.+)$|^- (?:[^\[\n]+ → )?\[([^\]]+)\]\(([^)#\s]+)\)", re.MULTILINE)
# What our tests read from a fence, and the site takes for a mistake: words without a value.
MARKS = re.compile(r"^(```[a-z]+)(?: [a-z]+(?!=))+(?=$| )", re.MULTILINE)

LOADS = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}
"""Elements that make a browser fetch something, each with the attribute that says what."""
MENTIONS = {"canonical", "next", "prev"}
"""Relations of a `link` of which nothing is fetched."""


# What the site is made of


def linked(page: Path) -> Iterator[Path]:
    """Yield the files that `page` links to, within the repository."""
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if not urlsplit(target).scheme:
            yield (page.parent / unquote(target)).resolve()


def sources(root: Path) -> list[Path]:
    """Return the files of the site: README.md, docs/, and whatever their pages lead to."""
    found: set[Path] = set()
    coming = [root / "README.md", *(path for path in (root / "docs").rglob("*") if path.is_file())]
    while coming:
        path = coming.pop()
        path = path / "README.md" if path.is_dir() else path
        if path in found:
            continue
        if not path.is_file():
            raise SystemExit(f"{path}: a page links to it or its folder, and it is not there")
        found.add(path)
        if path.suffix == ".md":
            coming.extend(linked(path))
    return sorted(found)


def copy(root: Path, folder: Path) -> None:
    """Put the files of the site into `folder`, under the paths that they have below `root`."""
    for path in sources(root):
        target = folder / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(MARKS.sub(r"\1", path.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(path, target)


def navigation(root: Path) -> str:
    """Return the navigation in TOML: the sections, groups and pages of docs/index.md."""
    home: list[str] = [page("Home", "README.md"), page("All pages", MENU)]
    sections: list[tuple[str, list[str]]] = []
    group: tuple[str, list[str]] | None = None
    for level, heading, title, path in ENTRY.findall((root / MENU).read_text(encoding="utf-8")):
        if level == "##":
            sections.append((heading, []))
            group = None
        elif level == "###":
            group = (heading, [])
            sections[-1][1].append("")  # Its place, until its pages are known.
        elif group is not None:
            group[1].append(page(title, f"docs/{path}"))
            sections[-1][1][-1] = several(*group)
        elif sections:
            sections[-1][1].append(page(title, f"docs/{path}"))
    return several("", [several("Start", home), *(several(*one) for one in sections if one[1])])


def page(title: str, path: str) -> str:
    """Return an entry of the navigation."""
    return f"{{ {json.dumps(title.replace('`', ''), ensure_ascii=False)} = {json.dumps(posixpath.normpath(path))} }}"


def several(title: str, entries: list[str]) -> str:
    """Return a group of entries, or without a title the list of them."""
    array = f"[ {', '.join(entries)} ]"
    return f"{{ {json.dumps(title, ensure_ascii=False)} = {array} }}" if title else array


def configuration(root: Path, url: str) -> str:
    """Return what the generator is told: zensical.toml with what depends on this build."""
    added = f"nav = {navigation(root)}\n" + (f"site_url = {json.dumps(url)}\n" if url else "")
    text = (root / "zensical.toml").read_text(encoding="utf-8")
    assert SETTINGS in text, f"zensical.toml: no line {SETTINGS!r}"
    return text.replace(SETTINGS, added)


# What came out of it


class Built(HTMLParser):
    """What a built page loads, where it leads, and what in it can be led to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        self.ids.update(about[name] for name in ("id", "name") if name in about)
        target = about.get(LOADS.get(tag, "href"), "")
        if tag in LOADS and target and about.get("rel") not in MENTIONS:
            self.loads.append(target)
        elif tag == "a" and target:
            self.leads.append(target)


def faults(out: Path) -> Iterator[str]:
    """Yield what is wrong with the built pages in `out`."""
    pages = {path.resolve(): Built(path) for path in sorted(out.rglob("*.html"))}
    for path, built in pages.items():
        name = path.relative_to(out.resolve()).as_posix()
        yield from (f"{name}: loads {target} from another host" for target in built.loads if urlsplit(target).netloc)
        if name == "404.html":
            continue  # Served for any address, so that its links start at the root of the site.
        for target in {*built.loads, *built.leads}:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = found / "index.html" if found.is_dir() else found
            if not found.is_file():
                yield f"{name}: {target} leads nowhere"
            elif parts.fragment and found in pages and unquote(parts.fragment) not in pages[found].ids:
                yield f"{name}: {target} leads to no heading"
    for path in sorted(out.rglob("*.css")):
        hosts = re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^\"')\s]+", path.read_text(encoding="utf-8"))
        yield from (f"{path.name}: {found} is on another host" for found in hosts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="DIR", type=Path, default=ROOT / "site", help="where to (default: site)")
    parser.add_argument("--url", default="", help="the address of the site; its page for lost visitors needs it")
    args = parser.parse_args()
    out = args.out.resolve()
    if out.exists() and not (out / "search.json").is_file():
        print(f"{args.out}: is there and no site; name another folder")
        return 1
    if find_spec("zensical") is None:
        print("zensical is not installed; run: pip install '.[docs]'")
        return 1
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work).resolve()
        copy(ROOT, folder / "pages")
        (folder / "zensical.toml").write_text(configuration(ROOT, args.url), encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
        if subprocess.run(command, cwd=folder, check=False).returncode:
            return 1
        found = list(faults(folder / "site"))
        print("\n".join(found[:50]) or f"{sum(1 for _ in (folder / 'site').rglob('*.html'))} pages in {args.out}")
        if not found:
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(folder / "site", out)
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
