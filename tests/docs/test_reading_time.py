"""A newcomer's way: the pages from the README to each job are read in half an hour."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOBS = ("own-model", "own-rig", "own-task", "ci", "field-trial")
WORDS_PER_MINUTE = 238
"""Silent reading of English non-fiction by adults (Brysbaert, J. Mem. Lang. 109:104047, 2019)."""
NO_PROSE = re.compile(r"```.*?```|<!--.*?-->", re.DOTALL)


def minutes(page: Path) -> float:
    """Return the time to read a page's prose and tables; commands and their outputs are not counted."""
    return len(NO_PROSE.sub("", page.read_text(encoding="utf-8")).split()) / WORDS_PER_MINUTE


def test_the_way_of_a_newcomer_takes_half_an_hour() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("tutorial", *JOBS))]
    taken = {page.name: round(minutes(page), 1) for page in pages}
    assert 20.0 < sum(taken.values()) <= 30.0, taken
