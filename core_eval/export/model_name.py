"""The name of the model that acted in an episode."""

from __future__ import annotations

from core_eval.log import EpisodeRow


def model_name(episode: EpisodeRow) -> str:
    """Return the model's file, the model that a server was asked for (URL#MODEL), or the agent's name."""
    file = episode.agent_info.get("file")
    if isinstance(file, str):
        return file
    _, _, model = episode.agent.partition("#")
    return model if model and "://" in episode.agent else episode.agent
