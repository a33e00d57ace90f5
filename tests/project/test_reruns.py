"""The rule of reruns: none for tests of stops, a counted few for the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT
from reruns import MOST_RERUNS

CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests" / "support")!r})
pytest_plugins = ["reruns"]
def pytest_configure(config):
    for name in ("broker", "serial", "firmware", "browser", "stops"):
        config.addinivalue_line("markers", name)
"""
SOMETIMES = """
import pytest
seen = set()
def once_wrong(name):
    if name not in seen:
        seen.add(name)
        raise AssertionError("a busy machine")
"""


def session(folder: Path, tests: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit status and output of a session with these tests, whose pauses are short."""
    (folder / "conftest.py").write_text(CONFTEST + "import reruns\nreruns.PAUSE_SECONDS = 0\n")
    (folder / "test_it.py").write_text(SOMETIMES + tests)
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_test_of_a_stop_has_one_chance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = {
        ("serial", "test_a_line_is_read"): True,
        ("serial", "test_a_stop_is_sent"): False,
        ("broker", "test_a_killed_host_leaves_no_valve_open"): False,
        ("slow", "test_a_file_is_read"): False,
    }
    tests = (f"@pytest.mark.{mark}\ndef {name}():\n    once_wrong('{name}')\n" for mark, name in passes)
    status, output = session(tmp_path, "".join(tests), monkeypatch)
    assert status == 1 and "3 failed, 1 passed" in output and "1 rerun in" in output, output
    assert {name: f"FAILED test_it.py::{name}" not in output for _, name in passes} == {
        name: does for (_, name), does in passes.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(MOST_RERUNS, 0), (MOST_RERUNS + 1, 1)])
def test_a_session_may_need_a_few_reruns(
    tmp_path: Path, number: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The pause of each is for a busy machine, and not for this test.
    tests = "import reruns\n" + "".join(
        f"@pytest.mark.serial\n@pytest.mark.flaky(reruns=1)\ndef test_line_{k}():\n    once_wrong({k})\n"
        for k in range(number)
    )
    found, output = session(tmp_path, tests, monkeypatch)
    assert found == status, output
    assert (f"failed: {number} reruns" in output) is bool(status)
