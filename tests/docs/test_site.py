"""The site's navigation holds every page; the site itself is built by `make docs`."""

from paths import ROOT
from yaml import safe_load


def pages(nav: object) -> list[str]:
    if isinstance(nav, dict):
        return [page for part in nav.values() for page in pages(part)]
    return [page for part in nav for page in pages(part)] if isinstance(nav, list) else [str(nav)]


def test_every_page_is_in_the_navigation_once() -> None:
    named = pages(safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    docs = ROOT / "docs"
    found = [str(page.relative_to(docs)) for page in docs.rglob("*.md")]
    assert sorted(named) == sorted([*found, "index.md"])
