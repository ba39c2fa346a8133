"""Numbers: pure functions from texts, rankings and counts to scores."""
