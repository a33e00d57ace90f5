"""`pathrig watch RIG...` over a real broker: calls, results, map and time line of rigs that others drive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from bridge_rig import wait_until
from farm_rig import WORLD
from live_browser import open_page
from live_on_a_rig import LOCAL
from page_measures import measured
from real_browser import chromium

from configs.rig_config import RigConfig
from core_eval.live.heard_rig import NO_CALLS
from core_eval.live.history import History
from core_eval.live.rig_watcher import watched_rig
from core_eval.live.server import LivePage
from core_eval.live.serving import Authorizer, serve_page
from core_eval.log import RunLog, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.text.streams import STREAMS, world_stream
from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.mqtt.address import parse_mqtt_url
from firmware_bridge.mqtt.connection import MqttConnection
from firmware_bridge.mqtt.link import MqttPort
from sims.farm_rover.simulator import FarmSimulator

pytestmark = pytest.mark.browser


@contextmanager
def rover(broker: str, name: str) -> Iterator[str]:
    """The URL of a simulated rover at a broker."""
    with DeviceEndpoint(FarmSimulator(WORLD), MqttPort(broker, name)):
        yield f"{broker}/{name}"


@contextmanager
def watching(*rigs: RigConfig) -> Iterator[str]:
    """The address of a page of these rigs."""
    authorizer = Authorizer(LOCAL)
    histories = {rig.name: History() for rig in rigs}
    page = LivePage(authorizer, histories)
    with ExitStack() as stack:
        for rig in rigs:
            stack.enter_context(watched_rig(rig, histories[rig.name]))
        yield stack.enter_context(serve_page(LOCAL, page, authorizer))


def drive(url: str, db: Path) -> None:
    cell = Cell(task="water_one_plant", rig=url, agent="oracle")
    config = RunConfig(cells=(cell,), episodes=1)
    with RunLog(db) as log:
        Run(config, load_parts(config), log, ignore).start()


def rig(name: str, url: str, *, site: str | None = "farm_rover") -> RigConfig:
    return RigConfig(name=name, url=url, device="farm_rover", site=site)


def test_a_page_shows_the_calls_that_another_host_makes(mosquitto_url: str, tmp_path: Path) -> None:
    with (
        rover(mosquitto_url, "heard-1") as first,
        rover(mosquitto_url, "heard-2") as second,
        watching(rig("one", first), rig("two", second, site=None)) as url,
        chromium(url) as tab,
    ):
        tab.wait("document.querySelector('#task').textContent === 'one'")
        tab.wait("document.querySelector('#status-1').textContent.includes('deviceonline')")
        drive(second, tmp_path / "log.db")
        # Its calls, in the panel of the second rig alone.
        calls = "[...document.querySelectorAll('#steps-1 code')].map((one) => one.textContent.split('(')[0])"
        tab.wait(f"({calls}).length === 4")
        assert tab.run(calls) == ["lock_safety_mode", "water_plant", "move_to", "unlock_safety_mode"]
        tab.wait("document.querySelector('#step-3-1').textContent.includes('ok')")
        assert tab.run("document.querySelector('#steps').childElementCount") == 0
        seed = world_stream(STREAMS, 0, "water_one_plant")
        assert f"the world's seed {seed}" in tab.run("document.querySelector('#about-1').textContent")
        assert tab.run("document.querySelector('#about-1').textContent.split('farm_rover').length") == 2
        # Without a site there are no places, and the way is known all the same.
        tab.wait("document.querySelectorAll('#map-1 .stop').length > 0")
        assert tab.run("document.querySelector('#map-1 .place')") is None
        assert tab.run("document.querySelector('#map .place') !== null")
        bars = "document.querySelectorAll('#time-1 .row a').length"
        tab.wait(f"{bars} === 4")
        assert tab.run("document.querySelector('#way-section-1').hidden")
        assert (found := measured(tab, width=390)).good, found
        assert (found := measured(tab, width=1400, dark=True)).good, found
        # The next run begins a new page, and keeps a line of the last one.
        drive(second, tmp_path / "log.db")
        tab.wait("document.querySelectorAll('#past-1 li').length === 1")
        assert "calls 4 · ok 4" in tab.run("document.querySelector('#past-1 li').textContent")


def test_an_observer_sends_nothing(mosquitto_url: str) -> None:
    heard: list[str] = []
    everything = MqttConnection(
        parse_mqtt_url(f"{mosquitto_url}/heard-3"),
        "everything",
        subscriptions=[("pathrig/v1/heard-3/#", 1, True)],
        on_message=lambda topic, payload, _: heard.append(f"{topic} {payload.decode()}"),
        on_link=lambda _: None,
    )
    everything.open()
    try:
        config = rig("three", f"{mosquitto_url}/heard-3")
        with watching(config) as url, open_page(url) as browser:
            # A rig that is not there yet can be watched.
            broker = browser.wait(lambda kind, data: kind == "status" and data["source"] == "broker")
            assert broker["state"] == "connected"
            with rover(mosquitto_url, "heard-3"):
                browser.wait(lambda kind, data: kind == "status" and data["state"] == "online")
            browser.wait(lambda kind, data: kind == "status" and data["state"] == "offline")
        assert heard and {line.split()[0].rpartition("/")[2] for line in heard} == {"status"}
    finally:
        everything.close()


def test_what_goes_past_an_observer_is_told(mosquitto_url: str) -> None:
    name = "heard-4"
    peer = MqttConnection(
        parse_mqtt_url(f"{mosquitto_url}/{name}"),
        "both ends",
        subscriptions=[(f"pathrig/v1/{name}/status", 1, True)],
        on_message=lambda *_: None,
        on_link=lambda _: None,
    )
    peer.open()

    def say(channel: str, message: wire.Message) -> None:
        peer.publish(f"pathrig/v1/{name}/{channel}", encode(message))

    try:
        with watching(rig("four", f"{mosquitto_url}/{name}")) as url, open_page(url) as browser:
            browser.wait(lambda kind, data: kind == "status" and data["state"] == "connected")
            # An account that may not read the calls hears results alone.
            for number in (1, 2):
                say("result", wire.Result(id=f"unheard-{number}", status="ok", t=1.0))
            assert browser.wait(lambda kind, _: kind == "notice")["text"] == NO_CALLS
            seen = browser.wait(lambda kind, data: kind == "step" and data["k"] == 1)
            assert seen["call"] == "(not heard)"
            call = wire.Call(id="a", tool="<b>dig</b>", args={"x": 1.0, "y": 2.0})
            say("call", call)
            say("call", call)
            say("result", wire.Result(id="a", status="made up", t=3.0, dur=1.0))
            step = browser.wait(lambda kind, data: kind == "step" and data["k"] == 2)
            assert (step["call"], step["status"]) == ("<b>dig</b>(x=1, y=2)", "fault")
            say("estop", wire.Estop())
            browser.wait(lambda kind, data: kind == "status" and data["state"] == "sent a stop")
            say("status", wire.Status(state="estop", stop_input="latched"))
            held = browser.wait(lambda kind, data: kind == "status" and data["source"] == "stop input")
            assert held["held"] and held["state"].startswith("was pressed")
            lease = wire.Lease(id="l", holder="ann on barn (process 7)", since=1.0, seconds=10.0, n=1)
            say("lease", lease)
            driver = browser.wait(lambda kind, data: kind == "status" and data["source"] == "driven by")
            assert driver["state"] == lease.holder
            peer.publish(f"pathrig/v1/{name}/call", b"no JSON")
            say("sample/position.x", wire.Sample(sensor="position.x", value=1.0, t=4.0))
            browser.wait(lambda kind, data: kind == "sample")
            numbers = {data["k"] for kind, data in browser.seen if kind in ("call", "step")}
            assert numbers == {0, 1, 2}, "a repeated call is one"
            assert wait_until(lambda: "pictures" in browser.kinds())
    finally:
        peer.close()
