"""The file of `pathrig serve`: which runs go on which rigs, and when; what becomes of their logs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from agents.agent import AgentSpecError
from agents.registry import parse_spec
from configs.errors import ConfigError, at
from configs.rigs_loader import load_rig
from configs.suites import read_suite
from configs.tasks_loader import load_task
from configs.yaml_file import load_yaml
from devices.models import FrozenModel
from firmware_bridge.guard import GuardMode
from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.address import MqttAddress, parse_mqtt_url, without_password

DAY = 86400.0
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": DAY}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def _seconds(value: Any) -> Any:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"{value!r}: write a number and s, min, h or d, as in 30min")
    return float(match[1]) * _UNITS[match[2]]


def _minutes(value: Any) -> Any:
    # YAML reads an unquoted 18:30 as 18 * 60 + 30.
    if isinstance(value, int) and 0 <= value < 24 * 60:
        return value
    match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r}: write a time of the day, as in 06:30")
    return int(match[1]) * 60 + int(match[2])


Duration = Annotated[float, BeforeValidator(_seconds)]
"""Seconds, written as 90s, 30min, 6h, 2d."""
AfterCut = Literal["leave", "rest", "repeat"]
ClockTime = Annotated[int, BeforeValidator(_minutes)]
"""Minutes after midnight, local time, written as HH:MM."""


class Entry(FrozenModel):
    """One line of the schedule: a plan, and when it is run. Beside `at` or `every` the options of `run`."""

    name: str = Field(pattern=r"^[\w.-]+$", description="what the status calls it")
    every: Duration | None = Field(default=None, description="first at the start, then in this interval")
    at: tuple[ClockTime, ...] = Field(default=(), description="times of each day, HH:MM, local time")
    rigs: tuple[str, ...] = Field(default=(), description="some of the file's rigs; left out: all")
    tasks: tuple[str, ...] = Field(default=(), description="as `--task`")
    suites: tuple[str, ...] = Field(default=(), description="as `--suite`")
    agents: tuple[str, ...] = Field(min_length=1, description="as `--agent`")
    set: tuple[str, ...] = Field(default=(), description="as `--set`")
    episodes: int = Field(default=1, ge=1, description="of each task and agent")
    seed: int | None = Field(default=None, description="of the first episode; null: the start's UTC second")
    vary: bool = Field(default=False, description="as `--vary`")
    hazards: bool = Field(default=False, description="as `--hazards`")
    retries: int = Field(default=0, ge=0, description="as `--retries`")
    guard: GuardMode | None = Field(default=None, description="as `--guard`")
    rules: str | None = Field(default=None, description="as `--rules`")
    safe_tools: tuple[str, ...] = Field(default=(), description="as `--safe-tool`")
    durable: bool = Field(default=False, description="as `--durable`")
    after_cut: AfterCut | None = Field(
        default=None,
        description="of a run that a power cut, or the end of the service, cut off: `repeat` goes on with "
        "the cut episode from its start, `rest` with the next one, `leave` runs nothing of it; null: "
        "`repeat` on simulators that a run starts itself, else `leave`",
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.every is None) == (not self.at):
            raise ValueError("give every or at, one of them")
        if not (self.tasks or self.suites):
            raise ValueError("give tasks or suites")
        if self.guard is GuardMode.CONFIRM:
            raise ConfigError("nobody is asked in a service: give block or estop", at=("guard",))
        if self.after_cut == "rest" and not self.durable:
            raise ConfigError(
                "after_cut: rest needs durable: true, as a power cut may lose the last seconds of a log",
                at=("durable",),
            )
        return self

    def resumed(self, repeat: bool) -> list[str]:
        """Return the arguments of `pathrig run` that go on with a cut run, without rig and log."""
        words = ["--resume" if repeat else "--resume-rest", *(["--durable"] if self.durable else [])]
        return words + [f"--safe-tool={tool}" for tool in self.safe_tools]

    def options(self, seed: int) -> list[str]:
        """Return the arguments of `pathrig run`, without rig and log."""
        named = {
            "task": self.tasks,
            "suite": self.suites,
            "agent": self.agents,
            "set": self.set,
            "safe-tool": self.safe_tools,
        }
        words = [f"--{key}={value}" for key, values in named.items() for value in values]
        words += [f"--episodes={self.episodes}", f"--seed={seed if self.seed is None else self.seed}"]
        words += [f"--retries={self.retries}", "--no-floors"]
        words += [] if self.guard is None else [f"--guard={self.guard}"]
        words += [] if self.rules is None else [f"--rules={self.rules}"]
        return words + [f"--{key}" for key in ("vary", "hazards", "durable") if getattr(self, key)]


class Keep(FrozenModel):
    """How long the logs of a day are kept; the day that is written, and what is unsent, always are."""

    days: int | None = Field(default=None, ge=1, description="null: for ever")
    megabytes: int | None = Field(default=None, ge=1, description="of all logs; the oldest go first")


class Backup(FrozenModel):
    """Copies of the logs of days that are over."""

    folder: str = Field(description="where to; on another disk")
    days: int | None = Field(default=None, ge=1, description="how long they are kept; null: for ever")


class Collector(FrozenModel):
    """The broker through which finished episodes go to a collector."""

    url: str = Field(description="mqtt://[user@]host[:port] or mqtts://..., without a rig")
    site: str = Field(pattern=r"^[\w.-]+$", description="the name of this machine's logs there")
    every: Duration = Field(default=300.0, description="how often what is left is tried again")


class Collect(FrozenModel):
    """Makes this service a collector: it stores what others send."""

    url: str = Field(description="the broker: mqtt://[user@]host[:port]")


class ServeFile(FrozenModel):
    """The keys of the file."""

    folder: str = Field(default="serve", description="logs and status; relative to the file")
    rigs: tuple[str, ...] = Field(default=(), description="names, YAML files or URLs")
    at_once: int = Field(default=4, ge=1, description="rigs that work at the same time, at most")
    ask_again: Duration = Field(
        default=600.0, description="a rig that did not answer is asked again after this"
    )
    longest: Duration = Field(default=DAY, description="a run that takes longer is stopped")
    schedule: tuple[Entry, ...] = Field(default=(), description="the plans")
    keep: Keep = Field(default=Keep(), description="how long logs are kept")
    backup: Backup | None = Field(default=None, description="copies of logs")
    collector: Collector | None = Field(default=None, description="where finished episodes are sent")
    collect: Collect | None = Field(default=None, description="store what others send")

    @model_validator(mode="after")
    def _has_work(self) -> Self:
        if not self.schedule and self.collect is None:
            raise ValueError("has nothing to do: give schedule, or collect")
        if self.schedule and not self.rigs:
            raise ValueError("give rigs for the schedule")
        for key, names in (("rigs", self.rigs), ("schedule", [one.name for one in self.schedule])):
            for name in names:
                if list(names).count(name) > 1:
                    raise ConfigError(f"{name!r} is there twice", at=(key,))
        for place, entry in enumerate(self.schedule):
            for rig in entry.rigs:
                if rig not in self.rigs:
                    raise ConfigError(f"{rig!r} is none of the file's rigs", at=("schedule", str(place)))
        return self


def broker_of(url: str) -> MqttAddress:
    """Return the address of a collector's broker.

    Raises:
        LinkError: the URL is wrong, or names a rig.
    """
    address = parse_mqtt_url(url)
    if address.rig:
        raise LinkError(f"a collector's broker has no rig: leave out /{address.rig}")
    return address


class Schedule:
    """A read file: its keys, and its rigs by the names of their folders.

    Attributes:
        path: the file.
        keys: what it says, files found beside it.
        folder: of logs and status.
        rigs: reference and whether it has to be asked first, by name.
    """

    def __init__(self, path: Path) -> None:
        """Read and check a file.

        Raises:
            ConfigError: it, or what it names, is wrong.
        """
        self.path = path
        file = load_yaml(path)
        self.keys = file.validate(ServeFile)
        self.folder = path.parent / self.keys.folder
        self.rigs: dict[str, tuple[str, bool]] = {}
        self._names: dict[str, str] = {}
        for place, ref in enumerate(self.keys.rigs):
            with file.at("rigs", place):
                where = self._beside(ref)
                config = load_rig(where)
                name = re.sub(r"[^\w.-]+", "_", without_password(config.name)).strip("_.")
                if name in self.rigs:
                    raise ConfigError(f"two rigs are called {name}: give one another name")
            self._names[ref] = name
            self.rigs[name] = where, not (config.in_process or config.spawn)
        for place, entry in enumerate(self.keys.schedule):
            with file.at("schedule", place):
                self._check(entry)
        for key in ("collector", "collect"):
            if (broker := getattr(self.keys, key)) is not None:
                try:
                    broker_of(broker.url)
                except LinkError as error:
                    raise file.error(str(error), key, "url") from None

    def _check(self, entry: Entry) -> None:
        for key, refs, load in (("tasks", entry.tasks, load_task), ("suites", entry.suites, read_suite)):
            with at(key):
                for ref in refs:
                    load(self._beside(ref))
        with at("agents"):
            for spec in entry.agents:
                try:
                    parse_spec(spec)
                except AgentSpecError as error:
                    raise ConfigError(str(error)) from None

    def _beside(self, ref: str) -> str:
        """Return the path of what lies beside the file, else the reference itself."""
        beside = self.path.absolute().parent / ref.partition("#")[0]
        return str(self.path.absolute().parent / ref) if beside.is_file() else ref

    def work(self, entry: Entry) -> Iterator[str]:
        """Return the names of the rigs that an entry is for."""
        yield from (self._names[ref] for ref in entry.rigs or self.keys.rigs)

    def options(self, entry: Entry, seed: int) -> list[str]:
        """Return the arguments of `pathrig run` for an entry, files found beside the schedule."""
        found = {
            "tasks": tuple(map(self._beside, entry.tasks)),
            "suites": tuple(map(self._beside, entry.suites)),
            "rules": None if entry.rules is None else self._beside(entry.rules),
        }
        return entry.model_copy(update=found).options(seed)


def next_start(entry: Entry, after: float, last: float | None) -> float:
    """Return when an entry is due next, s since the epoch; intervals that were missed are left out.

    Args:
        entry: the entry.
        after: now, s since the epoch.
        last: when it was due before; None: never.
    """
    if entry.every is not None:
        if last is None:
            return after
        return last + entry.every * max(1, int((after - last) / entry.every) + 1)
    today = time.localtime(after)
    # mktime finds the day's own offset: times of the night in which the clock changes, too.
    days = [(today.tm_year, today.tm_mon, today.tm_mday + days) for days in (0, 1, 2)]
    times = [time.mktime((*day, 0, minutes, 0, 0, 0, -1)) for day in days for minutes in sorted(entry.at)]
    return min(one for one in times if one > after)


def schedule_of(name: str) -> Schedule | None:
    """Return the schedule of a file of `pathrig serve`; None where the name is none of such a file.

    Raises:
        ConfigError: it is, and something in it is wrong.
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml") or not path.is_file() or "schedule" not in load_yaml(path).data:
        return None
    return Schedule(path)
