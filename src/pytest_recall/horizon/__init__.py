"""The long-horizon benchmark: a persona's files, the passes that write them, and runs over them."""
