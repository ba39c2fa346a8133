"""Passes: what writes a persona, its days, and what is made from them; each by itself, and resumable."""
