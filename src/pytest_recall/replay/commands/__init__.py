"""The commands of `recall cassettes`."""
