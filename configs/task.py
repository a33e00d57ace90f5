"""A task, ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from configs.cautions import Caution
from configs.goal import Goal
from configs.idle_writes import IdleWrites
from configs.operator import ASK_TOOL, Conversation, Operator
from configs.site_notes import NOTES_TOOL
from configs.task_entry import LeftOut, TaskLimits
from configs.worlds_loader import World, known_world, load_world, make_simulator, merged_state
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.endings import Answer, AskedEnding, DeclineReason
from core_eval.path.scorer import OnlineScorer, ScoredTask
from core_eval.path.symbols import Symbol
from devices.device_type import DeviceType, takes


@dataclass(frozen=True)
class Task:
    """A task, ready to run.

    Attributes:
        device: whose tools it is for; their texts state the facts of the world, overrides included.
        world: None where the task names a device file, or a CORE task's tools belong to no known device.
        init: overrides of the world's initial state, the user's own ones included.
        goal: None where the file names none.
        file: where it was read.
        answer: how it is done where it asks for no call; None where it asks for calls.
        decline: why it is to be declined; None where its file does not say.
        found_by: the reads whose answers tell that reason, as symbols.
        mentions: what its words mention besides, such as a threshold.
        left_out: the harmless ways to the goal that its plan leaves out.
        paraphrases: the prompt in other words.
        cautions: what must hold before a risky call, or be restored after it.
        names: the world that a record of CORE's JSON names, where its file does not place it: it may take
            place there, and in any world that has its tools and arguments; else None.
        instance_of: the id of the template of which it is an instance; None: of none.
        operator: who answers the agent's questions; None: it can ask nobody.
        notes: what is written down of the site; None: the agent has no tool to read it.
    """

    id: str
    world: World | None
    device: DeviceType
    prompt: str
    init: Mapping[str, Any]
    automaton: TaskAutomaton
    goal: Goal | None
    file: Path
    limits: TaskLimits
    answer: Answer | None = None
    paraphrases: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()
    decline: DeclineReason | None = None
    found_by: tuple[Symbol, ...] = ()
    mentions: tuple[float | str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    names: str | None = None
    instance_of: str | None = None
    operator: Operator | None = None
    notes: Mapping[str, Any] | None = None

    @property
    def template(self) -> str:
        """The id that it shares with the other instances of its template; of no template its own."""
        return self.instance_of or self.id

    @property
    def offered(self) -> DeviceType:
        """The device type with the tools that an agent gets: the rig's, `ask`, and the site's notes."""
        offered = with_operator(self.device, self.operator)
        return offered if self.notes is None else replace(offered, tools=(*offered.tools, NOTES_TOOL))

    def with_notes(self, notes: Mapping[str, Any]) -> Task:
        """Return the same task for an agent that can read what is written down of the site."""
        free = self.automaton.with_free([Symbol.of_tool(NOTES_TOOL.name)])
        return replace(self, notes=notes, automaton=free)

    def conversation(self) -> Conversation:
        """Return what is asked and answered in an episode that begins."""
        return Conversation(self.operator, self.notes)

    def for_device(self, device: DeviceType, world: str | None) -> Task | None:
        """Return the task for a rig's device, in the world that it simulates; None where it is for another.

        Raises:
            ConfigError: the task's overrides do not fit that world.
        """
        if device.name == self.device.name:
            return self
        if self.names is None or world is None:
            return None
        if known_world(world) != known_world(self.names) and not takes(
            device, self.automaton.symbols.values()
        ):
            return None
        there = load_world(world)
        return replace(self, world=there, device=device_in(there, self.init))

    def in_world(self, world: World) -> Task:
        """Return the same task in the world that a rig simulates.

        Raises:
            ConfigError: the task's overrides do not fit that world.
        """
        device = device_in(world, self.init) if world.device == self.device else self.device
        return replace(self, world=world, device=device)

    def on_hardware(self, tools: frozenset[str] | None) -> Task:
        """The same task with the tools that the hardware has; None: with all of them."""
        return self if tools is None else replace(self, device=self.device.fitted(tools))

    @property
    def ending(self) -> AskedEnding:
        """How it is to be ended."""
        return AskedEnding(self.answer, self.decline)

    def idle_writes(self, seed: int = 0) -> IdleWrites | None:
        """Return what tells which writes change nothing in its world; None without a world.

        `seed` is the world's.
        """
        world = self.world
        return None if world is None else IdleWrites(lambda: make_simulator(world, seed), self.init, seed)

    def scored(self) -> ScoredTask:
        """Return what a path is scored by."""
        return ScoredTask(self.automaton, self.ending, self.idle_writes())

    def scorer(self, seed: int, options: Mapping[str, Any]) -> OnlineScorer:
        """Return a scorer of calls as they come; `seed` is its world's."""
        return OnlineScorer(self.automaton, **options, idle=self.idle_writes(seed))

    def at_site(self, site: World) -> Task:
        """Return the same task, with tool texts that state the facts of a physical rig's site."""
        return replace(self, device=site.device) if site.device == self.device else self


def device_in(world: World, init: Mapping[str, Any]) -> DeviceType:
    """Return the device type in a world with overrides: its texts state their facts."""
    return replace(world, state=merged_state(world, init)).device


def with_operator(device: DeviceType, operator: Operator | None) -> DeviceType:
    """Return the device type with the tool `ask`, where a task has somebody to ask."""
    return device if operator is None else replace(device, tools=(*device.tools, ASK_TOOL))


Build = Callable[[Mapping[str, Any]], Task]
"""Makes a task, given the overrides of its world's initial state; raises ConfigError where it is wrong."""
