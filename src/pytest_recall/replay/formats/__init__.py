"""Formats of recordings: those of vcrpy and Lore."""
