"""Published files: digests by which a file is known to be one of them, each with who says so."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """A file as it was published. `source` says where, and `digest_by` how its digest is known."""

    title: str
    source: str
    digest_by: str


_REPORTED = "reported by several of its users"

PUBLISHED = {
    "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4": Published(
        "LoCoMo, locomo10.json", "snap-research/locomo, commit 3eb6f2c", "taken from the file"
    ),
    "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c": Published(
        "LongMemEval, longmemeval_oracle.json", "xiaowu0162/longmemeval-cleaned, revision 98d7416", _REPORTED
    ),
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": Published(
        "LongMemEval, longmemeval_s_cleaned.json", "xiaowu0162/longmemeval-cleaned, revision 98d7416", _REPORTED
    ),
    "9d79e5524794a2e6900a3aa9cb7d9152c5a3e8319c9a87c25494ba1eacee495f": Published(
        "LongMemEval, longmemeval_m_cleaned.json", "xiaowu0162/longmemeval-cleaned, revision 98d7416", _REPORTED
    ),
    "d3dbea36848b41dc46c0f1548d0ebf74eeaf6390d6f3fe9318e8480dc984495e": Published(
        "DMR, msc_self_instruct.jsonl", "MemGPT/MSC-Self-Instruct, revision 5138f416", _REPORTED
    ),
}
"""By SHA-256 of the whole file."""
