"""Tests of report pages as text."""
