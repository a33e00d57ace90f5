"""What every world of software shares: a state that tools change, a history, and harm found in both.

A world is a subclass of `SoftwareWorld` with a method for each tool, a model of its state, and a YAML file
with the initial one. `world_of` makes of them the `WorldType` that is registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from devices.device_type import DeviceType
from devices.faults import OUT_OF_ORDER, FaultKind, Faults
from devices.harm import HarmEvent, HarmRule
from devices.outcome import Refusal
from devices.sensors import SensorSpec
from devices.tool import Effect, ToolArguments, ToolResult
from sims.coarse_sensors import CoarseSensor
from sims.intervention import Intervention, by_name
from sims.overrides import WorldError
from sims.simulator import CallOptions, Simulator
from sims.software.flows import LEAST, Lot, Lots
from sims.software.lasting import Held, Lasting, Left, copied, get
from sims.software.remedies import NOT_DONE, Deed, History
from sims.software.tool_method import Mark, marks_of, tools_of
from sims.world_type import WorldType

FAULTS = (FaultKind(OUT_OF_ORDER, "the tool named by `entity` refuses every call"),)
"""Kinds of faults that a software world can have, beside those that every rig can have."""


class Part(BaseModel):
    """Base of each part of a state: no unknown keys, finite numbers."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class SoftwareState(Part):
    """Base of a software world's state: a subclass adds what the world is about."""

    sensors: dict[str, SensorSpec] = Field(description="what the monitoring page shows, by kind")
    faults: Faults = Faults()

    @field_validator("faults")
    @classmethod
    def _are_known(cls, faults: Faults) -> Faults:
        return faults.of_a("software world", FAULTS)


State = TypeVar("State", bound=SoftwareState)
Item = TypeVar("Item")


class SoftwareWorld(Simulator[State]):
    """Base of a software world.

    A tool is a method under `@read()` or `@write()`. It gets its typed arguments by name, works on
    `self.state`, and returns its result. A write works on a copy: where it raises a `Refusal`, or is stopped
    while its time passes, nothing has changed. All that changes stands in `self.state`; what was done, in
    `self.history`.
    """

    firmware = "pathrig software world 1"
    advice: ClassVar[str] = ""
    """A sentence to whoever operates it, which every model is told."""
    remedies: ClassVar[tuple[Intervention[Any], ...]] = ()
    """What rules name as remedies, besides `not_done` and `leave_out`."""
    lasting: ClassVar[tuple[Lasting, ...]] = ()
    """What must not be missing, or otherwise, for a while."""
    kept: ClassVar[tuple[str, ...]] = ("state", "history", "_standing", "_left", "_lots", "_held")
    marks: ClassVar[Mapping[str, Mark]] = {}
    state: State
    history: History
    call: CallOptions
    """The call that is running."""
    void = False
    """The call that is running shall count as not done: the remedy `not_done`."""
    prevented: HarmEvent | None = None
    """The event which that is to prevent."""
    _standing: dict[tuple[str, str], tuple[int, float]]
    _left: dict[tuple[int, str], list[Left]]
    _lots: Lots
    _held: list[Held]
    _harm: list[tuple[HarmRule, str, float]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" in vars(cls):
            cls.marks = marks_of(cls)
            text = " ".join(inspect.cleandoc(cls.__doc__ or "").split())
            cls.device_type = DeviceType(cls.name, text, tools_of(cls, cls.marks), cls.advice)
            cls.interventions = by_name([NOT_DONE, *cls.remedies])

    # What a world provides besides its tools.

    def page(self) -> Mapping[str, Callable[[], float]]:
        """What a monitoring page shows: quantities by `kind` or `kind.entity`; the state names the kinds."""
        return {}

    def breaches(self) -> Iterable[tuple[HarmRule, str, float]]:
        """The rules that the state breaks now: rule, entity, and severity in the rule's unit."""
        return ()

    def owner(self, holder: str) -> str:
        """Whose holder (of a flow) it is; what is passed on between holders of one owner is no harm."""
        return holder

    def give(self, holder: str, amount: float) -> None:
        """Add to what a holder of flows has."""

    # What its tools use.

    @property
    def now(self) -> float:
        """Device time at which the running call began, s."""
        return self.clock.now

    def check(self, holds: bool, code: str, message: str) -> None:
        """Refuse the call unless this holds; a counterfactual, which keeps recorded effects, goes on."""
        if not (holds or self.call.forced):
            raise Refusal(code, message)

    def check_order(self, tool: str) -> None:
        """Refuse a call of a tool that is out of order."""
        works = self.faults.strength(OUT_OF_ORDER, tool) == 0.0
        self.check(works, OUT_OF_ORDER, f"{tool} is out of order. Other tools may work.")

    def found(self, items: Mapping[str, Item], name: str, what: str) -> Item:
        """The item of that name; the call is refused (code `not_found`) where there is none."""
        if name not in items:
            there = ", ".join(items) or "none"
            raise Refusal("not_found", f"There is no {what} {name!r}. There are: {there}.")
        return items[name]

    def harm(self, rule: HarmRule, entity: str, severity: float = 1.0) -> None:
        """The running call does this harm, at its end and at once, if it is carried out."""
        self._harm.append((rule, entity, severity))

    def new_id(self, prefix: str) -> str:
        """A name for what the running call makes; the same in every counterfactual."""
        return f"{prefix}-{self.call.index + 1}"

    # The simulator.

    def begin(self) -> None:
        """The initial state, and no history."""
        tools = self.device_type.by_name
        for tool in sorted(self.world.faults.entities_of(OUT_OF_ORDER) - tools.keys()):
            raise WorldError(f"faults: there is no tool {tool!r}; there are {', '.join(tools)}")
        self.state = self.world.model_copy(deep=True)
        self.history = History()
        self._left, self._lots, self._held = {}, Lots(), []
        try:
            self._standing = {(rule.kind, entity): (-1, 0.0) for rule, entity, _ in self.breaches()}
        except Refusal as refusal:
            # A part of the state names another one that is not there.
            raise WorldError(refusal.message) from None

    def make_safe(self) -> None:
        """Nothing moves by itself: after a stop it only refuses calls."""

    def evolve(self, seconds: float) -> None:
        """What the state breaks goes on; what it broke at the beginning is no call's doing."""
        now = self.clock.now
        for (kind, entity), (call, severity) in self._standing.items():
            if call >= 0:
                self.ledger.note(kind, entity, call, now, now + seconds, severity, severity * seconds)

    def coarse_sensors(self) -> list[CoarseSensor]:
        """The quantities of the page whose kind the state specifies."""
        specs = self.world.sensors
        return [
            CoarseSensor(name, specs[kind], quantity)
            for name, quantity in self.page().items()
            if (kind := name.split(".")[0]) in specs
        ]

    def state_dict(self) -> dict[str, Any]:
        """The state, without what does not change."""
        return self.state.model_dump(mode="json", exclude={"sensors", "faults"})

    def _copied(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        return copied(dict(parts))

    def coarse_state(self) -> dict[str, Any]:
        """The state: a check of the end state reads the whole data base."""
        return self.state_dict()

    def work_of(self, tool: str) -> Callable[[ToolArguments, CallOptions], ToolResult]:
        """The work of a tool: its method, its time, and what the history and the rules make of it."""
        return lambda typed, call: self._carry_out(tool, typed, call)

    def _carry_out(self, tool: str, typed: ToolArguments, call: CallOptions) -> ToolResult:
        mark = self.marks[tool]
        self.call, self._harm = call, []
        self.check_order(tool)
        arguments = {name: getattr(typed, name) for name in type(typed).model_fields}
        undos = {name: one.undone_by for name, one in self.marks.items()}
        undone = self.history.undone_by(tool, arguments, undos)
        before, result = self.state, ToolResult()
        after, touched = before, False
        if undone is None or not undone.void:
            writes = mark.effect is not Effect.READ
            if writes and self._held:
                result, after = self._run(mark, arguments, before, as_recorded=True)
                touched = True in [held.touched_in(after) for held in self._held]
            if not touched:
                result, after = self._run(mark, arguments, before)
        self.pass_time(mark.seconds)
        deed = Deed(call.index, self.clock.now, tool, {**arguments, **result.model_dump()}, self.void)
        if undone is not None:
            undone.undone, deed.undoes, deed.void = deed.t, True, deed.void or undone.void
        self.history.deeds.append(deed)
        if self.prevented is not None:
            kept = self._hold(mark, deed, before, after, self.prevented)
            touched, deed.void = kept, not kept
        if deed.void:
            return ToolResult()
        self.state = after
        if touched:
            self._held = [held for held in self._held if held.keep_in(after)]
        if mark.flow is not None and self._move(mark, deed):
            touched = True
        if undone is not None:
            self._taken_back(undone)
        for rule, entity, severity in self._harm:
            self.ledger.note(rule.kind, entity, call.index, deed.t, deed.t, severity, 0.0)
            self.ledger.over(rule.kind, entity)
        if mark.effect is not Effect.READ:
            self._look_for_returns(mark, deed, before)
            self._look_at_state(call.index)
        # What a counterfactual does otherwise has no answer.
        return ToolResult() if touched else result

    def _run(
        self, mark: Mark, arguments: Mapping[str, Any], state: State, *, as_recorded: bool = False
    ) -> tuple[ToolResult, State]:
        """What a tool's method makes of a state: its result, and the state afterwards."""
        self._harm = []
        before = self.state
        if mark.effect is not Effect.READ:
            self.state = copied(state)
        for held in self._held if as_recorded else ():
            held.as_recorded(self.state)
        try:
            return getattr(self, mark.method)(**arguments), self.state
        except (LookupError, ValueError, ArithmeticError) as error:
            if not self.call.forced:
                raise
            # What it worked on is not there in this counterfactual.
            raise Refusal("impossible", "The call cannot be done in this state.") from error
        finally:
            self.state = before

    def _hold(self, mark: Mark, deed: Deed, before: State, after: State, event: HarmEvent) -> bool:
        """Keep what the call changes for a while as it was; return whether that prevents the event."""
        for lasting in self.lasting:
            for name, old, _ in lasting.changes(before, after):
                if (lasting.rule.kind, name) == (event.kind, event.entity) and old is not None:
                    item = get(before, lasting.items, name)
                    self._held.append(Held(lasting, name, old, item, get(after, lasting.items, name)))
                    return True
        lot = self._lot(mark, deed)
        return lot is not None and lot.hold(event.kind, event.severity)

    def _lot(self, mark: Mark, deed: Deed) -> Lot | None:
        """What a call moves between two holders."""
        if (flow := mark.flow) is None:
            return None
        source, target = (str(deed.parts.get(name, name)) for name in (flow.source, flow.target))
        entity = source if flow.source in deed.parts else target
        amount = float(deed.parts[mark.amount])
        return Lot(flow, source, target, amount, deed.call, deed.t, entity, left=amount)

    def _move(self, mark: Mark, deed: Deed) -> bool:
        """Enter what a call moves; return whether a counterfactual moves less, or from somebody else."""
        lot = self._lot(mark, deed)
        if lot is None:
            return False
        returns = self._lots.move(lot, self.owner)
        if sum(one.amount + one.held for one in returns) > lot.amount - LEAST:
            # It only gives back, or on, which is no payment of its own.
            self._harm = []
        if self.prevented is not None and lot.hold(self.prevented.kind, self.prevented.severity):
            self._shift(mark, deed, lot, lot.target, lot.held)
        for one in returns:
            if one.amount > LEAST:
                key, since = (one.rule.kind, one.entity), one.lot.t
                if one.lot.back == one.amount:
                    self.ledger.over(*key)
                exposure = one.amount * (deed.t - since)
                self.ledger.note(*key, one.lot.call, since, deed.t, one.lot.back, exposure)
            if one.held:
                self._shift(mark, deed, lot, one.lot.source, one.held)
        return lot.held > 0.0 or any(one.held for one in returns)

    def _shift(self, mark: Mark, deed: Deed, lot: Lot, payer: str, amount: float) -> None:
        """The source has not moved that much of a lot; the one whom it would have been from has."""
        self.give(lot.source, amount)
        self.give(payer, -amount)
        less = {mark.amount: deed.parts[mark.amount] - amount}
        change = less if payer == lot.target else {lot.flow.source: payer}
        deed.parts = {**deed.parts, **change}

    def _look_for_returns(self, mark: Mark, deed: Deed, before: State) -> None:
        """What was away, or otherwise, and is as it was again, was harm meanwhile."""
        severity = float(deed.parts.get(mark.amount, 1.0))
        for at, lasting in enumerate(self.lasting):
            for name, old, new in lasting.changes(before, self.state):
                left = self._left.setdefault((at, name), [])
                values = [one.value for one in left]
                if new not in values:
                    item = get(before, lasting.items, name)
                    left.append(Left(old, item, deed.call, deed.t, severity))
                    continue
                one = left[values.index(new)]
                del left[values.index(new) :]
                if new is not None and not lasting.is_renamed(one.item, name, self.state):
                    self._was_harm(lasting.rule, name, one.call, one.t, one.severity)

    def _taken_back(self, deed: Deed) -> None:
        """A deed was harm from its end until now, if a rule says so."""
        mark = self.marks[deed.tool]
        if mark.taken_back is not None:
            entity = str(deed.parts.get(mark.entity, deed.tool))
            severity = float(deed.parts[mark.amount]) if mark.amount else 1.0
            self._was_harm(mark.taken_back, entity, deed.call, deed.t, severity)

    def _was_harm(self, rule: HarmRule, entity: str, call: int, since: float, severity: float) -> None:
        """What a call did was harm from its end until now."""
        now = self.clock.now
        self.ledger.over(rule.kind, entity)
        self.ledger.note(rule.kind, entity, call, since, now, severity, severity * (now - since))
        self.ledger.over(rule.kind, entity)

    def _look_at_state(self, call: int) -> None:
        """What the state breaks since this call, it answers for; what it broke before stays its causer's."""
        now, standing = self.clock.now, self._standing
        self._standing = {}
        for rule, entity, severity in self.breaches():
            key = rule.kind, entity
            cause, _ = standing.get(key, (call, 0.0))
            self._standing[key] = cause, severity
            if cause >= 0:
                self.ledger.note(*key, cause, now, now, severity, 0.0)
        for key in standing.keys() - self._standing.keys():
            self.ledger.over(*key)


def world_of(
    world: type[SoftwareWorld[Any]],
    state: type[SoftwareState],
    *,
    aliases: tuple[str, ...] = (),
    tasks: Path | None = None,
    defaults: Path | None = None,
    version: int = 1,
) -> WorldType:
    """The world type of a software world.

    Args:
        world: the class with the tools.
        state: the model of its state.
        aliases: other names of it.
        tasks: a folder of task files that come with it.
        defaults: the file of its initial state; left out: the one of its module's name beside it.
        version: raised when the keys of the state change, or what calls answer.
    """
    return WorldType(
        name=world.name,
        device=world.device_type,
        state=state,
        defaults=defaults or Path(inspect.getfile(world)).with_suffix(".yaml"),
        simulator=world,
        harm_rules=world.harm_rules,
        interventions=world.interventions,
        aliases=aliases,
        tasks=tasks,
        faults=FAULTS,
        version=version,
    )
