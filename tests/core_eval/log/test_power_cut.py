"""A power cut at any write leaves a log that is true: what a `--durable` run had logged is there."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from paths import ROOT, SUPPORT

from core_eval.log.verified import verify

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="compiles what records the writes")

RUN = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    from test_chain import TURN, START, Outcome, Intent, RunLog, Sample, Truth, Verdict

    folder = Path(sys.argv[1])
    marks = open(folder / "marks", "ab", buffering=0)
    with RunLog(folder / "log.db", durable=sys.argv[3] == "durable") as log:
        # Small, so that it is folded in many times.
        log.connection.execute("PRAGMA wal_autocheckpoint = 40")
        run = log.begin_run({"cells": []}, {"pathrig": "1"}, {"machine": "m"})
        for number in range(3):
            episode = log.begin_episode(run, START)
            for k in range(12):
                step = episode.intent(Intent(k, "water", {"l": k}, f"c{k}", "allow"), TURN)
                marks.write(b"intent %d %d\\n" % (episode.id, k))
                episode.sample(Sample("tank", 10.0 - k, float(k)))
                episode.truth(Truth(float(k), f"c{k}", {"tank": k, "text": "x" * 300}, ()))
                verdict = Verdict("progress", "A", "q0", "q1", "progress")
                episode.result(step, Outcome("ok", {"l": k}, t=1.0, duration=0.5), verdict)
                marks.write(b"result %d %d\\n" % (episode.id, k))
            episode.end("completed", "done", None, "confirmed")
        log.end_run(run)
        marks.write(b"end 0 0\\n")
    """
)


@dataclass(frozen=True)
class Write:
    """A recorded operation.

    `w` writes `data` at `at`, `t` cuts the file at `at`, `u` removes it, `s` waits for the disk.
    """

    op: str
    file: str
    at: int
    data: bytes


def recorded(folder: Path, durable: str) -> list[Write]:
    """Run the writer, and return what it did to its files."""
    library, to, files = folder / "recorded.so", folder / "record", folder / "files"
    files.mkdir()
    source = SUPPORT / "recorded_writes.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    environment = os.environ | {"LD_PRELOAD": str(library), "RECORD_TO": str(to), "RECORD_FOLDER": str(files)}
    path = os.pathsep.join(map(str, (ROOT, SUPPORT)))
    command = [sys.executable, "-c", RUN, str(files), str(Path(__file__).parent), durable]
    subprocess.run(command, check=True, env=environment | {"PYTHONPATH": path}, timeout=100)
    data, writes = to.read_bytes(), []
    while data:
        head, _, data = data.partition(b"\n")
        op, file, at, count = head.decode().split()
        size = int(count)
        writes.append(Write(op, file, int(at), data[:size]))
        data = data[size:]
    return writes


def after_a_cut(writes: Sequence[Write], random: Random) -> dict[str, bytes]:
    """Return what the disk holds: what was synced, and of the rest what happened to be written, some torn."""
    files: dict[str, bytearray] = {}
    synced = {one.file: number for number, one in enumerate(writes) if one.op == "s"}
    # A file system's journal has the names in order.
    named = max(synced.values(), default=-1)
    lost_names: set[str] = set()
    for number, one in enumerate(writes):
        if one.file in lost_names:
            continue
        kept, data = number < (named if one.op == "u" else synced.get(one.file, -1)), one.data
        if not kept:
            if random.random() < 0.5:
                if one.op == "u":
                    # The file of the same name that came after it has no name on the disk.
                    lost_names.add(one.file)
                continue
            if one.op == "w" and random.random() < 0.2:
                # Sectors reach the disk one by one.
                data = data[: 512 * random.randrange(len(data) // 512 + 1)]
        if one.op == "u":
            files.pop(one.file, None)
            continue
        file = files.setdefault(one.file, bytearray())
        if one.op == "w":
            file.extend(bytes(max(0, one.at - len(file))))
            file[one.at : one.at + len(data)] = data
        elif one.op == "t":
            del file[one.at :]
    return {name: bytes(file) for name, file in files.items()}


def told(path: Path) -> tuple[set[tuple[str, int, int]], bool]:
    """Return the intents and results that a log has, and whether its run has ended; it must be true."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 or not connection.execute("SELECT count(*) FROM run").fetchone()[0]:
            return set(), False
        steps = connection.execute("SELECT episode_id, k, status FROM step").fetchall()
        ended = connection.execute("SELECT ended IS NOT NULL FROM run").fetchone()[0]
    evidence = verify(path)
    assert evidence.misfit is None, evidence.misfit
    there = {("intent", episode, k) for episode, k, _ in steps}
    there |= {("result", episode, k) for episode, k, status in steps if status is not None}
    return there, bool(ended)


def check_cuts(folder: Path, durable: str, count: int, seed: int) -> None:
    writes, random = recorded(folder, durable), Random(seed)
    path = folder / "log.db"
    for _ in range(count):
        cut = random.randrange(1, len(writes))
        for left in folder.glob("log.db*"):
            left.unlink()
        disk = after_a_cut(writes[:cut], random)
        if not disk.get("log.db") and not disk.get("log.db-wal"):
            # The file was not there yet.
            assert not any(one.file == "marks" for one in writes[:cut])
            continue
        for name in ("log.db", "log.db-wal", "log.db-journal"):
            if name in disk:
                path.with_name(name).write_bytes(disk[name])
        there, ended = told(path)
        said = [one.data.decode().split() for one in writes[:cut] if one.file == "marks"]
        told_done = {(what, int(episode), int(k)) for what, episode, k in said if what != "end"}
        if durable == "durable":
            assert told_done <= there, sorted(told_done - there)
            assert len(there - told_done) <= 1
            assert ended or ["end", "0", "0"] not in said


def test_a_power_cut_takes_nothing_that_was_logged(tmp_path: Path) -> None:
    check_cuts(tmp_path, "durable", 25, seed=1)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("durable", ["durable", "normal"])
def test_five_hundred_power_cuts_leave_no_log_that_lies(tmp_path: Path, durable: str) -> None:
    check_cuts(tmp_path, durable, 500, seed=2)
