"""Datasets: the files in which the public memory benchmarks are published, read row by row."""
