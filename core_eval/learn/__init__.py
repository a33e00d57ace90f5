"""Automata from traces that were accepted, held back by those that were rejected."""
