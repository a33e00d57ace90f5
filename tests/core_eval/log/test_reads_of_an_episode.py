"""What is read of one episode costs the same in a log of many."""

from contextlib import suppress
from inspect import signature
from pathlib import Path

import pytest

from core_eval.log import LogError, LogReader, RunLog

READS = [
    name
    for name, read in vars(LogReader).items()
    if callable(read) and not name.startswith("_") and "episode_id" in signature(read).parameters
]


@pytest.mark.parametrize("read", READS)
def test_no_table_is_read_whole(tmp_path: Path, read: str) -> None:
    path = tmp_path / "log.db"
    with RunLog(path):
        pass
    asked: list[str] = []
    with LogReader(path) as log:
        log.connection.set_trace_callback(asked.append)
        with suppress(LogError):
            getattr(log, read)(1)
        log.connection.set_trace_callback(None)
        assert asked
        plans = [plan for sql in asked for *_, plan in log.connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
    assert plans and not [plan for plan in plans if plan.startswith("SCAN")]


def test_a_long_configuration_is_parsed_once_until_it_is_another(tmp_path: Path) -> None:
    """A report asks for the run of each episode: with a suite that took a quarter of its time."""
    path = tmp_path / "log.db"
    with RunLog(path) as log, LogReader(path) as reader:
        first, other = (log.begin_run({"tasks": [name] * 5000}, {}, {}) for name in ("one", "two"))
        config = reader.run(first).config
        assert reader.run(first).config is config
        assert [reader.run(run).config["tasks"][0] for run in (other, first)] == ["two", "one"]
        log.connection.execute("UPDATE run SET config = replace(config, 'one', 'six') WHERE id = ?", (first,))
        assert reader.run(first).config["tasks"][0] == "six"
