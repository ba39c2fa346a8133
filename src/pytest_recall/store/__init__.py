"""Disk: every file that is read or written, each format in one module."""
