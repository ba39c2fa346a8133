"""Numbers: pure functions from texts and rankings to scores in 0..1."""
