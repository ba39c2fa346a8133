"""Read and write the recordings of vcrpy and Lore."""
