"""The report of a run in a log, as one page for the browser that watched it."""

from __future__ import annotations

import sys
from pathlib import Path

from core_eval.log import LogReader
from core_eval.log.episode_filter import EpisodeFilter
from core_eval.report.page.report import html_pages
from core_eval.score.aggregate import load_aggregate


def run_report(log: Path, run: int) -> str:
    """Return the report.

    Raises:
        LogError: the log has no such run, or cannot be read.
    """
    with LogReader(log) as reader:
        wanted = EpisodeFilter(run=reader.run(run).id)
        (page,) = html_pages(reader, load_aggregate(None), in_one=sys.maxsize, wanted=wanted)
        return page.text
