"""Harm events, deviations, coarse telemetry, counterfactuals; final-state baseline; compensating pairs."""
