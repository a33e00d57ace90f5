"""docs/figures.md names every picture of the pages, and every program that a page names for its figures."""

import re
from pathlib import Path

import pytest
from paths import ROOT

DOCS = ROOT / "docs"
FIGURES = DOCS / "figures.md"
PAGES = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if page != FIGURES)]
TEXT = FIGURES.read_text(encoding="utf-8")
PROGRAM = re.compile(r"\b(?:benchmarks|docs|tests)/[\w/]+\.py\b")
SHOWN = re.compile(r"!\[[^\]]*\]\((?P<file>[^)\s]+\.(?:svg|png))\)")


def test_every_picture_has_a_row_and_a_page_that_shows_it() -> None:
    pictures = {
        path.relative_to(DOCS).as_posix() for kind in ("svg", "png") for path in DOCS.rglob(f"*.{kind}")
    }
    listed = set(re.findall(r"\]\(([\w/-]+\.(?:svg|png))\)", TEXT))
    assert pictures == listed
    shown = {
        (page.parent / found["file"]).resolve().relative_to(DOCS).as_posix()
        for page in PAGES
        for found in SHOWN.finditer(page.read_text(encoding="utf-8"))
    }
    assert pictures == shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_benchmarks_that_a_page_names_are_listed(page: Path) -> None:
    named = {
        name for name in PROGRAM.findall(page.read_text(encoding="utf-8")) if name.startswith("benchmarks/")
    }
    assert {name for name in named if name not in TEXT} == set()


def test_the_programs_exist() -> None:
    programs = set(PROGRAM.findall(TEXT))
    assert len(programs) > 15
    assert {name for name in programs if not (ROOT / name).is_file()} == set()


def test_pictures_are_small() -> None:
    sizes = [path.stat().st_size for path in (DOCS / "pictures").iterdir()]
    assert max(sizes) < 150_000 and sum(sizes) < 1_000_000
