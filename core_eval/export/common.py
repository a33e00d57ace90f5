"""What several formats share: their errors, times, and the name of the model that acted."""

from __future__ import annotations

from fractions import Fraction

from core_eval.log import EpisodeRow, LogError


class ExportError(LogError):
    """The log cannot be exported; the text is one line with the remedy."""


def missing_library(format_name: str, error: ImportError, extra: str = "export") -> ExportError:
    """Return the error for a format whose library is not installed."""
    return ExportError(f"--format {format_name} needs {error.name}: pip install 'pathrig[{extra}]'")


def model_name(episode: EpisodeRow) -> str:
    """Return the model's file, or the agent's name."""
    file = episode.agent_info.get("file")
    return file if isinstance(file, str) else episode.agent


def nanoseconds(seconds: float | Fraction) -> int:
    """Return a time in s since 1970 as whole ns, at least 0.

    Raises:
        ExportError: it does not fit into 64 bits, as in a log edited by hand.
    """
    found = max(0, round(Fraction(seconds) * 10**9))
    if found >= 2**64:
        raise ExportError(f"the time {float(seconds):g} s in the log is beyond what the format holds")
    return found
