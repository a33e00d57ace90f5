"""Harm events, coarse telemetry and counterfactuals; the final-state baseline; compensating pairs."""

from core_eval.harm.assessment import assess, judge_events
from core_eval.harm.compensating import compensating_pairs
from core_eval.harm.counterfactual import Change, Counterfactual, compare, play_changed
from core_eval.harm.replay import Player, Replay, ReplayError, replay_episode
from core_eval.harm.report import OFF_PATH, CompensatingPair, ExecutedCall, HarmReport, HarmVerdict

__all__ = [
    "OFF_PATH",
    "Change",
    "CompensatingPair",
    "Counterfactual",
    "ExecutedCall",
    "HarmReport",
    "HarmVerdict",
    "Player",
    "Replay",
    "ReplayError",
    "assess",
    "compare",
    "compensating_pairs",
    "judge_events",
    "play_changed",
    "replay_episode",
]
