"""Files and texts: what every feature reads, writes and prints with."""
