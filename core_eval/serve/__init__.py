"""Months of running: a schedule of runs on many rigs, their logs by day, and the way to a collector."""
