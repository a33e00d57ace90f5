"""`pathrig doctor`: whether this machine and its rigs are fit for a long run, and what to do where not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from agents.agent import AgentSpecError
from agents.backends.gguf_facts import memory_needed
from agents.backends.llama_backend import CONTEXT, SHIPPED_MODEL
from agents.registry import parse_spec
from configs.meter_config import MeterConfig
from configs.rig_config import RigConfig
from configs.rigs_loader import load_rig
from core_eval.cli.output import Json, console, print_json
from core_eval.cli.programs import AllowPrograms
from core_eval.report.tables.fitted_table import Table
from core_eval.rig.check import check_rig
from core_eval.rig.host_check import Host, HostFinding, check_host, check_memory
from core_eval.rig.signals import StopSignals
from core_eval.serve.serve_file import schedule_of

STYLE = {"ok": "green", "warning": "yellow", "fault": "bold red"}


def doctor(
    rig: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RIG|SERVE.yaml...",
            help="Rigs by name, YAML file or URL; a file of `serve` stands for all its rigs.",
        ),
    ] = None,
    agent: Annotated[
        str, typer.Option(metavar="SPEC", help="The agent, whose model has to fit into the memory.")
    ] = "llama",
    folder: Annotated[Path, typer.Option(help="Where the logs are to be.")] = Path(),
    json: Json = False,
    allow_programs: AllowPrograms = False,
) -> int:
    """Check this machine, and rigs, before a long run. Nothing moves and nothing is changed.

    Exits with 1 if there is a fault.
    """
    host = Host(folder=folder.absolute())
    with StopSignals() as signals, signals.interruptible():
        findings = check_host(host)
        findings += _model(host, agent)
        for one in rig or []:
            schedule = schedule_of(one)
            refs = [one] if schedule is None else [ref for ref, _ in schedule.rigs.values()]
            configs = [load_rig(ref) for ref in refs]
            findings += [finding for config in configs for finding in _rig(config)]
            meters = dict.fromkeys(config.meter for config in configs if config.meter is not None)
            findings += [_meter(meter) for meter in meters]
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        table = Table("check", "", "finding")
        for finding in findings:
            weight = Text(finding.weight, style=STYLE[finding.weight])
            table.add_row(finding.check, weight, Text(finding.text))
        console().print(table)
    return 1 if any(finding.weight == "fault" for finding in findings) else 0


def _model(host: Host, agent: str) -> list[HostFinding]:
    spec = parse_spec(agent)
    if spec.name != "llama" or spec.options is None:
        return []
    path = SHIPPED_MODEL if spec.rest is None else Path(spec.rest)
    try:
        needed = memory_needed(path, spec.options.n_ctx or CONTEXT, spec.options.kv_type or "q8_0")
    except AgentSpecError as error:
        # That llama.cpp is missing has been told with the GPU.
        missing = host.offload() is None
        return [] if missing else [HostFinding("memory", "fault", str(error))]
    return [check_memory(host, needed, path.name)]


def _meter(config: MeterConfig) -> HostFinding:
    # It needs the wires of the drivers.
    from core_eval.run.rig_meter import rig_meter

    try:
        return HostFinding("meter", "ok", f"{config.name} reads {rig_meter(config).watts():,.3g} W")
    except ValueError as error:
        return HostFinding("meter", "fault", f"{error}: the energy of episodes would be unknown")


def _rig(config: RigConfig) -> list[HostFinding]:
    report = check_rig(config, only_look=True)
    check = f"rig {config.name}"
    if report.failed:
        return [HostFinding(check, "fault", f"{one.check}: {one.text}") for one in report.failed]
    facts = report.facts
    text = f"{facts['state']}, answers in {facts['round_trip_s'] * 1e3:.1f} ms"
    if not (config.in_process or facts.get("keeper") or facts.get("unattended")):
        return [HostFinding(check, "warning", f"{text}; nothing stops it if this host dies (safe-state.md)")]
    return [HostFinding(check, "ok", text)]
