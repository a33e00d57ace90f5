"""Firmware of our own that speaks the wire, and what builds it."""
