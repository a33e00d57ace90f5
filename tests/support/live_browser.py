"""A browser for tests of the live page: reads its events and presses its buttons, over real HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit

WAIT_SECONDS = 20.0


class Browser:
    """One open page. `seen` holds every event so far, as (kind, data)."""

    def __init__(self, url: str, *, last_id: int | None = None) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None and parts.port is not None
        self.host, self.port = parts.hostname, parts.port
        self.token = parse_qs(parts.query)["token"][0]
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.ids: list[int] = []
        self.ended = threading.Event()
        self._last_id = last_id
        self._changed = threading.Condition()
        self._connection: HTTPConnection | None = None

    def request(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str, dict[str, str]]:
        """Status, text and headers of one request."""
        connection = HTTPConnection(self.host, self.port, timeout=WAIT_SECONDS)
        try:
            text = body if isinstance(body, str) else json.dumps(body)
            connection.request(method, path, None if body is None else text, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def press(self, path: str, body: object = None, **headers: str) -> int:
        """Press a button as our page does; the status."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        all_headers = {"x-pathrig-token": self.token, **named}
        return self.request("POST", path, {} if body is None else body, all_headers)[0]

    def answer(self, number: int, answer: str) -> int:
        """Answer a question; the status."""
        return self.press("/answer", {"number": number, "answer": answer})

    def wait(self, fits: Callable[[str, dict[str, Any]], bool]) -> dict[str, Any]:
        """The first event that fits, as soon as it is there."""

        def found() -> dict[str, Any] | None:
            return next((data for kind, data in self.seen if fits(kind, data)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() is not None or self.ended.is_set(), WAIT_SECONDS)
            data = found()
        assert data is not None, self.seen
        return data

    def question(self, number: int) -> dict[str, Any]:
        """The question of that number, as soon as it is asked."""
        return self.wait(lambda kind, data: kind == "question" and data["number"] == number)

    def kinds(self) -> list[str]:
        """The kinds of the events so far."""
        return [kind for kind, _ in self.seen]

    def read(self) -> None:
        """Read events until the server ends the stream."""
        connection = HTTPConnection(self.host, self.port, timeout=WAIT_SECONDS)
        self._connection = connection
        headers = {} if self._last_id is None else {"last-event-id": str(self._last_id)}
        try:
            connection.request("GET", f"/events?token={self.token}", headers=headers)
            answer = connection.getresponse()
            kind = ""
            while line := answer.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "id":
                    self.ids.append(int(value))
                elif name == "data":
                    with self._changed:
                        self.seen.append((kind, json.loads(value)))
                        self._changed.notify_all()
        except (OSError, ValueError, AttributeError):
            # The test closed the page.
            pass
        finally:
            with self._changed:
                self.ended.set()
                self._changed.notify_all()

    def close(self) -> None:
        """Leave the page."""
        connection = self._connection
        if connection is not None and connection.sock is not None:
            connection.sock.shutdown(2)


@contextmanager
def open_page(url: str, *, last_id: int | None = None) -> Iterator[Browser]:
    """A page that reads its events while it is open."""
    browser = Browser(url, last_id=last_id)
    reader = threading.Thread(target=browser.read, daemon=True)
    reader.start()
    try:
        yield browser
    finally:
        if not browser.ended.is_set():
            with suppress(OSError):
                browser.close()
        reader.join(WAIT_SECONDS)
        assert not reader.is_alive()
