"""Cases: what people write in `eval/`, and how it is read."""
