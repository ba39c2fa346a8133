"""Assets: built from the sources that are here, small, and with the licences of what they are made of."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import pytest_recall

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "page"
ASSETS = Path(pytest_recall.__file__).parent / "results" / "report_page" / "assets"


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the sources of the page are not part of this copy")
@pytest.mark.parametrize("name", ["page.js", "page.css"])
def test_they_are_built_from_these_sources(name: str) -> None:
    names = sorted(["build.mjs", "package-lock.json", *(f"src/{path.name}" for path in (SOURCES / "src").iterdir())])
    digest = hashlib.sha256(b"".join(one.encode() + b"\0" + (SOURCES / one).read_bytes() + b"\0" for one in names))
    head = (ASSETS / name).read_text(encoding="utf-8").partition("*/")[0]
    assert digest.hexdigest() in head, "run scripts/build-page.sh, and commit what it builds"


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in ASSETS.glob("page.*")) < 450_000


def test_they_stay_within_their_elements() -> None:
    assert "</script" not in (ASSETS / "page.js").read_text(encoding="utf-8").lower()
    assert "<!--" not in (ASSETS / "page.js").read_text(encoding="utf-8")
    assert "</style" not in (ASSETS / "page.css").read_text(encoding="utf-8").lower()


def test_nothing_is_read_as_html() -> None:
    told = "".join(path.read_text(encoding="utf-8") for path in (SOURCES / "src").glob("*.ts"))
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", told) == []


def test_licences_are_there() -> None:
    text = (ASSETS / "LICENSES.txt").read_text(encoding="utf-8")
    assert "@observablehq/plot" in text
    assert "no licence file" not in text


def test_the_lock_file_names_no_address_to_download_from() -> None:
    text = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text
    assert "http" not in text
