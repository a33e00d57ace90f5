"""A real browser for tests of a page's own JavaScript: headless Chromium, driven over its DevTools socket."""

from __future__ import annotations

import atexit
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from processes import wait_for

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT_SECONDS = 60.0


class Tab:
    """A page that Chromium shows; JavaScript can be run in it."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        # While a page is being left, there is nothing to run a script in.
        answer = self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer.get("result", {}).get("value")

    def emulate(self, *, width: int, height: int, dark: bool = False) -> None:
        """A screen of so many pixels, light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self) -> bytes:
        """What the screen shows, as PNG, without scroll bars."""
        self.run("document.documentElement.style.scrollbarWidth = 'none'")
        return base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"])

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command of the DevTools; empty where there is none."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv(timeout=WAIT_SECONDS))).get("id") != self._number:
            pass
        return dict(answer.get("result", {}))

    def wait(self, script: str) -> Any:
        """The value of an expression as soon as it is true."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not (value := self.run(script)):
            assert time.monotonic() < deadline, f"{script} never holds; {self.run('document.body.innerText')}"
            time.sleep(0.05)
        return value


@contextmanager
def chromium(url: str) -> Iterator[Tab]:
    """A tab with this page. Skips the test where there is no browser, or it does not start.

    The browser is shared, as its start takes seconds; nothing that a page stores is.
    """
    client = pytest.importorskip("websockets.sync.client", reason="drives the browser with websockets")
    if CHROMIUM is None:
        pytest.skip("the page's JavaScript is run by Chromium, which is not installed")
    connect = partial(client.connect, max_size=None, open_timeout=WAIT_SECONDS)
    place, path = _started(CHROMIUM)
    with connect(f"ws://{place}{path}") as control, ExitStack() as stack:
        browser = Tab(control)
        context = {"browserContextId": browser.command("Target.createBrowserContext")["browserContextId"]}
        stack.callback(browser.command, "Target.disposeBrowserContext", **context)
        page = browser.command("Target.createTarget", url=url, **context)["targetId"]
        tab = Tab(stack.enter_context(connect(f"ws://{place}/devtools/page/{page}")))
        tab.wait("location.href !== 'about:blank' && document.readyState === 'complete'")
        yield tab


@cache
def _started(program: str) -> tuple[str, str]:
    """Start a browser that ends with this process; its host and port, and the path of its DevTools socket."""
    profile = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, profile, ignore_errors=True)
    process = subprocess.Popen(
        [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    # Its helpers are in the same group, and use the profile until they end.
    atexit.register(lambda: (os.killpg(process.pid, signal.SIGKILL), process.wait()))
    told = Path(profile) / "DevToolsActivePort"

    def port_and_path() -> list[str]:
        lines = told.read_text().splitlines() if told.exists() else []
        return lines if len(lines) == 2 or process.poll() is None else ["", ""]

    port, path = wait_for(port_and_path, WAIT_SECONDS) or ("", "")
    if not port:
        pytest.skip("Chromium is installed, but does not start here")
    return f"127.0.0.1:{port}", path
