"""Readers of public data of real soil and real arms, and what the benchmarks ask of it: docs/results."""
