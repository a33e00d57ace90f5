"""Harm events, coarse telemetry and counterfactuals; the final-state baseline; compensating pairs."""

from core_eval.harm.assessment import assess
from core_eval.harm.compensating import compensating_pairs
from core_eval.harm.replay import ReplayError, replay_episode
from core_eval.harm.report import OFF_PATH, CompensatingPair, ExecutedCall, HarmReport, HarmVerdict

__all__ = [
    "OFF_PATH",
    "CompensatingPair",
    "ExecutedCall",
    "HarmReport",
    "HarmVerdict",
    "ReplayError",
    "assess",
    "compensating_pairs",
    "replay_episode",
]
