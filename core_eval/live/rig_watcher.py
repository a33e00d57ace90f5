"""Watches a rig that another host may drive: its samples and statuses, without a call, a lease or a stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from configs.rigs_loader import RigConfig
from core_eval.harness.events import Event, RigStatus, Sampled
from core_eval.harness.rig_session import open_rig
from core_eval.live.episode_events import sample_data
from core_eval.live.history import History


@contextmanager
def watched_rig(config: RigConfig, history: History) -> Iterator[None]:
    """Add what a rig says to a history while the context lasts.

    Raises:
        RigError: it does not answer.
    """

    def show(event: Event) -> None:
        match event:
            case Sampled(sample):
                history.add("sample", sample_data(sample), f"sample {sample.sensor}")
            case RigStatus(source, state):
                history.add("status", {"source": source, "state": state}, f"status {source}")

    with open_rig(config, only_look=True) as session:
        session.record_to(None, show)
        about = {"task": config.name, "prompt": "Its samples and statuses; nothing is sent to it."}
        history.add("episode", {**about, "id": "-", "agent": "watched only", "seed": "-", "place": ""})
        device = session.device_name
        history.add(
            "rig", {"rig": config.name, "device": device, "guard": "-", "camera": config.camera}, "rig"
        )
        for sample in tuple(session.last_samples.values()):
            history.add("sample", sample_data(sample), f"sample {sample.sensor}")
        if session.client.status is not None:
            show(RigStatus("device", session.client.status.state))
        try:
            yield
        finally:
            session.record_to(None)
