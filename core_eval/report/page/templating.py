"""The templates of the report's pages: where they are, what they may call, and which script a page runs."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.runtime import Macro
from markupsafe import Markup

from core_eval.log.charged import charged, unseen
from core_eval.report.page.episode import EpisodeView
from core_eval.report.page.transcript import ToolSet
from core_eval.report.pictures.risk_coverage import band_words
from core_eval.report.pictures.standalone import STYLES
from core_eval.report.tables.values import cell
from core_eval.score.episodes import INEXACT_NOTE, no_call
from core_eval.text.visible_text import LINE_AND_TAB, visible

TEMPLATES = (Path(__file__).parent / "templates", STYLES)
"""Where the pages' templates are, and their styles."""
MOST_KEPT = 1000


def environment_in(*folders: Path) -> Environment:
    """Return the templates of these folders beside those of the pages."""
    return Environment(
        loader=FileSystemLoader([*folders, *TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Else each page looks at all its templates' files again.
        auto_reload=False,
    )


def environment_of_pages() -> Environment:
    """Return the templates of the pages, with what they call."""
    environment = environment_in()
    environment.finalize = shown_value
    environment.globals.update(
        cell=cell,
        charged=charged,
        unseen=unseen,
        inexact_note=INEXACT_NOTE,
        no_call=no_call,
        band_words=band_words,
        # A page runs these scripts and no other: whatever a model wrote stays text.
        list_script=Script.of("links.js", "lists.js"),
        story_script=Script.of("links.js", "play.js"),
        whole_script=Script.of("links.js", "lists.js", "play.js"),
    )
    environment.globals["once"] = Once()
    environment.filters["when"] = _when
    environment.filters["svg"] = _own_names
    environment.filters["capitalize_first"] = lambda words: words[:1].upper() + words[1:]
    return environment


@dataclass(frozen=True)
class Script:
    """A page's script, and its hash, by which the page allows it."""

    text: Markup
    hash: str

    @classmethod
    def of(cls, *names: str) -> Script:
        """Return the script made of these files."""
        text = '"use strict";\n' + "".join(
            (TEMPLATES[0] / name).read_text(encoding="utf-8") for name in names
        )
        return cls(Markup(text), b64encode(sha256(text.encode()).digest()).decode())


class Once(dict[tuple[Any, ...], Markup]):
    """What a macro makes of values that many pages share, such as the tools of a world; made once."""

    def __call__(self, macro: Macro, *values: Any) -> Markup:
        """Return what the macro makes of these values and of nothing else."""
        key = (macro.name, *values)
        if key not in self:
            if len(self) >= MOST_KEPT:
                self.clear()
            self[key] = Markup(macro(*values))
        return self[key]


def _own_names(svg: str, episode: int) -> Markup:
    """Give the markers of a picture names of their own: several pictures share a page."""
    return Markup(svg.replace('id="', f'id="e{episode}-').replace("url(#", f"url(#e{episode}-"))


def tool_sets_of(stories: Iterable[EpisodeView]) -> list[ToolSet]:
    """Return the distinct sets of tools: many episodes share one."""
    return list({story.tools.id: story.tools for story in stories if story.tools is not None}.values())


def shown_value(value: Any) -> Any:
    """Escape control and bidirectional characters of a value for the page.

    Markup is the templates' own, of values that were escaped already, or a drawing, which escapes its words.
    """
    return visible(value, LINE_AND_TAB) if isinstance(value, str) and not isinstance(value, Markup) else value


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
