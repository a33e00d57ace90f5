"""Episodes of a bundle, run again where their agents are here."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from agents.agent import AgentSpecError, BackendError
from agents.names import is_baseline
from agents.options import ModelOptions
from agents.registry import model_file, parse_spec
from configs.errors import ConfigError
from core_eval.bench.bundle import LOG, BundleError
from core_eval.log import EpisodeRow, LogReader, RunLog
from core_eval.run.config import Cell, RunConfig
from core_eval.run.plan import Run
from core_eval.text.file_hash import sha256_of
from sims.world_type import WORLD_TYPES


def run_again(path: Path, log: Path, count: int) -> int:
    """Run some episodes again whose agents are here; return how many came out the same.

    Raises:
        BundleError: an agent that is no model took another path.
    """
    with LogReader(log) as reader:
        cells = {
            row.id: (cell, row, run)
            for run in reader.runs()
            for row in reader.episodes(run.id)
            if (cell := _cell(RunConfig.from_log(run.config), row)) is not None
        }
    drawn = Random(sha256_of(log)).sample(sorted(cells), min(count, len(cells)))
    same = 0
    for number in drawn:
        cell, row, run = cells[number]
        config = RunConfig.from_log(run.config)
        own = RunConfig(cells=(cell,), seed=row.seed, limits=config.limits, streams=config.streams)
        with TemporaryDirectory() as folder:
            copy = Path(folder) / LOG
            try:
                with RunLog(copy) as written:
                    Run.of(own, written).start()
            except (AgentSpecError, BackendError, ConfigError):
                continue
            with LogReader(copy) as reader:
                (now,) = reader.episodes()
        if now.fingerprint == row.fingerprint:
            same += 1
        elif model_file(cell.agent) is None:
            raise BundleError(f"{path}: episode {row.id}, run again, took another path than its log says")
    return same


def _cell(config: RunConfig, row: EpisodeRow) -> Cell | None:
    """Return what an episode is run again by; None where it cannot be here.

    Nothing that a bundle names is read or started but what the kit ships, and the model of that very hash.
    """
    place = row.number // config.episodes
    if not 0 <= place < len(config.cells):
        return None
    cell = config.cells[place]
    kind, _, world = cell.rig.partition(":")
    simulated = kind == "sim" and world in WORLD_TYPES
    if row.fingerprint is None or not simulated or "#" in cell.task or Path(cell.task).exists():
        return None
    if is_baseline(cell.agent):
        return cell
    try:
        parsed = parse_spec(cell.agent)
    except (AgentSpecError, ConfigError):
        return None
    file = model_file(cell.agent)
    if file is None or parsed.name != "llama" or parsed.options is None or _names_files(parsed.options):
        return None
    return cell if file.is_file() and sha256_of(file) == row.agent_info.get("sha256") else None


def _names_files(options: ModelOptions) -> bool:
    return any(isinstance(getattr(options, name), Path) for name in options.model_fields_set)
