"""Watches a rig that another host may drive: what it says and is told, without a call, a lease or a stop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from configs.drivers_loader import load_driver
from configs.errors import ConfigError
from configs.rig_config import RigConfig
from configs.rigs_loader import load_rig
from configs.worlds_loader import load_world
from core_eval.live.episode_events import sample_data, status_data
from core_eval.live.heard_rig import HeardRig
from core_eval.live.history import History
from core_eval.log import Event, RigStatusRow
from core_eval.rig.opening import open_rig
from core_eval.rig.signals import RigError
from devices.sensors import Sample
from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.observer import Heard, MqttObserver

ONE_HOST = (
    "This rig has one host, and while this page watches it that is this page: a run finds it in use. To see "
    "a run's calls, watch its log."
)
OWN_TOPICS = "Its driver speaks the machine's own messages: to see a run's calls, watch its log."


def rig_to_watch(name: str) -> RigConfig:
    """Return a rig by its name, file or URL.

    Raises:
        ConfigError: there is none, or it is a simulator that a run starts itself.
    """
    config = load_rig(name)
    if config.in_process or config.spawn:
        raise ConfigError(f"{name}: is a simulator that a run starts itself; watch the run's log")
    return config


@contextmanager
def watched_rig(config: RigConfig, history: History) -> Iterator[None]:
    """Add what a rig says to a history while the context lasts; over MQTT also what it is told.

    Raises:
        RigError: its broker cannot be reached; of another link, it does not answer.
    """
    with _heard(config, history) if is_heard(config) else _asked(config, history):
        yield


def is_heard(config: RigConfig) -> bool:
    """Return whether a rig can be observed: it speaks pathrig's own messages over a broker."""
    if config.link_type is None or config.link_type.family != "mqtt":
        return False
    return config.driver is None or load_driver(config.driver).link == "pathrig"


@contextmanager
def _heard(config: RigConfig, history: History) -> Iterator[None]:
    ref = config.world or config.site or (None if config.twin is None else config.twin.world)
    world = None if ref is None else load_world(ref)
    layout = {} if world is None else world.state.model_dump(mode="json")
    keys = () if world is None else world.type.place_keys
    with HeardRig(config.name, history, layout, keys, config.camera) as rig:
        try:
            observer = MqttObserver(config.url, Heard(rig.host, rig.device, rig.lease, rig.link))
        except LinkError as error:
            raise RigError(f"rig {config.name}: {error}") from None
        try:
            yield
        finally:
            observer.close()


@contextmanager
def _asked(config: RigConfig, history: History) -> Iterator[None]:
    def show(event: Event) -> None:
        match event:
            case Sample():
                history.add("sample", sample_data(event), f"sample {event.sensor}")
            case RigStatusRow(_, source, state, detail):
                for said in status_data(source, state, (detail or {}).get("stop_input")):
                    history.add("status", said, f"status {said['source']}")

    with open_rig(config, only_look=True) as session:
        session.record_to(None, show)
        prompt = ONE_HOST if config.driver is None else OWN_TOPICS
        history.add("episode", {"task": config.name, "prompt": prompt, "about": "watched only", "place": ""})
        device = session.device_name
        history.add(
            "rig", {"rig": config.name, "device": device, "guard": "-", "camera": config.camera}, "rig"
        )
        for sample in tuple(session.recorder.last_samples.values()):
            history.add("sample", sample_data(sample), f"sample {sample.sensor}")
        if (status := session.client.status) is not None:
            show(RigStatusRow(time.time(), "device", status.state, {"stop_input": status.stop_input}))
        try:
            yield
        finally:
            session.record_to(None)
