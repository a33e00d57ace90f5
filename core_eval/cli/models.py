"""`pathrig models`: what a model takes on this machine, before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from agents.names import agent_name
from agents.registry import AGENT_FORMS, parse_spec
from configs.models_loader import MODELS_FOLDER, model_names
from configs.tasks_loader import load_task
from core_eval.bench.agreement import agreement
from core_eval.bench.candidates import specs_of
from core_eval.bench.model_check import check_model
from core_eval.cli.output import Json, console, print_json
from core_eval.cli.programs import AllowPrograms
from core_eval.cli.task_places import EACH_WORLD, task_places
from core_eval.report.tables.fitted_table import Hanging, Table
from core_eval.text.visible_text import visible

app = typer.Typer(help="List models, and check one before a run.", no_args_is_help=True)
WIDTH = 16
AGREED_ON = ("users_change_and_verify", "box_to_left_bin")
"""Tasks on which --agree compares, beside --task: of other worlds."""
HEADINGS: Mapping[str, tuple[str, str]] = {
    "description": ("kind", "{}"),
    "architecture": ("architecture", "{}"),
    "name": ("name in the file", "{}"),
    "format": ("calls", "{}"),
    "scaffold": ("scaffold", "{}"),
    "tools": ("tools", "as {}"),
    "grammar": ("grammar", "{}"),
    "thinking": ("thinking", "{}"),
    "temperature": ("temperature", "{}"),
    "n_threads": ("threads", "{}"),
    "n_gpu_layers": ("GPU layers", "{}"),
    "n_ctx": ("context", "{:,} tokens"),
    "n_batch": ("batch", "{:,} tokens"),
    "kv_type": ("KV cache type", "{}"),
    "cache_mib": ("KV cache", "{:,.1f} MiB"),
    "weights_mib": ("weights", "{:,.1f} MiB"),
    "computing_mib": ("for computing", "{:,.1f} MiB"),
    "peak_memory_mib": ("process at most", "{:,.0f} MiB"),
    "prompt_tokens": ("first prompt", "{:,} tokens"),
    "prompt_tokens_per_s": ("prompt", "{:,.4g} tokens/s"),
    "writing_tokens_per_s": ("output", "{:,.3g} tokens/s"),
    "first_answer_s": ("first answer", "after {:,.3g} s"),
    "answer": ("the answer", "{}"),
    "answer_tokens": ("its length", "{:,} tokens"),
    "limit_s": ("limit", "{:,g} s an episode"),
}


@app.command("list")
def list_models() -> None:
    """List the models that ship. Use one as `--agent model:NAME`."""
    table = Table("name", "stands for")
    for name in model_names():
        table.add_row(Text(name), Text(parse_spec(f"model:{name}").text(named=False)))
    out = console()
    out.print(table)
    out.print(f"The files are in {MODELS_FOLDER}.", soft_wrap=True)


@app.command("check")
def check(
    model: Annotated[
        str,
        typer.Argument(help="A GGUF file, a model's name or YAML file, or a specification with options."),
    ],
    task: Annotated[
        str, typer.Option(help="The task whose first prompt is measured: id, FILE or FILE#ID.")
    ] = "water_one_plant",
    agree: Annotated[
        str | None,
        typer.Option(
            help="The same model elsewhere, as URL#MODEL: do both take the same path?", metavar="SPEC"
        ),
    ] = None,
    json: Json = False,
    allow_programs: AllowPrograms = False,
) -> int:
    """Load a model and measure it. Exits with 1 if a limit is too short, or if --agree finds a difference.

    Printed are format, options, memory and speed.

    A model behind a server is asked for its first answer; nothing of that is executed.
    """
    if agree is not None:
        return _agree(_spec(model), agree, task, json=json)
    found = check_model(_spec(model), load_task(task))
    if json:
        print_json(found)
    else:
        out = console()
        _print(out, found)
    return 0 if found["within_limit"] else 1


def _agree(one: str, other: str, task: str, *, json: bool) -> int:
    """Tell where two agents differ, task by task; return the exit status."""
    places, _ = task_places(list(dict.fromkeys([task, *AGREED_ON])), [], [EACH_WORLD])
    found = agreement(one, specs_of([other])[0], places)
    if json:
        print_json([asdict(each) | {"agrees": each.agrees} for each in found])
    else:
        out = console()
        for each in found:
            counts = " and ".join(f"{count:,}" if count else "no" for count in each.prompt_tokens)
            path = "the same path" if each.differs_at is None else f"differs at step {each.differs_at + 1}"
            line = f"{each.task}: {path}; {counts} tokens in the first prompt"
            out.print(Hanging(Text(visible(line), style="" if each.agrees else "yellow")))
            if each.differs_at is not None:
                for who, did in zip((one, other), each.what, strict=True):
                    out.print(Hanging(Text(visible(f"  {agent_name(who)}: {did}")), 4))
    return 0 if all(each.agrees for each in found) else 1


def _print(out: Any, found: Mapping[str, Any]) -> None:
    out.print(Hanging(Text(visible(found["model"]), style="bold")))
    for key, (heading, form) in HEADINGS.items():
        if found.get(key) is not None:
            words = visible(form.format(found[key]))
            out.print(Hanging(Text(f"{heading:<{WIDTH}}  {words}"), WIDTH + 2))
    for remark in found.get("remarks", ()):
        out.print(Hanging(Text(f"{'remark':<{WIDTH}}  {visible(remark)}"), WIDTH + 2))
    if not found["within_limit"]:
        line = (
            "the limits take no first answer: give more (max_seconds, max_tokens, context), or a faster model"
        )
        out.print(Hanging(Text(line, style="yellow")))


def _spec(model: str) -> str:
    head, mark, query = model.partition("?")
    if head.partition(":")[0] in AGENT_FORMS:
        return model
    kind = "llama" if Path(head).suffix == ".gguf" else "model"
    return f"{kind}:{head}{mark}{query}"
