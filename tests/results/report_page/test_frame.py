"""Frame: a policy without addresses, data that comes back as it went in, and characters that HTML cannot hold."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.results.report_page.frame import _environment, document, packed, policy, shown
from pytest_recall.results.report_page.run_page import page
from tests.helpers.reports import JOURNAL, sample
from tests.helpers.samples import unhurried

anything = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=10)


def unpacked(text: str) -> Any:
    """Return what the page's script reads."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


@unhurried
@given(anything)
def test_data_comes_back(data: Any) -> None:
    text = packed(data)
    assert unpacked(text) == data
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", text)


def test_data_is_the_same_each_time() -> None:
    assert packed({"a": 1}) == packed({"a": 1})


def test_a_number_that_json_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        packed(float("nan"))


def test_the_policy_allows_one_script_and_no_address() -> None:
    text = page(sample(), JOURNAL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (told,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert f"script-src &#39;sha256-{digest}&#39;" in told
    assert told.startswith("default-src &#39;none&#39;;")
    assert "http" not in policy(script)


def test_characters_that_html_cannot_hold_are_shown_as_signs() -> None:
    assert shown("a\0b\x1b\x7f\r\n\t\ud800é") == "a\u2400b\u241b\u2421\u240d\n\t\ufffdé"


def test_without_jinja_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    _environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(RecallError, match=r"jinja2 is missing; run `pip install 'pytest-recall\[report\]'`"):
        document("run.html", {}, lambda length: {}, count=0, journal="")
