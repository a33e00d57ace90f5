"""Which tests run again after a failure, and how many reruns a session may need; a pytest plug-in.

A stop that fails one time in ten would pass in 99 of 100 sessions if its test ran again.
"""

from __future__ import annotations

from typing import Any

import pytest

WALL_CLOCK = ("broker", "serial", "firmware", "browser")
"""Their subjects run beside the test, on the wall clock: a busy machine can starve them past any deadline."""
OF_STOPS = ("stop", "safe", "kill", "freez", "frozen", "watchdog", "valve", "hang", "cable", "keeper")
"""Words in the name of a test that is about a stop, besides those marked `stops`."""
PAUSE_SECONDS = 5
MOST_RERUNS = 5
"""Reruns after which a session has failed."""


def runs_again(item: pytest.Item) -> bool:
    """Return whether a failed test gets a second chance."""
    about_stops = item.get_closest_marker("stops") or any(word in item.name for word in OF_STOPS)
    return not about_stops and any(item.get_closest_marker(name) for name in WALL_CLOCK)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that run again, once, after a pause."""
    for item in items:
        if runs_again(item):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=PAUSE_SECONDS))


def _reruns(config: pytest.Config) -> int:
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    return 0 if reporter is None else len(reporter.stats.get("rerun", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session that needed too many reruns."""
    if _reruns(session.config) > MOST_RERUNS and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the reason."""
    reruns = _reruns(config)
    if reruns > MOST_RERUNS:
        terminalreporter.write_line(
            f"failed: {reruns} reruns, and a session may need {MOST_RERUNS}", red=True
        )
