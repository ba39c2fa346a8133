"""Read and write files, and word messages: what every other room uses."""
