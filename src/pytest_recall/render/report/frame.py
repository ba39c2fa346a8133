"""Frame: what every page has around its content: the assets, the data, and a policy that lets nothing leave it."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.core.errors import RecallError

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {0x7F: "\u2421"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def document(template: str, data: Any, *, stamp: str = "", **values: Any) -> str:
    """Return a page: `template` filled with `values`, and `data` for its script. Raises RecallError without Jinja.

    With a `stamp` the page asks its server for the newest one from time to time, and for itself when that differs.
    """
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
            data=packed(data),
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
