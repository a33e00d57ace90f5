"""The name of the model that acted in an episode."""

from __future__ import annotations

from core_eval.log import EpisodeRow


def model_name(episode: EpisodeRow) -> str:
    """Return the model's file, or the agent's name."""
    file = episode.agent_info.get("file")
    if isinstance(file, str):
        return file
    return episode.agent
