"""Metadata for Datasette, which serves the log itself: what the tables hold, and canned queries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core_eval.log import LogReader, Tracked
from core_eval.log.schema import MIGRATIONS
from core_eval.text.json_text import json_text

COLUMN = re.compile(r"^\s+(?:ADD COLUMN )?(?P<name>\w+) [A-Z]+[^\n]*?-- (?P<text>.+)$", re.MULTILINE)
TABLE = re.compile(r"CREATE TABLE (?P<name>\w+) \((?P<body>.*?)\n\) STRICT", re.DOTALL)
TABLES = {
    "run": "One `pathrig run`: its plan, the versions and the machine.",
    "episode": "One task with one agent on one rig, and how it ended.",
    "step": "One call, with its result and its kind by the task's automaton.",
    "turn": "What the agent wrote, with its tokens and seconds.",
    "sample": "The readings of the rig's coarse sensors.",
    "scoring": "Who scored an episode, and when; the views `..._latest` have the latest results.",
    "harm": "Harm events of the world's rules, by scoring, and whether the telemetry gives them away.",
    "deviation": "Executed calls off the path.",
    "score": "The metrics of each episode, by scoring.",
    "failure": "Why an episode failed.",
    "rig_status": "What device, link and host reported of the rig's state.",
}
VIEWS = {
    "story": "Episodes step by step: call, verdict, harm, answer, the agent's words.",
    "score_latest": "The latest value of each metric.",
    "harm_latest": "The harm events of the latest scoring that judged harm.",
    "scoreboard": "One row an episode with the main metrics.",
}
QUERIES: dict[str, tuple[str, str, str]] = {
    "agents": (
        "Agents compared",
        "Means per agent over the episodes that came to their end.",
        """SELECT agent, count(*) AS episodes, round(avg(path_correctness), 3) AS pc,
       round(avg(pc_ktc), 3) AS pc_ktc, round(avg(prefix_criticality), 3) AS prefix_criticality,
       round(avg(harmful_calls), 2) AS harmful_calls, round(avg(excess.value), 2) AS excess_cost,
       round(avg(final_state_ok), 3) AS final_state_ok
  FROM scoreboard LEFT JOIN score AS excess
    ON excess.episode_id = scoreboard.episode_id AND excess.metric = 'excess_cost'
 WHERE status IN ('completed', 'stopped') GROUP BY agent ORDER BY pc DESC""",
    ),
    "worst_episodes": (
        "The most harmful episodes",
        "By harm events, then harmful calls; `episode` leads to the steps.",
        """SELECT episode.id AS episode, task, agent, seed, status,
       (SELECT count(*) FROM harm_latest WHERE episode_id = episode.id) AS harm_events,
       (SELECT value FROM score_latest
         WHERE episode_id = episode.id AND metric = 'harmful_calls') AS harmful_calls
  FROM episode ORDER BY harm_events DESC, harmful_calls DESC, episode LIMIT 100""",
    ),
    "path_of_episode": (
        "An episode step by step",
        "Give the episode's id.",
        """SELECT k, t, tool, arguments, status, kind, harm, answer, text
  FROM story WHERE episode_id = :episode""",
    ),
    "signals_of_episode": (
        "The sensors of an episode",
        "Readings by device time, s; with datasette-vega, plot value over t by sensor.",
        "SELECT t, sensor, value FROM sample WHERE episode_id = :episode ORDER BY t",
    ),
    "harm_by_rule": (
        "Harm by rule",
        "Events of each rule with each agent, and how many the coarse sensors miss.",
        """SELECT agent, harm.kind, count(*) AS events, sum(observed = 0) AS unobserved,
       round(max(severity), 4) AS worst, round(sum(exposure), 3) AS exposure
  FROM harm_latest AS harm JOIN episode ON episode.id = episode_id
 GROUP BY agent, harm.kind ORDER BY events DESC""",
    ),
    "behind_an_ok_state": (
        "Harm behind a right final state",
        "Episodes that a check of the final state passes although harm was done.",
        """SELECT episode.id AS episode, task, agent, group_concat(DISTINCT harm.kind) AS harm
  FROM episode JOIN harm_latest AS harm ON harm.episode_id = episode.id
  JOIN score_latest AS score ON score.episode_id = episode.id AND metric = 'final_state_ok' AND value = 1
 GROUP BY episode.id""",
    ),
    "refusals_by_tool": (
        "What devices and guards refuse",
        "Calls by tool, status and error code.",
        """SELECT tool, status, error_code, count(*) AS calls FROM step
 WHERE status <> 'ok' GROUP BY tool, status, error_code ORDER BY calls DESC""",
    ),
    "call_latency": (
        "Seconds of a call",
        "From intent to result on the host's clock, by rig and tool.",
        """SELECT rig, tool, count(*) AS calls, round(avg(t_result - t_intent), 4) AS mean_s,
       round(max(t_result - t_intent), 4) AS longest_s
  FROM step JOIN episode ON episode.id = episode_id WHERE t_result IS NOT NULL
 GROUP BY rig, tool ORDER BY mean_s DESC""",
    ),
}
"""Title, description and SQL of each canned query, by name."""


def write(log: LogReader, _ids: Sequence[int], path: Path, _tracked: Tracked) -> None:
    """Write the metadata; it is for the whole file, whichever runs are asked for."""
    path.write_text(json_text(metadata(log.path.stem), indent=2) + "\n", encoding="utf-8")


def metadata(database: str) -> dict[str, Any]:
    """Return Datasette's metadata for a log that is served under this name."""
    columns = _column_texts()
    tables = {name: {"description": text, "columns": columns.get(name, {})} for name, text in TABLES.items()}
    tables["episode"]["label_column"] = "task"
    return {
        "title": "pathrig",
        "databases": {
            database: {
                "description": "A run log: times are UTC epochs, device times seconds since its start.",
                "tables": tables | {name: {"description": text} for name, text in VIEWS.items()},
                "queries": {
                    name: {"title": title, "description": text, "sql": sql}
                    for name, (title, text, sql) in QUERIES.items()
                },
            }
        },
    }


def _column_texts() -> dict[str, dict[str, str]]:
    """Return what the schema's comments say of columns, by table."""
    found: dict[str, dict[str, str]] = {}
    for script in MIGRATIONS:
        for table in TABLE.finditer(script):
            texts = {column["name"]: column["text"] for column in COLUMN.finditer(table["body"])}
            found.setdefault(table["name"], {}).update(texts)
    return found
