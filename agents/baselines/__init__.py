"""Agents that are no models: their results are the marks that a model is compared with."""
