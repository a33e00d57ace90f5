"""The parts of a run, with a line for what is wrong with its tasks before anything starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from agents.agent import Agent
from core_eval.cli.output import warn_of_cycles
from core_eval.run.config import RunConfig
from core_eval.run.golden_check import failing_golden_runs
from core_eval.run.parts import Parts, load_parts


def checked_parts(config: RunConfig, agents: Mapping[str, Agent] | None = None) -> Parts:
    """Load the parts; say on stderr which automata have cycles, and where a golden path does not run."""
    parts = load_parts(config, agents)
    warn_of_cycles(task.automaton for task in parts.tasks.values())
    for rule in config.rules:
        for tool in rule.tools:
            if not any(tool in task.offered.by_name for task in parts.tasks.values()):
                print(
                    f"pathrig: warning: rule {rule.id}: no task of this run has the tool {tool}",
                    file=sys.stderr,
                )
    for failing in failing_golden_runs(config, parts):
        print(f"pathrig: warning: {failing}", file=sys.stderr)
    return parts
