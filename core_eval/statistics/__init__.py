"""Estimates, intervals and Pareto fronts."""
