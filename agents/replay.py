"""The agent that makes the calls of a logged episode again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from agents.agent import InvalidAction, ToolCallAction
from agents.errors import AgentSpecError
from agents.fixed_actions import FixedActions


class ReplayAgent(FixedActions):
    """Makes the calls of an episode of a log, in order, whatever comes of them; then it is done.

    A step in which no call could be read (its tool is null) is an invalid step again.
    """

    def __init__(self, path: Path, episode: int) -> None:
        """Read the episode's steps.

        Raises:
            AgentSpecError: the file is no log, or holds no such episode.
        """
        self.name = f"replay:{path.name}#{episode}"
        super().__init__(read_steps(path, episode))


def read_steps(path: Path, episode: int) -> list[ToolCallAction | InvalidAction]:
    """Return the actions of an episode, by `k`. The log is opened for reading alone.

    Raises:
        AgentSpecError: the file is no log, or holds no such episode.
    """
    if not path.is_file():
        raise AgentSpecError(f"{path}: there is no such log; give replay:DB#EPISODE")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            known = connection.execute("SELECT 1 FROM episode WHERE id = ?", (episode,)).fetchone()
            rows = connection.execute(
                "SELECT k, tool, arguments FROM step WHERE episode_id = ? ORDER BY k", (episode,)
            ).fetchall()
    except sqlite3.Error as error:
        raise AgentSpecError(f"{path}: not a log that can be replayed: {error}") from None
    if known is None:
        raise AgentSpecError(f"{path}: holds no episode {episode}; `pathrig show {path}` lists them")
    return [_action(path, episode, *row) for row in rows]


def _action(
    path: Path, episode: int, k: int, tool: str | None, text: str | None
) -> ToolCallAction | InvalidAction:
    if tool is None:
        return InvalidAction(text or "", "no call could be read in the logged step", "unreadable")
    try:
        arguments: Any = json.loads(text or "{}")
    except json.JSONDecodeError:
        arguments = None
    if not isinstance(arguments, dict):
        raise AgentSpecError(f"{path}: episode {episode}, step {k}: its arguments are no JSON object")
    return ToolCallAction(tool, arguments)
