"""Scoring, rescoring, estimates and comparisons of what a log holds."""
