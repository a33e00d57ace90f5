"""Checks of tasks before anything runs."""
