"""A session with an open rig: its first stop and initial state, its calls, and its last stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from configs.rig_config import RigConfig, device_of
from configs.task import Task
from configs.worlds_loader import World
from core_eval.call_status import CallStatus
from core_eval.log import LEFT_RECORD, Emit, EpisodeLog, ignore
from core_eval.path.calls import Call
from core_eval.rig.chip_guard import ChipGuard
from core_eval.rig.final_stops import FinalStop, record_final_stop
from core_eval.rig.programs import run_program
from core_eval.rig.recorder import Recorder
from core_eval.rig.signals import RigError
from devices.device_type import an
from devices.known_state import KnownState
from devices.outcome import Outcome, StopOutcome
from devices.registry import DEVICE_TYPES
from firmware_bridge.client import RigClient
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.link import Link, LinkError, tell_terminal
from firmware_bridge.messages import HELD, Status
from firmware_bridge.requests import LINK_BACK_SECONDS

DRAIN_SECONDS = 5.0
IDLE_SECONDS = 5.0
CALL_SECONDS = 120.0
STOP_SECONDS = 3.0
"""Time in which a rig must confirm a stop."""
HOME_SECONDS = 60.0
CHIP_DIFFERS = "chip guard differs"
"""State of a status in the log: the chip judged a call otherwise than the host, and the rig was stopped."""


class RigSession:
    """An open rig; what it sends goes to its recorder.

    Attributes:
        link: the open link.
        recorder: where its samples, statuses and truth go.
        known: the state of the rig as the guard knows it; updated by the outcomes of calls.
        first_stop: what is known of the stop with which the episode began.
    """

    def __init__(
        self,
        config: RigConfig,
        world: World | None,
        link: Link,
        call_timeout: float = CALL_SECONDS,
        clock: Clock = MONOTONIC,
    ) -> None:
        self.call_timeout = call_timeout
        self._clock = clock
        self.config = config
        self.world = world
        self.link = link
        self.recorder = Recorder()
        self._note = self.recorder.note
        self.client = RigClient(
            link,
            on_sample=self.recorder.on_sample,
            on_truth=self.recorder.on_truth if config.truth else None,
            on_status=self._on_status,
            on_noted=self._note,
            on_freeze=self._on_freeze,
            clock=clock,
        )
        self.known: KnownState | None = None
        self._loss: str | None = None
        self._on_loss: Callable[[], None] | None = None
        self._on_press: Callable[[], None] | None = None
        self._driven = self._left_record = self._told = False
        self.held = False
        self._chip: ChipGuard | None = None
        self.first_stop = StopOutcome.NOT_SENT

    def open(self, *, claim: bool = True) -> None:
        """Connect to the device, and acquire its lease unless `claim` is False.

        Raises:
            RigError: no response, two devices answer, or another host drives the rig.
        """
        try:
            self.client.open(claim=claim)
        except LinkError as error:
            raise RigError(f"rig {self.config.name}: {error}") from None
        self._driven = claim

    def lost(self, why: str) -> None:
        """Abandon the rig: a process that was started for it has ended. From any thread."""
        self._loss = why
        self._note("lost", {"error": why})
        self.client.abandon(why)
        if (on_loss := self._on_loss) is not None:
            on_loss()

    def on_loss(self, callback: Callable[[], None] | None) -> None:
        """Set the callback for the loss of the rig; it is called at once if the rig is lost already."""
        self._on_loss = callback
        if callback is not None and self._loss is not None:
            callback()

    def on_press(self, callback: Callable[[], None] | None) -> None:
        """Set what is called, on a thread of its own, when the rig's stop input is pressed."""
        self._on_press = callback

    def _on_status(self, status: Status) -> None:
        self.recorder.on_status(status, self.link.status_source)
        before, self.held = self.held, status.stop_input in HELD
        if self.held and not before:
            tell_terminal(f"rig {self.config.name}: {self._how_held(status)}")
            if self._on_press is not None:
                Thread(target=self._on_press, name="stop input", daemon=True).start()

    def _how_held(self, status: Status | None) -> str:
        pressed = status is not None and status.stop_input == "pressed"
        return (
            f"its stop input {'is' if pressed else 'was'} pressed. It stays stopped until the input is "
            f"released and a person runs: pathrig rigs reset {self.config.name}"
        )

    def reset_stop_input(self) -> None:
        """Forget that the rig's stop input was pressed; the rig stays stopped.

        Raises:
            RigError: it has none, it is pressed still, it did not answer, or its stop is not confirmed.
        """
        name = self.config.name
        with self._link_errors():
            self.client.estop()
            self.client.reset(stop_input=True)
            status = self.client.status
            stop = self.client.estop()
        if status is None or status.stop_input is None:
            raise RigError(f"rig {name} tells of no stop input")
        if status.stop_input == "pressed":
            raise RigError(f"rig {name}: its stop input is pressed: release it first")
        if status.stop_input in HELD:
            raise RigError(f"rig {name}: its stop input was not reset: the rig did not answer; try again")
        if stop is not StopOutcome.CONFIRMED:
            why = self.client.stop_error
            raise RigError(f"rig {name}: its stop input is reset, but its stop is not confirmed: {why}")

    @property
    def device_name(self) -> str | None:
        """The device type in the device's status."""
        status = self.client.status
        return None if status is None else status.device

    def record_to(self, episode: EpisodeLog | None, emit: Emit = ignore) -> None:
        """Record samples, truth and statuses to this episode from now on, or to none; clear `known`."""
        self.recorder.record_to(episode, emit)
        self._left_record, self.known = False, None

    def initialise(
        self,
        device: str,
        state: Mapping[str, Any],
        seed: int,
        *,
        required: bool,
        told: tuple[str, int] = ("", 0),
    ) -> bool:
        """Stop and reset the rig, and set a simulator's initial state; return whether it is a simulator.

        The program that its file names as `reset` is told the task and the episode's seed (`told`).

        Raises:
            RigError: the device is of another type, does not respond, or refuses the initial state, or the
                `reset` of its file failed.
        """
        name, stated = self.config.name, self.device_name
        own = device_of(self.config)
        known = stated in DEVICE_TYPES or (own is not None and own.name == stated)
        if known and stated != device:
            found = an(str(stated))
            raise RigError(f"rig {name} is {found}, and the task is for {an(device)}: name another rig")
        status = self.client.status
        if self.config.stop_input and (status is None or status.stop_input is None):
            raise RigError(f"rig {name}: its file says stop_input, and its status tells of none")
        if self.link.late_stop is not None:
            self._note("late stop", self.link.late_stop)
            self.link.late_stop = None
        with self._link_errors():
            # A host that was killed may have left a running call: the stop ends it.
            self.first_stop = self.client.estop()
            if self.first_stop is StopOutcome.NOT_SENT:
                raise RigError(f"rig {name}: the first stop was not sent: {self.client.stop_error}")
            if self.config.reset is not None:
                self._run_reset(self.config.reset, *told)
            self.client.reset()
            if self.held:
                raise RigError(f"rig {name}: {self._how_held(self.client.status)}")
            outcome = self._init_when_idle(state, seed)
        if outcome.status == CallStatus.OK:
            return True
        answer = outcome.message or outcome.code or outcome.status
        # Firmware without `init` may not answer it.
        physical = outcome.status == CallStatus.INVALID or outcome.code == "no_answer"
        if not physical or self.world is not None or outcome.code == "bad_state":
            raise RigError(f"rig {name} refused the initial state: {answer}")
        if required:
            raise RigError(f"rig {name} is no simulator, so leave out --init and --vary: {answer}")
        self._note("physical", {"answer": answer})
        return False

    def guard_chip(self, task: Task) -> None:
        """Load the task into the guard on the rig's chip, where its file asks for it.

        Raises:
            RigError: the task has no table, or the chip does not take it.
        """
        mode = self.config.chip_guard
        self._chip = None if mode is None else ChipGuard(task, mode)
        if self._chip is not None:
            self._note("chip guard", self._chip.load(self.client, self.config.chip_guard_key))

    def _run_reset(self, command: str, task: str, seed: int) -> None:
        from firmware_bridge.mcp.link import McpLink

        def prepare() -> None:
            end = run_program(command, task, seed)
            if end.status != 0:
                raise RigError(f"rig {self.config.name}: reset `{command}` failed: {end}")

        assert isinstance(self.link, McpLink), "checked by the loader"
        self.link.restart(prepare)

    def judge(self, task: str, seed: int) -> None:
        """Run the `check` of the rig's file, if it has one, and log whether the goal is met."""
        if self.config.check is not None:
            end = run_program(self.config.check, task, seed)
            state = {0: "goal met", 1: "goal not met"}.get(-1 if end.status is None else end.status)
            self._note(state or "goal not known", {"check": str(end)})

    def _init_when_idle(self, state: Mapping[str, Any], seed: int) -> Outcome:
        deadline = self._clock.now() + IDLE_SECONDS
        while True:
            outcome = self.client.init(state, seed)
            if outcome.code != "busy" or self._clock.now() > deadline:
                return outcome
            self._clock.sleep(0.05)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        call_id: str | None,
        *,
        within: float = math.inf,
        complete: Call | None = None,
    ) -> Outcome:
        """Make a call, and update `known` by its outcome. A link error or a timeout is a fault.

        After a stop that this host sent, and before its reset, a call is rejected here: a board that was
        reset meanwhile has forgotten the stop.

        Args:
            within: seconds until the call is given up, besides `call_timeout`.
            complete: the call with its default arguments, for `known`.
        """
        if self.client.rig.halted:
            return Outcome(CallStatus.REJECTED, code="estop", message="the rig is stopped; reset it first")
        # A stop may come from another thread here.
        outcome = self.client.call(
            tool, arguments, call_id=call_id, timeout=self.call_timeout, within=within, to_stopped=False
        )
        record = self.link.record
        if not self._left_record and record is not None and record.departure is not None:
            self._left_record = True
            self._note(LEFT_RECORD, {"call_id": call_id, "why": record.departure})
        if self.known is not None and complete is not None:
            self.known.on_outcome(complete.name, complete.arguments, outcome)
        if self._chip is not None:
            self._compare(self._chip.difference(tool, arguments, outcome), tool, call_id)
        return outcome

    def tell_chip(self, call: Call, call_id: str | None) -> None:
        """Tell the guard on the rig's chip, if there is one, of a call that was made without the rig."""
        if self._chip is not None:
            self._compare(self._chip.tell(self.client, call), call.name, call_id)

    def _compare(self, difference: str | None, tool: str, call_id: str | None) -> None:
        if difference is not None:
            self._loss = f"host and chip decide differently on {tool}: {difference}"
            self._note(CHIP_DIFFERS, {"call_id": call_id, "tool": tool, "how": difference})
            self.stop_now("chip guard")

    def require_answer(self) -> None:
        """Wait for the rig's response after a link fault, as the cable may be plugged in again.

        Raises:
            RigError: no response within `LINK_BACK_SECONDS`.
        """
        self.check()
        try:
            self.client.regain(LINK_BACK_SECONDS)
        except LinkError as error:
            self.check()
            self._note("lost", {"error": str(error)})
            raise RigError(f"rig {self.config.name}: the link is lost: {error}") from None

    def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait up to `seconds` until all that the device has sent is in the log, if the link can tell."""
        with suppress(LinkError):
            self.client.drain(seconds)

    def stop_now(self, by: str = "person") -> None:
        """Stop the rig during an episode or a call; `by` is logged. Never raises. From any thread."""
        self._stop({"by": by})

    def make_safe(self) -> StopOutcome:
        """Bring the rig to its safe state and return what is known of the stop. Never raises."""
        return self._stop({})

    def _stop(self, detail: dict[str, Any]) -> StopOutcome:
        # A driver asks its machine for longer than a person waits.
        done = Event()
        Thread(target=self._tell_unconfirmed, args=(done,), name="patience", daemon=True).start()
        try:
            stop = self.client.estop(STOP_SECONDS)
        finally:
            done.set()
        if stop is not StopOutcome.CONFIRMED:
            client = self.client
            detail |= {"error": client.stop_error, "can_confirm": client.confirms_stop}
            detail["motion"] = str(client.rig.state)
        self._note(f"stop {stop}", detail or None)
        return stop

    def _tell_unconfirmed(self, done: Event) -> None:
        if not self._clock.wait(done, STOP_SECONDS) and not self._told:
            self._told = True
            tell_terminal(
                f"RIG {self.config.name}: THE STOP IS NOT CONFIRMED AFTER {STOP_SECONDS:g} S. "
                "IT MAY STILL MOVE: USE ITS OWN STOP. Asking goes on."
            )

    def go_home(self) -> None:
        """Call the `home` tool of the rig's file, if it has one; for the end of a run without errors."""
        tool = self.config.home
        if tool is None:
            return
        with suppress(LinkError):
            if self.client.reset():
                self.client.call(tool, {}, timeout=min(self.call_timeout, HOME_SECONDS))

    def close(self, *, safe: bool = True) -> None:
        """Close the session; stop the rig first unless `safe` is False."""
        stop = self.client.close(safe=safe)
        if stop is not None and self._driven:
            client = self.client
            record_final_stop(
                FinalStop(
                    self.config.name, stop, client.confirms_stop, client.stop_error, client.late_stop_seconds
                )
            )

    def check(self) -> None:
        """Raise the error of a log write on the reader thread, or the reason for which the rig was lost.

        Raises:
            sqlite3.Error, RigError: see above.
        """
        if self.recorder.failure is not None:
            raise self.recorder.failure
        loss = self._loss or self.client.peer.conflict
        if loss is not None:
            raise RigError(f"rig {self.config.name}: {loss}")

    def _on_freeze(self, seconds: float) -> None:
        self._note("frozen", {"seconds": round(seconds, 2)})

    @contextmanager
    def _link_errors(self) -> Iterator[None]:
        try:
            yield
        except LinkError as error:
            raise RigError(f"rig {self.config.name}: {self._loss or error}") from None
