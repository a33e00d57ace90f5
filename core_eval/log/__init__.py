"""The SQLite run log."""

from core_eval.log.connection import LogError
from core_eval.log.reader import LogReader
from core_eval.log.rows import (
    LEFT_RECORD,
    Definition,
    DeviationRow,
    EpisodeRow,
    EpisodeStart,
    FailureRow,
    HarmRow,
    Intent,
    MachineCost,
    MessageRow,
    PairRow,
    PromptRow,
    QuestionRow,
    RigStatusRow,
    RunRow,
    ScoringRow,
    StepRow,
    Turn,
    Verdict,
)
from core_eval.log.writer import EpisodeLog, RunLog

__all__ = [
    "LEFT_RECORD",
    "Definition",
    "DeviationRow",
    "EpisodeLog",
    "EpisodeRow",
    "EpisodeStart",
    "FailureRow",
    "HarmRow",
    "Intent",
    "LogError",
    "LogReader",
    "MachineCost",
    "MessageRow",
    "PairRow",
    "PromptRow",
    "QuestionRow",
    "RigStatusRow",
    "RunLog",
    "RunRow",
    "ScoringRow",
    "StepRow",
    "Turn",
    "Verdict",
]
