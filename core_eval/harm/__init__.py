"""Harm events from truth, and whether the coarse telemetry gave them away."""
