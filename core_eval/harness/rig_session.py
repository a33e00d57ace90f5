"""An open rig: whatever stands behind its URL is started, greeted, and left safe and ended again."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from queue import SimpleQueue
from threading import Lock
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlsplit

from configs.device_types import load_device
from configs.drivers_loader import load_driver
from configs.errors import ConfigError
from configs.rigs_loader import RigConfig, device_of
from configs.worlds_loader import World, load_world, make_simulator
from core_eval.harness.events import Emit, RigStatus, Sampled, ignore
from core_eval.harness.rigs_left import LeftRig, note_left
from core_eval.harness.serve_simulator import ServedSimulator
from core_eval.harness.simulator_process import ProcessWatch, RigError, simulator_process
from core_eval.log import EpisodeLog
from core_eval.path import Call
from core_eval.path.calls import CallStatus
from devices.device import Truth
from devices.drivers.settings import resolve
from devices.outcome import Outcome
from devices.registry import DEVICE_TYPES
from devices.sensors import Sample
from devices.stop_outcome import StopOutcome
from firmware_bridge.client import RigClient
from firmware_bridge.guard import Guard
from firmware_bridge.links import Link, LinkError, open_link
from firmware_bridge.messages import Status
from firmware_bridge.requests import LINK_BACK_SECONDS

DRAIN_SECONDS = 5.0
IDLE_SECONDS = 5.0
CALL_SECONDS = 120.0
STOP_SECONDS = 3.0
"""How long a rig may take to say that it is stopped before that counts as no answer."""
HOME_SECONDS = 60.0

P = ParamSpec("P")


class RigSession:
    """A rig that answers, and the episode whose log, guard and observers take what it says.

    Attributes:
        samples: the readings of the episode, for its guard.
        guard: takes the outcomes of the episode's calls.
    """

    def __init__(
        self, config: RigConfig, world: World | None, link: Link, call_timeout: float = CALL_SECONDS
    ) -> None:
        self.call_timeout = call_timeout
        self.config = config
        self.world = world
        self.client = RigClient(
            link,
            on_sample=self._on_sample,
            on_truth=self._on_truth,
            on_status=self._on_status,
            on_noted=self.note,
            on_freeze=self._on_freeze,
        )
        self.last_samples: dict[str, Sample] = {}
        self._recording = Lock()
        self._episode: EpisodeLog | None = None
        self._emit: Emit = ignore
        self.samples: SimpleQueue[Sample] = SimpleQueue()
        self.guard: Guard | None = None
        self._failure: sqlite3.Error | None = None
        self._loss: str | None = None
        self._when_lost: Callable[[], None] | None = None
        self._driven = False
        self.first_stop = StopOutcome.NOT_SENT
        """What is known of the stop with which the episode began."""

    def open(self, *, claim: bool = True) -> None:
        """Greet the device, and take it for this host alone unless `claim` is False.

        Raises:
            RigError: no response, two devices answer, or another host drives it.
        """
        try:
            self.client.open(claim=claim)
        except LinkError as error:
            raise RigError(f"rig {self.config.name}: {self._loss or error}") from None
        self._driven = claim

    def lost(self, why: str) -> None:
        """What was started for this rig has ended, so there is no rig any more. From any thread."""
        self._loss = why
        self.note("lost", {"error": why})
        self.client.abandon(why)
        if (when_lost := self._when_lost) is not None:
            when_lost()

    def when_lost(self, tell: Callable[[], None] | None) -> None:
        """Call this as soon as there is no rig any more, and now where there is none; None: nobody."""
        self._when_lost = tell
        if tell is not None and self._loss is not None:
            tell()

    @property
    def device_name(self) -> str | None:
        """The device type as the device itself states it."""
        status = self.client.status
        return None if status is None else status.device

    def record_to(self, episode: EpisodeLog | None, emit: Emit = ignore) -> None:
        """From now on samples, truth and statuses belong to this episode, or to none; it has no guard yet."""
        with self._recording:
            # Nobody writes to the last one any more when this returns, so its log may be closed.
            self._episode, self._emit, self._failure = episode, emit, None
            self.samples, self.guard = SimpleQueue(), None

    def initialise(self, device: str, state: Mapping[str, Any], seed: int, *, required: bool) -> bool:
        """Out of the stop and, where the rig is a simulator, into the initial state; whether it is one.

        Raises:
            RigError: there is another device, or none that answers or agrees.
        """
        name, stated = self.config.name, self.device_name
        own = device_of(self.config)
        known = stated in DEVICE_TYPES or (own is not None and own.name == stated)
        if known and stated != device:
            raise RigError(f"rig {name} is a {stated}, and the task is for a {device}: name another rig")
        with self._link_errors():
            # A host that was killed may have left a call running: the stop ends it.
            self.first_stop = self.client.estop()
            if self.first_stop is StopOutcome.NOT_SENT:
                raise RigError(f"rig {name}: the first stop was not sent: {self.client.stop_error}")
            self.client.reset()
            outcome = self._init_when_idle(state, seed)
        if outcome.status == CallStatus.OK:
            return True
        said = outcome.message or outcome.code or outcome.status
        # Firmware that does not know `init` at all may keep silent about it.
        physical = outcome.status == CallStatus.INVALID or outcome.code == "no_answer"
        if not physical or self.world is not None or outcome.code == "bad_state":
            raise RigError(f"rig {name} did not take the initial state: {said}")
        if required:
            raise RigError(f"rig {name} is no simulator, so leave out --init and --vary: {said}")
        self.note("physical", {"answer": said})
        return False

    def _init_when_idle(self, state: Mapping[str, Any], seed: int) -> Outcome:
        deadline = time.monotonic() + IDLE_SECONDS
        while True:
            outcome = self.client.init(state, seed)
            if outcome.code != "busy" or time.monotonic() > deadline:
                return outcome
            time.sleep(0.05)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        call_id: str | None,
        *,
        within: float = math.inf,
        complete: Call | None = None,
    ) -> Outcome:
        """Make a call; trouble of the link is a fault, never an exception, and so is no answer `within` s.

        The guard learns the outcome of the `complete` call, with the arguments that were left out.
        """
        outcome = self.client.call(tool, arguments, call_id=call_id, timeout=self.call_timeout, within=within)
        if self.guard is not None and complete is not None:
            self.guard.on_outcome(complete, outcome)
        return outcome

    def require_answer(self) -> None:
        """Wait until somebody is there again after a link fault: a cable may be plugged in once more.

        Raises:
            RigError: the link is lost for good.
        """
        self.check()
        try:
            self.client.regain(LINK_BACK_SECONDS)
        except LinkError as error:
            self.check()
            self.note("lost", {"error": str(error)})
            raise RigError(f"rig {self.config.name}: the link is lost: {error}") from None

    def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait until all that the device has sent is in the log, where it can tell, so long at most."""
        with suppress(LinkError):
            self.client.drain(seconds)

    def stop_now(self, by: str = "person") -> None:
        """A stop in mid-episode, in mid-call too, for `by`; never raises. From any thread."""
        self._stop({"by": by})

    def make_safe(self) -> StopOutcome:
        """The rig's safe state, and what is known of it; never raises, as it is called on every way out."""
        return self._stop({})

    def _stop(self, detail: dict[str, Any]) -> StopOutcome:
        stop = self.client.estop(STOP_SECONDS)
        if stop is not StopOutcome.CONFIRMED:
            detail |= {"error": self.client.stop_error, "can_confirm": self.client.confirms_stop}
        self.note(f"stop {stop}", detail or None)
        return stop

    def go_home(self) -> None:
        """After a run that ended in order: the machine's own way home, where the rig's file names one."""
        tool = self.config.home
        if tool is None:
            return
        with suppress(LinkError):
            if self.client.reset():
                self.client.call(tool, {}, timeout=min(self.call_timeout, HOME_SECONDS))

    def close(self, *, safe: bool = True) -> None:
        """The end: the safe state first, unless somebody else may be using the rig."""
        stop = self.client.close(safe=safe)
        if stop is not None and self._driven:
            client = self.client
            left = LeftRig(
                self.config.name, stop, client.confirms_stop, client.stop_error, client.late_stop_seconds
            )
            note_left(left)

    def check(self) -> None:
        """Raise what went wrong while the reader thread wrote to the log, or why there is no rig any more."""
        if self._failure is not None:
            raise self._failure
        loss = self._loss or self.client.conflict
        if loss is not None:
            raise RigError(f"rig {self.config.name}: {loss}")

    def note(self, state: str, detail: Mapping[str, Any] | None) -> None:
        """Something that the host did or found, into the log."""
        self._record(EpisodeLog.rig_status, "host", state, detail)
        self._emit(RigStatus("host", state))

    def _on_sample(self, sample: Sample) -> None:
        self.last_samples[sample.sensor] = sample
        self.samples.put(sample)
        self._record(EpisodeLog.sample, sample)
        self._emit(Sampled(sample))

    def _on_truth(self, truth: Truth) -> None:
        # The log alone takes it: neither a guard nor an observer may have it.
        if self.config.truth:
            self._record(EpisodeLog.truth, truth)

    def _on_status(self, status: Status) -> None:
        detail = status.model_dump(mode="json", exclude={"v", "op", "state"}, exclude_none=True)
        self._record(EpisodeLog.rig_status, "device", status.state, detail)
        self._emit(RigStatus("device", status.state))

    def _on_freeze(self, seconds: float) -> None:
        self.note("frozen", {"seconds": round(seconds, 2)})

    def _record(
        self, write: Callable[Concatenate[EpisodeLog, P], None], *args: P.args, **options: P.kwargs
    ) -> None:
        with self._recording:
            if self._episode is not None:
                try:
                    write(self._episode, *args, **options)
                except sqlite3.Error as error:
                    self._failure = error

    @contextmanager
    def _link_errors(self) -> Iterator[None]:
        try:
            yield
        except LinkError as error:
            raise RigError(f"rig {self.config.name}: {self._loss or error}") from None


@contextmanager
def open_rig(
    config: RigConfig, *, call_timeout: float = CALL_SECONDS, only_look: bool = False
) -> Iterator[RigSession]:
    """A rig that answers; on every way out it is left safe, and what was started for it is ended.

    With `only_look` it is left as it was found, since it may be at work for somebody else.

    Raises:
        RigError: it cannot be opened.
    """
    with ExitStack() as stack:
        watch = ProcessWatch()
        try:
            world = None if config.world is None else load_world(config.world)
            session = RigSession(config, world, _link(config, world, stack, watch), call_timeout)
        except (LinkError, ConfigError) as error:
            raise RigError(f"rig {config.name}: {error}") from None
        stack.callback(session.close, safe=not only_look)
        watch.tell(session.lost)
        session.open(claim=not only_look)
        yield session
        if not only_look:
            session.go_home()


def _link(config: RigConfig, world: World | None, stack: ExitStack, watch: ProcessWatch) -> Link:
    parts = urlsplit(config.url)
    if config.in_process:
        from firmware_bridge.local.link import LocalLink

        world = load_world(parts.path) if world is None else world
        simulator = make_simulator(world)
        simulator.tells_truth = config.truth
        return LocalLink(simulator, name=config.name)
    if config.driver is not None:
        driver = load_driver(config.driver)
        if driver.link != "pathrig":
            from firmware_bridge.drivers.driver_link import open_driver_link

            assert driver.device is not None, "the loader makes sure"
            settings = resolve(driver, config.driver_options, config.driver_tables)
            return open_driver_link(driver, load_device(driver.device), settings, config.url, config.name)
    if not config.spawn:
        return open_link(config.url)
    assert config.world is not None, "the loader makes sure"
    if config.link_type is not None and config.link_type.spawn == "pty":
        from firmware_bridge.serial.link import SerialLink

        served = ServedSimulator(config.world, serial="pty", truth=config.truth)
        port = stack.enter_context(simulator_process(served, watch))
        return SerialLink(f"serial://{port}", kept=False)
    from firmware_bridge.broker.process import start_broker_process

    broker = stack.enter_context(start_broker_process())
    stack.enter_context(watch.over(broker.process, "the embedded broker"))
    rig = parts.path.strip("/")
    served = ServedSimulator(config.world, mqtt=broker.url, rig=rig, truth=config.truth)
    stack.enter_context(simulator_process(served, watch))
    return open_link(f"{broker.url}/{rig}")
