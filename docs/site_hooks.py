"""Hooks of the site: its first page is the README, and links out of `docs` become file names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
NAMED_FENCE = re.compile(r"^( *```\w+) (\S+)$", flags=re.MULTILINE)
"""A code block that names its file, as tests read it; the site shows the name as a title."""
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the README as the first page, its links as seen from `docs`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = readme.replace("](docs/", "](").replace('src="docs/', 'src="')
    files.append(File.generated(config, "index.md", content=_inside(text, ROOT)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace links to files that are not part of the site by the files' names."""
    source = page.file.abs_src_path
    return markdown if source is None else _inside(markdown, Path(source).parent)


def _inside(text: str, folder: Path) -> str:
    docs = ROOT / "docs"

    def link(found: re.Match[str]) -> str:
        words, path, anchor = found[1], found[2], found[3] or ""
        target = (folder / path).resolve()
        if (docs / path).exists() and folder == ROOT:
            return found[0]
        if target == ROOT / "README.md":
            depth = len(folder.relative_to(docs).parts)
            return f"[{words}]({'../' * depth}index.md{anchor})"
        if target.is_relative_to(docs) and target.is_file():
            return found[0]
        if not target.exists():
            return found[0]
        name = target.relative_to(ROOT)
        return words if str(name) in words else f"{words} (`{name}`)"

    # A pipe in the code of a table is escaped for GitHub, which the site would show.
    text = CODE.sub(lambda found: found[0].replace("\\|", "|"), text)
    return LINK.sub(link, NAMED_FENCE.sub(r'\1 title="\2"', text))
