"""The story of the ferry office, its days and the questions about them: made by templates, without a model."""

from __future__ import annotations
