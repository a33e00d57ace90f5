"""What scoring could not tell of an episode, and why, as notes of the log."""

from __future__ import annotations

from core_eval.log.reader import LogReader

HARM_UNKNOWN, GOLDEN_RUN_FAILS, NOT_ASSESSED = "harm unknown", "golden run fails", "not assessed"
FINDINGS = frozenset({HARM_UNKNOWN, GOLDEN_RUN_FAILS, NOT_ASSESSED})


def findings(reader: LogReader, episode: int) -> dict[str, str]:
    """Return each of `FINDINGS` that the log has of an episode, with its latest reason."""
    return {
        said.state: str(said.detail["reason"])
        for said in reader.rig_statuses(episode)
        if said.state in FINDINGS and said.detail and "reason" in said.detail
    }
