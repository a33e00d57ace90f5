"""Full-text search over the transcripts of a log: what agents said, their calls, results and errors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from core_eval.log import EpisodeRow, LogError, LogReader

SNIPPET_WORDS = 16


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of an episode's transcript.

    Attributes:
        episode, agent: whose transcript it is of.
        step: number of the step; of a last turn without a call, the number after the last step's.
        part: `turn` (the agent's text), `call`, `result` or `error`.
        text: the whole text, or of a find the words around the match, with `[` and `]` about what matched.
    """

    episode: int
    step: int
    agent: str
    part: str
    text: str


def search(log: LogReader, words: str, episodes: Sequence[EpisodeRow]) -> list[Passage]:
    """The passages of these episodes that hold all the words, the best match first.

    A phrase stands in double quotes; case and endings of English words make no difference. The index is
    built in memory: the log is only read.

    Raises:
        LogError: the log cannot be read, or this Python's SQLite has no FTS5.
    """
    import sqlite_utils

    index = sqlite_utils.Database(memory=True)
    try:
        passages = index["passage"]
        passages.insert_all(asdict(one) for episode in episodes for one in _passages(log, episode))
        if not passages.exists():
            return []
        passages.enable_fts(["text"], tokenize="porter")
        found = index.query(
            "SELECT episode, step, agent, part, snippet(passage_fts, 0, '[', ']', '...', :size) AS text"
            " FROM passage_fts JOIN passage ON passage.rowid = passage_fts.rowid"
            " WHERE passage_fts MATCH :words ORDER BY rank, episode, step, part",
            {"words": index.quote_fts(words), "size": SNIPPET_WORDS},
        )
        return [Passage(**row) for row in found]
    except sqlite3.OperationalError as error:
        raise LogError(f"{log.path}: cannot be searched with this Python's SQLite: {error}") from None
    finally:
        index.close()


def _passages(log: LogReader, episode: EpisodeRow) -> Iterator[Passage]:
    for k, turn in log.turns(episode.id).items():
        if turn.text:
            yield Passage(episode.id, k, episode.agent, "turn", turn.text)
    for step in log.steps(episode.id):
        texts = {
            "call": "" if step.tool is None else f"{step.tool} {_plain(step.arguments or {})}",
            "result": "" if step.result is None else _plain(step.result),
            "error": " ".join(filter(None, (step.error_code, step.error_message))),
        }
        for part, text in texts.items():
            if text:
                yield Passage(episode.id, step.k, episode.agent, part, text)


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
