"""docs/safety.md names a test for each hazard, and each of them exists."""

from __future__ import annotations

import re

from paths import ROOT

PAGE = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")


def test_each_hazard_names_a_test_that_exists() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| hazard")]
    sources = "".join(
        file.read_text(encoding="utf-8")
        for file in (ROOT / "tests").rglob("test_*.py")
        if file.stem != "test_safety"
    )
    assert len(rows) >= 10
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named, row
        for test in named:
            assert f"def {test}(" in sources, test
