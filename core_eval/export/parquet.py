"""Parquet: one file per table, a row group per batch of rows, by pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from core_eval.export.tables import TABLES
from core_eval.log import LogReader, Tracked

BATCH_ROWS = 50_000


def write(log: LogReader, ids: Sequence[int], folder: Path, tracked: Tracked) -> None:
    """Write a file per table; columns of JSON are text."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    types = {
        "integer": pyarrow.int64(),
        "real": pyarrow.float64(),
        "flag": pyarrow.bool_(),
        "text": pyarrow.string(),
        "json": pyarrow.string(),
    }
    schemas = {
        table.name: pyarrow.schema([(name, types[kind]) for name, kind in table.columns.items()])
        for table in TABLES
    }
    with ExitStack() as files:
        writers = {
            name: files.enter_context(ParquetWriter(folder / f"{name}.parquet", schema))
            for name, schema in schemas.items()
        }
        waiting: dict[str, list[list[Any]]] = {table.name: [] for table in TABLES}

        def flush(name: str) -> None:
            columns = list(zip(*waiting[name], strict=True))
            arrays = [
                pyarrow.array(values, field.type)
                for values, field in zip(columns, schemas[name], strict=True)
            ]
            writers[name].write_batch(pyarrow.record_batch(arrays, schema=schemas[name]))
            waiting[name].clear()

        for episode_id in tracked("writing episodes", ids, len(ids)):
            episode = log.episode(episode_id)
            for table in TABLES:
                for row in table.rows(log, episode):
                    waiting[table.name].append(row)
                    if len(waiting[table.name]) == BATCH_ROWS:
                        flush(table.name)
        for name, rows in waiting.items():
            if rows:
                flush(name)
