"""The commands of `recall bench`."""
