"""The docs say what the code does: the reference is generated, and links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)")


@pytest.mark.slow
def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate_reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, f"run python docs/generate_reference.py: {done.stdout}{done.stderr}"


def test_the_reference_leaves_nothing_without_a_meaning() -> None:
    for name in ("cli.md", "config.md"):
        text = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
        section = text.split("## World files")[0]
        for line in section.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if cells and cells[0].startswith("`"):
                assert all(cells[:2]), f"{name}: {line}"
                assert cells[1 if name == "cli.md" else -1], f"{name}: {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_the_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text
