"""Finished episodes to a collector over a real broker, which is cut in the middle."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_rig import Mosquitto
from processes import wait_for

from configs.suites import read_suite
from core_eval.cli.main import main
from core_eval.cli.serve_send import send
from core_eval.log import LogError, LogReader
from core_eval.log.episode_copy import finished, packed, store
from core_eval.log.verified import verify
from core_eval.serve import transfer
from core_eval.serve.day_files import day_of
from core_eval.serve.transfer import Collector, Sender, Sent
from firmware_bridge.link import LinkError

pytestmark = pytest.mark.broker
EPISODES = 3


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a run."""
    path = tmp_path_factory.mktemp("recorded") / f"{day_of(time.time())}.db"
    task = read_suite("navigation").tasks[0].id
    run = ["run", "--task", task, "--rig", "sim:navigation", "--agent", "oracle", "--db", str(path), "--json"]
    assert main([*run, "--episodes", str(EPISODES)]) == 0
    return path


@pytest.fixture
def logs(recorded: Path, tmp_path: Path) -> Path:
    """The folder of a service with that log of the rig `barn`."""
    folder = tmp_path / "logs"
    (folder / "barn").mkdir(parents=True)
    (folder / "barn" / recorded.name).write_bytes(recorded.read_bytes())
    return folder


@pytest.fixture(scope="module")
def broker() -> Iterator[Mosquitto]:
    with Mosquitto() as running:
        yield running


def rows(path: Path) -> dict[str, Any]:
    with sqlite3.connect(path) as log:
        tables = [name for (name,) in log.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: log.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}


def test_an_episode_is_the_same_in_the_other_log(recorded: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    ids = finished(recorded, of_the_past=False)
    assert len(ids) == EPISODES
    for episode in ids:
        data = packed(recorded, episode)
        assert store(data, copy)
        assert not store(data, copy)
    assert rows(copy) == rows(recorded)
    assert verify(copy) == verify(recorded)
    assert verify(copy).holds()


def test_what_is_no_episode_is_refused(recorded: Path, tmp_path: Path) -> None:
    copy, data = tmp_path / "copy.db", packed(recorded, 1)
    for wrong in (b"", b"nothing", data[:-9]):
        with pytest.raises(LogError, match=r"cannot be read|cut off"):
            store(wrong, copy)
    store(data, copy)
    with sqlite3.connect(copy) as log:
        log.execute("UPDATE episode SET started = 1.0")
    log.close()
    with pytest.raises(LogError, match="two logs are sent under one name"):
        store(data, copy)


def test_all_arrives_once_though_the_broker_is_cut_in_the_middle(
    logs: Path, recorded: Path, tmp_path: Path, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PIECE", 500)
    monkeypatch.setattr(transfer, "ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(transfer, "OFFERS", 9)
    sizes = [len(packed(recorded, episode)) for episode in finished(recorded, of_the_past=False)]
    assert sizes[0] > 8 * transfer.PIECE
    collector = Collector(broker.url, tmp_path / "all")
    sender = Sender(broker.url, "farm", logs)
    cut_at: list[int] = []

    def cut() -> None:
        # In the middle of the second episode.
        assert wait_for(lambda: collector.received > sizes[0] + sizes[1] // 3)
        broker.kill()
        cut_at.append(collector.received)
        broker.start()

    cutter = threading.Thread(target=cut)
    heard = collector._heard

    def slowly(*given: Any) -> None:
        heard(*given)
        time.sleep(0.01)

    monkeypatch.setattr(collector._connection, "_on_message", slowly)
    try:
        cutter.start()
        assert sender.run() == EPISODES
        cutter.join()
        assert sender.run() == 0
    finally:
        sender.close()
        collector.close()
    assert cut_at and cut_at[0] < sum(sizes)
    # No byte went twice into a file, and none that was there was sent for again.
    assert collector.received == sum(sizes) and collector.stored == EPISODES
    there = tmp_path / "all" / "farm" / "barn" / recorded.name
    assert rows(there) == rows(recorded)
    assert not list((tmp_path / "all" / ".parts").iterdir())


def test_a_sender_goes_on_where_another_collector_was_killed(
    logs: Path, recorded: Path, tmp_path: Path, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PIECE", 500)
    monkeypatch.setattr(transfer, "ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(transfer, "OFFERS", 1)
    first = Collector(broker.url, tmp_path / "all")
    heard = first._heard

    def until_killed(*given: Any) -> None:
        if first.received < 1500:
            heard(*given)

    monkeypatch.setattr(first._connection, "_on_message", until_killed)
    sender = Sender(broker.url, "farm", logs)
    with pytest.raises(LinkError, match="no collector answers"):
        sender.run()
    first.close()
    monkeypatch.setattr(transfer, "OFFERS", 9)
    second = Collector(broker.url, tmp_path / "all")
    try:
        assert sender.run() == EPISODES
    finally:
        sender.close()
        second.close()
    whole = sum(len(packed(recorded, episode)) for episode in finished(recorded, of_the_past=False))
    assert first.received == 1500 and first.received + second.received == whole
    with LogReader(tmp_path / "all" / "farm" / "barn" / recorded.name) as reader:
        assert len(reader.episodes()) == EPISODES


def test_what_is_wrong_goes_nowhere(tmp_path: Path, broker: Mosquitto) -> None:
    told: list[str] = []
    collector = Collector(broker.url, tmp_path / "all", told.append)
    digest = "0" * 64
    try:
        for name in ("../x/2026-01-01#1", "barn/today#1", "barn/2026-01-01#x", "/etc/2026-01-01#1"):
            head = {"op": "offer", "id": name, "bytes": 3, "sha256": digest}
            collector._heard("pathrig-collect/v1/farm/up", transfer.message(head), False)
        head = {"op": "offer", "id": "barn/2026-01-01#1", "bytes": 3, "sha256": digest}
        collector._heard("pathrig-collect/v1/../up", transfer.message(head), False)
        collector._heard("pathrig-collect/v1/farm/up", b"\xff{", False)
        collector._heard("pathrig-collect/v1/farm/up", transfer.message(head | {"bytes": 1 << 40}), False)
        assert told == ["farm: barn/2026-01-01#1: has 1099511627776 bytes, 536870912 are taken at most"]
        collector._heard("pathrig-collect/v1/farm/up", transfer.message(head), False)
        piece = transfer.message({**head, "op": "piece", "from": 0}, b"abc")
        collector._heard("pathrig-collect/v1/farm/up", piece, False)
    finally:
        collector.close()
    # Its bytes are not what was offered: they are gone, and nothing was stored.
    assert not list((tmp_path / "all" / ".parts").iterdir()) and collector.stored == 0


def test_an_episode_that_cannot_be_read_is_told_and_the_others_are_sent(
    logs: Path, tmp_path: Path, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(log: Path, episode: int) -> bytes:
        if episode == 2:
            raise LogError("is damaged")
        return packed(log, episode)

    monkeypatch.setattr(transfer, "packed", damaged)
    collector = Collector(broker.url, tmp_path / "all")
    sender = Sender(broker.url, "farm", logs)
    try:
        assert sender.run() == EPISODES - 1
    finally:
        sender.close()
        collector.close()
    (told,) = sender.refused
    assert told.endswith("#2: is damaged")


def test_a_collector_whose_broker_is_away_is_to_be_started_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "collect.yaml"
    file.write_text("folder: all\ncollect: {url: 'mqtt://127.0.0.1:1'}\n")
    assert main(["serve", str(file)]) == 75
    said = capsys.readouterr().err
    assert said.startswith(f"pathrig: {file}: collect: ") and said.count("\n") == 1


def test_what_was_acknowledged_is_not_left(logs: Path, recorded: Path) -> None:
    log = logs / "barn" / recorded.name
    with Sent(logs) as sent:
        assert sent.left(log) == [1, 2, 3]
        sent.add(log, 2)
        sent.add(log, 2)
    with Sent(logs) as sent:
        assert sent.left(log) == [1, 3]
        # A day that is over is complete at last, and then not opened again.
        old = log.rename(log.with_name("2026-01-01.db"))
        assert sent.left(old) == [1, 2, 3]
        for episode in (1, 2, 3):
            sent.add(old, episode)
        assert sent.left(old) == []
        old.unlink()
        assert sent.left(old) == []
        log.write_bytes(b"damaged")
        assert sent.left(log) == []


def test_the_process_that_sends(
    logs: Path, tmp_path: Path, broker: Mosquitto, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "serve.yaml"
    keys = f"folder: logs\ncollector: {{url: '{broker.url}', site: farm}}\nrigs: ['sim:navigation']\n"
    file.write_text(f"{keys}schedule: [{{name: a, every: 1h, suites: [navigation], agents: [done]}}]")
    collector = Collector(broker.url, tmp_path / "all")
    try:
        assert send(file) == 0
        assert capsys.readouterr().out == "3 episodes are with the collector\n"
        assert send(file) == 0 and capsys.readouterr().out == ""
        # Another log of that name.
        (logs / "sent.db").unlink()
        with sqlite3.connect(tmp_path / "all" / "farm" / "barn" / f"{day_of(time.time())}.db") as log:
            log.execute("UPDATE episode SET started = 1.0 WHERE id = 2")
        log.close()
        assert send(file) == 3
        assert "refused: barn/" in capsys.readouterr().err
    finally:
        collector.close()
    broker.kill()
    try:
        assert send(file) == 3 and "cannot reach the broker" in capsys.readouterr().err
    finally:
        broker.start()
