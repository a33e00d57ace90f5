"""Formats that traces come in."""
