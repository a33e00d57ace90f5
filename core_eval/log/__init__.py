"""The SQLite run log."""

from core_eval.log.connection import LogError
from core_eval.log.reader import LogReader
from core_eval.log.rows import (
    Definition,
    EpisodeRow,
    EpisodeStart,
    HarmRow,
    Intent,
    RunRow,
    StepRow,
    Turn,
    Verdict,
)
from core_eval.log.writer import EpisodeLog, RunLog

__all__ = [
    "Definition",
    "EpisodeLog",
    "EpisodeRow",
    "EpisodeStart",
    "HarmRow",
    "Intent",
    "LogError",
    "LogReader",
    "RunLog",
    "RunRow",
    "StepRow",
    "Turn",
    "Verdict",
]
