"""The configuration of a run; the log keeps it so that an interrupted run can be resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agents.names import agent_names
from agents.registry import parse_spec
from configs.exam import ExamTaken
from configs.suite_manifest import MeasuredSuite
from configs.task_entry import TaskLimits
from core_eval.rules.rule_file import Rule
from core_eval.text.streams import STREAMS
from firmware_bridge.guard import GuardMode
from firmware_bridge.mqtt import address as mqtt_address

HIDDEN = f":{mqtt_address.HIDDEN}@"


Place = tuple[str, str]
"""A task and its rig."""


class Cell(BaseModel):
    """One task on one rig with one agent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    rig: str
    agent: str


class RunConfig(BaseModel):
    """A run: every cell, `episodes` times, the i-th with seed `seed + i`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cells: tuple[Cell, ...] = Field(min_length=1)
    episodes: int = Field(default=1, ge=1)
    seed: int = 0
    streams: int = Field(default=STREAMS, ge=1, le=STREAMS, description="version of the random streams")
    init: dict[str, Any] | None = Field(default=None, description="overrides that --init gave")
    vary: bool = Field(default=False, description="each task's initial state is drawn by its seed")
    hazards: bool = Field(default=False, description="each episode begins with hazards drawn by its seed")
    guard: GuardMode | None = None
    safe_tools: tuple[str, ...] = Field(
        default=(), exclude=True, description="named by the command line alone, so not in the log"
    )
    beta: float = Field(default=0.5, gt=0, le=1)
    lam: float = Field(default=0.5, ge=0, le=1)
    faults_are_harm: bool = False
    rules: tuple[Rule, ...] = Field(default=(), exclude=True, description="that the calls must keep")
    limits: TaskLimits = Field(default=TaskLimits(), description="in place of the tasks' limits")
    call_timeout: float = Field(default=120.0, gt=0, description="seconds until a call is a fault")
    keep_going: bool | None = Field(
        default=None, description="go on after an agent's failure; null: with several agents"
    )

    retries: int = Field(default=0, ge=0, description="further tries of a disturbed episode")
    suites: tuple[MeasuredSuite, ...] = Field(default=(), description="what its tasks are of, by hash")
    exam: ExamTaken | None = Field(default=None, description="what its agents have alike")
    floors: tuple[str, ...] = Field(default=(), description="agents that are baselines, which no gate judges")

    @property
    def draws(self) -> bool:
        """Whether the initial states are drawn."""
        return self.vary or self.hazards

    @property
    def names(self) -> dict[str, str]:
        """The agents' names by their specifications."""
        return agent_names(cell.agent for cell in self.cells)

    @property
    def keeps_going(self) -> bool:
        """Whether an agent's failure ends its own episodes alone."""
        return len({cell.agent for cell in self.cells}) > 1 if self.keep_going is None else self.keep_going

    @property
    def scoring(self) -> dict[str, Any]:
        """The options of `score_path`."""
        return {"beta": self.beta, "lam": self.lam, "faults_are_harm": self.faults_are_harm}

    @classmethod
    def from_log(cls, config: Mapping[str, Any]) -> RunConfig:
        """Return the configuration of a logged run.

        Raises:
            ValidationError: it is none that this version knows.
        """
        return cls.model_validate({"streams": 1, **config})

    def canonical(self) -> RunConfig:
        """Return the run with its agents' specifications in canonical form, models' files read.

        Raises:
            AgentSpecError, ConfigError: a specification or a model's file is invalid.
        """
        cells = [cell.model_copy(update={"agent": parse_spec(cell.agent).text()}) for cell in self.cells]
        return self.model_copy(update={"cells": tuple(cells)})

    def for_the_log(self) -> dict[str, Any]:
        """Return JSON values, without the passwords in rigs' URLs."""
        config = self.model_dump(mode="json")
        if self.rules:
            config["rules"] = [
                rule.model_dump(mode="json", exclude_none=True, exclude={"review"}, by_alias=True)
                for rule in self.rules
            ]
        for cell in config["cells"]:
            cell["rig"] = mqtt_address.without_password(cell["rig"])
        return config

    def with_rigs(self, rigs: Sequence[str]) -> RunConfig:
        """Return a logged configuration with these rigs' URLs in place of URLs without their password.

        Raises:
            ValueError: a password is missing, and none of the rigs has it.
        """
        whole = {mqtt_address.without_password(rig): rig for rig in rigs}
        hidden = {cell.rig for cell in self.cells if HIDDEN in cell.rig}
        if len(rigs) == len(hidden) == 1:
            # It may have moved.
            whole = dict.fromkeys(hidden, rigs[0])
        if missing := sorted(hidden - whole.keys()):
            raise ValueError(
                f"the log holds no passwords: give the URL of {', '.join(missing)} again with --rig"
            )
        cells = [
            cell.model_copy(update={"rig": whole[cell.rig]}) if cell.rig in hidden else cell
            for cell in self.cells
        ]
        return self.model_copy(update={"cells": tuple(cells)})

    def plan(self) -> list[tuple[int, Cell, int]]:
        """Return number in the run, cell and seed of every episode."""
        return [
            (number * self.episodes + index, cell, self.seed + index)
            for number, cell in enumerate(self.cells)
            for index in range(self.episodes)
        ]
