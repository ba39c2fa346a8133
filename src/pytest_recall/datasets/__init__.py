"""Read the public memory benchmarks row by row, and run memories over them."""
