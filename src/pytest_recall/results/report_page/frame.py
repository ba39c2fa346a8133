"""Frame every page: its assets, its data, and a policy that lets nothing leave it."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.files.errors import RecallError

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {0x7F: "\u2421"}
_SURROGATE = re.compile("[\ud800-\udfff]")


LIMIT = 2_000_000
"""Bytes of a page with up to 1,000 cases; one with more has as many for each."""
_CASES = 1_000
LENGTHS = (100_000, 20_000, 8_000, 4_000, 2_000, 1_500, 1_000, 400)
"""Characters that are kept of a text, the longest that fits; a few of them are whole in any case."""
_DATA = '<script id="data" type="application/octet-stream">'


def document(
    template: str,
    data: dict[str, Any],
    cases: Callable[[int | None], dict[str, Any]],
    *,
    count: int,
    journal: str,
    stamp: str = "",
    **values: Any,
) -> str:
    """Return a page: `template` filled with `values`, and for its script `data` and as much of the cases as fits.

    `cases` returns them with texts of at most so many characters, or whole for None; `count` is how many there are.
    Where texts are cut the page says so, and names the `journal`, which has all of them. With a `stamp` the page asks
    its server for the newest one from time to time, and for itself when that differs. Raises RecallError without Jinja.
    """
    html = _filled(template, stamp=stamp, cut=None, **values)
    # The page without its cases says how much room there is for them.
    room = max(LIMIT, LIMIT * count // _CASES) - len(html.encode()) - len(packed(data)) - 500
    kept, length = fitted(cases, room)
    if length is not None:
        cut = f"Texts are cut after {length:,} characters, to keep this page small; {journal} has all of them."
        html = _filled(template, stamp=stamp, cut=cut, **values)
    return html.replace(_DATA, _DATA + packed({**data, **kept}), 1)


def fitted(cases: Callable[[int | None], dict[str, Any]], room: int) -> tuple[dict[str, Any], int | None]:
    """Return the cases in at most `room` bytes, packed, and the length to which texts are cut; None if none is.

    Where even the shortest ones do not fit, these are returned.
    """
    for length in (None, *LENGTHS):
        found = cases(length)
        if len(packed(found)) <= room:
            break
    return found, length


def _filled(template: str, *, stamp: str, **values: Any) -> str:
    script = (_HERE / "assets" / "page.js").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            policy=policy(script, live=bool(stamp)),
            stamp=stamp,
            style=(_HERE / "assets" / "page.css").read_text(encoding="utf-8"),
            script=script,
        )
    )


def policy(script: str, *, live: bool = False) -> str:
    """Return the page's Content-Security-Policy: one script, known by its digest, and not a single address.

    Styles may stand in the page, since the charts bring theirs along; what a style could fetch is forbidden too. A
    `live` page may ask the server that it came from.
    """
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'" + ("; connect-src 'self'" if live else "")
    )


def packed(data: Any) -> str:
    """Return `data` as the page's script reads it: JSON in ASCII, compressed, in base64."""
    plain = json.dumps(data, separators=(",", ":"), allow_nan=False).encode("ascii")
    return b64encode(gzip.compress(plain, 6, mtime=0)).decode("ascii")


def shown(text: str) -> str:
    """Return `text` as HTML can hold it: control characters as their pictures, half a surrogate pair as U+FFFD."""
    return well_formed(text.translate(_PICTURES))


def well_formed(text: str) -> str:
    """Return `text` with U+FFFD for half a surrogate pair, which no address and no file in UTF-8 can hold."""
    return _SURROGATE.sub("\ufffd", text)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise RecallError("jinja2 is missing; run `pip install 'pytest-recall[report]'`") from None
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever is put into a page may hold characters that HTML cannot.
        finalize=lambda value: shown(value) if type(value) is str else value,
    )
    made.filters["fragment"] = _fragment
    return made


def _fragment(case_id: str) -> str:
    from urllib.parse import quote

    return f"#case={quote(well_formed(case_id), safe='')}"


def present(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping without what is empty or unknown in it."""
    return {name: value for name, value in plain.items() if value is not None and value not in ("", [], {})}
