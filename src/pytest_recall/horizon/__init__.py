"""Long-horizon benchmark at work: a persona's files, the passes that write them, and runs over them."""
