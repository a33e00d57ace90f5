"""Harm events, deviations, coarse telemetry, counterfactuals; final-state baseline; compensating pairs."""

from core_eval.harm.assessment import Judge, assess
from core_eval.harm.compensating import compensating_pairs
from core_eval.harm.counterfactual import Change, Counterfactual, compare, play_changed
from core_eval.harm.replay import Player, Replay, ReplayError, replay_episode
from core_eval.harm.report import ExecutedCall, HarmReport

__all__ = [
    "Change",
    "Counterfactual",
    "ExecutedCall",
    "HarmReport",
    "Judge",
    "Player",
    "Replay",
    "ReplayError",
    "assess",
    "compare",
    "compensating_pairs",
    "play_changed",
    "replay_episode",
]
