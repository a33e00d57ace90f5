"""Traces of other programs, read into one form: a module per format."""
