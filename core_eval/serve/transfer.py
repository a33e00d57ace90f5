"""Finished episodes over MQTT, in pieces: resumable at any byte, nothing twice, acknowledged by id.

The sender offers an episode by its id, size and SHA-256. The collector says how many bytes of it are there;
the sender goes on from there, and the collector tells after each piece how far it is, and at last that the
episode is stored. Whatever is lost between, the next offer finds where to go on. A message is a line of JSON,
and after it the bytes of a piece.
"""

from __future__ import annotations

import hashlib
import json
import queue
import re
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from core_eval.log import LogError
from core_eval.log.episode_copy import MOST_BYTES, finished, packed, store
from core_eval.serve.cut_work import WorkNote
from core_eval.serve.day_files import day_of, logs, size_of
from core_eval.serve.serve_file import broker_of
from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.connection import MqttConnection

PREFIX = "pathrig-collect/v1"
PIECE = 1 << 16
AHEAD = 4
"""Pieces that are sent before the first is acknowledged."""
ANSWER_SECONDS = 10.0
OFFERS = 3
"""Offers without an answer until the sender gives up for now."""
ID = re.compile(r"(?P<rig>[A-Za-z0-9_][\w.-]*)/(?P<day>\d{4}-\d\d-\d\d)#(?P<episode>\d{1,9})")
SITE = re.compile(r"[A-Za-z0-9_][\w.-]*")
DIGEST = re.compile(r"[0-9a-f]{64}")


def message(head: dict[str, Any], body: bytes = b"") -> bytes:
    """Return a message's bytes."""
    return json.dumps(head).encode() + b"\n" + body


def parted(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """Return head and body of a message; an empty head where it cannot be read."""
    line, _, body = payload.partition(b"\n")
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        return {}, b""
    return (head, body) if isinstance(head, dict) else ({}, b"")


class Sender:
    """Sends what is left of a folder's logs."""

    def __init__(self, url: str, site: str, folder: Path) -> None:
        """Connect.

        Raises:
            LinkError: the broker cannot be reached.
        """
        self._folder = folder
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._up = f"{PREFIX}/{site}/up"
        self._connection = MqttConnection(
            broker_of(url),
            f"pathrig-sender-{site}-{secrets.token_hex(4)}",
            subscriptions=[(f"{PREFIX}/{site}/down", 1, True)],
            on_message=lambda _, payload, __: self._answers.put(parted(payload)[0]),
            # After a lost connection nothing of before counts: the next offer asks.
            on_link=lambda up: self._answers.put({"op": "again"}) if up else None,
        )
        self._connection.open()
        self.refused: list[str] = []

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()

    def run(self) -> int:
        """Send all that is left, oldest first; return how many were acknowledged.

        Raises:
            LinkError: nobody answers; what was acknowledged is kept.
        """
        count = 0
        with Sent(self._folder) as sent:
            for log in logs(self._folder):
                for episode in sent.left(log):
                    name = f"{log.parent.name}/{log.stem}#{episode}"
                    try:
                        data = packed(log, episode)
                    except LogError as error:
                        self.refused.append(f"{name}: {error}")
                        continue
                    if self._send(name, data):
                        sent.add(log, episode)
                        count += 1
        return count

    def _send(self, name: str, data: bytes) -> bool:
        digest = hashlib.sha256(data).hexdigest()
        silent = 0
        while silent < OFFERS:
            self._publish({"op": "offer", "id": name, "bytes": len(data), "sha256": digest})
            there = sent = -1
            while True:
                answer = self._answer(name, digest)
                if answer is None:
                    silent += 1
                    break
                silent = 0
                if answer["op"] == "again":
                    break
                if answer["op"] == "stored":
                    return True
                if answer["op"] == "refused":
                    self.refused.append(f"{name}: {answer.get('why')}")
                    return False
                now = int(answer["bytes"])
                if now < there or sent < 0:
                    # The first answer, or a collector that lost some.
                    sent = now
                there = now
                while sent < len(data) and sent < there + AHEAD * PIECE:
                    body = data[sent : sent + PIECE]
                    self._publish({"op": "piece", "id": name, "sha256": digest, "from": sent}, body)
                    sent += len(body)
        raise LinkError(f"no collector answers at {self._connection.address.name} for {self._up}")

    def _publish(self, head: dict[str, Any], body: bytes = b"") -> None:
        self._connection.publish(self._up, message(head, body))

    def _answer(self, name: str, digest: str) -> dict[str, Any] | None:
        """Return the next answer that is about an episode; None after `ANSWER_SECONDS`."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            try:
                answer = self._answers.get(timeout=left)
            except queue.Empty:
                return None
            if answer.get("op") == "again" or (answer.get("id"), answer.get("sha256")) == (name, digest):
                return answer
        return None


class Collector:
    """Stores what senders of any site send: `FOLDER/SITE/RIG/DAY.db`."""

    def __init__(self, url: str, folder: Path, tell: Callable[[str], None] = print) -> None:
        """Connect.

        Raises:
            LinkError: the broker cannot be reached.
        """
        self._folder, self._tell = folder, tell
        self._parts = folder / ".parts"
        self._parts.mkdir(parents=True, exist_ok=True)
        self._offered: dict[tuple[str, str], tuple[int, str]] = {}
        self.stored = self.received = 0
        self._connection = MqttConnection(
            broker_of(url),
            f"pathrig-collector-{secrets.token_hex(4)}",
            subscriptions=[(f"{PREFIX}/+/up", 1, True)],
            on_message=self._heard,
            on_link=lambda _: None,
        )
        self._connection.open()

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()

    def _heard(self, topic: str, payload: bytes, _retained: bool) -> None:
        site = topic.split("/")[-2]
        head, body = parted(payload)
        name, digest = str(head.get("id")), str(head.get("sha256"))
        place = ID.fullmatch(name)
        if not (SITE.fullmatch(site) and place and DIGEST.fullmatch(digest)):
            return
        target = self._folder / site / place["rig"] / f"{place['day']}.db"
        part = self._parts / f"{site}-{digest}"
        try:
            answer = self._taken(head, body, site, name, digest, target, part)
        except (LogError, OSError) as error:
            part.unlink(missing_ok=True)
            self._tell(f"{site}: {name}: {error}")
            answer = {"op": "refused", "why": str(error)}
        if answer is not None:
            whole = message({"id": name, "sha256": digest, **answer})
            self._connection.publish(f"{PREFIX}/{site}/down", whole)

    def _taken(
        self, head: dict[str, Any], body: bytes, site: str, name: str, digest: str, target: Path, part: Path
    ) -> dict[str, Any] | None:
        known = (site, digest)
        if head.get("op") == "offer" and isinstance(size := head.get("bytes"), int):
            if not 0 < size <= MOST_BYTES:
                raise LogError(f"has {size} bytes, {MOST_BYTES} are taken at most")
            self._offered[known] = size, name
        elif head.get("op") == "piece":
            # Of another start of this collector: it has to be offered anew.
            if known not in self._offered or head.get("from") != size_of(part):
                return None
            with part.open("ab") as file:
                file.write(body)
            self.received += len(body)
        else:
            return None
        size, _ = self._offered[known]
        there = size_of(part)
        if there < size:
            return {"op": "have", "bytes": there}
        data = part.read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            part.unlink()
            return {"op": "have", "bytes": 0}
        target.parent.mkdir(parents=True, exist_ok=True)
        self.stored += store(data, target)
        part.unlink()
        with suppress(KeyError):
            del self._offered[known]
        return {"op": "stored"}


TABLES = (
    "CREATE TABLE IF NOT EXISTS sent (log TEXT, episode INTEGER, at REAL NOT NULL,"
    " PRIMARY KEY (log, episode)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS complete (log TEXT PRIMARY KEY, at REAL NOT NULL) STRICT, WITHOUT ROWID"
)


class Sent:
    """The list of acknowledged episodes, in `sent.db` of the folder of the logs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._list = sqlite3.connect(folder / "sent.db", isolation_level=None, timeout=10.0)
        self._list.executescript(TABLES)

    def __enter__(self) -> Sent:
        return self

    def __exit__(self, *_: object) -> None:
        self._list.close()

    def add(self, log: Path, episode: int) -> None:
        """Take note of an acknowledgement; it is on the disk when this returns."""
        self._list.execute(
            "INSERT OR IGNORE INTO sent VALUES (?, ?, ?)", (self._name(log), episode, time.time())
        )

    def left(self, log: Path) -> list[int]:
        """Return the finished episodes of a log that are not acknowledged; of a damaged one: none."""
        # A run may pass midnight, or wait to be gone on with.
        name = self._name(log)
        past = log.stem < day_of(time.time()) and WorkNote(log.parent).log() != log
        if self._list.execute("SELECT 1 FROM complete WHERE log = ?", (name,)).fetchone():
            # Nothing is added to it any more; a year's logs are not opened again each time.
            return []
        try:
            over = finished(log, of_the_past=past)
        except LogError:
            return []
        sql = "SELECT episode FROM sent WHERE log = ?"
        with closing(self._list.execute(sql, (name,))) as rows:
            known = {number for (number,) in rows}
        left = [number for number in over if number not in known]
        if past and not left:
            self._list.execute("INSERT OR IGNORE INTO complete VALUES (?, ?)", (name, time.time()))
            self._list.execute("DELETE FROM sent WHERE log = ?", (name,))
        return left

    def _name(self, log: Path) -> str:
        return log.relative_to(self._folder).as_posix()
