"""Harm events, coarse telemetry and counterfactuals; the final-state baseline; compensating pairs."""

from core_eval.harm.assessment import assess
from core_eval.harm.compensating import CompensatingPair, compensating_pairs
from core_eval.harm.replay import ReplayError
from core_eval.harm.report import OFF_PATH, ExecutedCall, HarmReport, HarmVerdict

__all__ = [
    "OFF_PATH",
    "CompensatingPair",
    "ExecutedCall",
    "HarmReport",
    "HarmVerdict",
    "ReplayError",
    "assess",
    "compensating_pairs",
]
