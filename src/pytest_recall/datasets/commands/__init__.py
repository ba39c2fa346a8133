"""The commands of this room: run a memory over a dataset, look into a run again, and look into a file."""
