"""The models that a bench is given: files, folders, servers and specifications, under one exam."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agents.agent import AgentSpecError, BackendError
from agents.local_servers import LOCAL_SERVERS, known_name, served_models
from agents.names import agent_name
from agents.registry import AGENT_FORMS, agent_maker, model_file, model_options
from configs.exam import Exam
from configs.tasks_loader import load_task
from core_eval.bench.bench import BenchPlan, Candidate, Tell
from core_eval.bench.model_check import check_model
from core_eval.text.visible_text import seconds_text

GGUF = ".gguf"
SPLIT = "-of-"
"""In the names of the later files of a model that is split; the first one loads the others."""


def specs_of(words: Iterable[str]) -> list[str]:
    """Return the specifications that words mean: a GGUF, a folder of them, `ollama:` with all its models,
    URL#MODEL, or a specification.

    Raises:
        AgentSpecError: a word means none.
    """
    return list(dict.fromkeys(spec for word in words for spec in _specs(word)))


def _specs(word: str) -> Iterator[str]:
    head, mark, query = word.partition("?")
    kind, colon, rest = head.partition(":")
    if Path(head).is_dir():
        files = sorted(one for one in Path(head).rglob(f"*{GGUF}") if not _is_later_part(one))
        if not files:
            raise AgentSpecError(f"{head}: the folder holds no {GGUF} file")
        yield from (f"llama:{file}{mark}{query}" for file in files)
    elif kind in LOCAL_SERVERS and colon and not rest:
        yield from (f"{kind}:{name}{mark}{query}" for name in served_models(kind))
    elif kind in AGENT_FORMS:
        yield word
    elif kind in ("http", "https") and "#" in head:
        yield f"openai:{word}"
    elif head.endswith(GGUF):
        yield f"llama:{word}"
    else:
        raise AgentSpecError(
            f"{word!r} is no model: name a {GGUF} file, a folder of them, ollama:NAME, lmstudio:NAME, "
            "hf:OWNER/NAME:FILE.gguf, URL#MODEL, or another agent"
        )


def _is_later_part(file: Path) -> bool:
    head, mark, _ = file.stem.rpartition(SPLIT)
    return bool(mark) and head[-5:].isdecimal() and int(head[-5:]) > 1


def candidate(
    spec: str, exam: Exam, plan: BenchPlan, tell: Tell, *, known: bool, called: str | None = None
) -> Candidate:
    """Return a model as a candidate: it is loaded once, and measured on the first prompt of a task.

    Args:
        spec: as it was given.
        exam: that it takes.
        plan: whose first task has its first prompt.
        tell: told what it takes.
        known: whether the log has episodes of it; it is not measured again then.
        called: its name under the exam; None: as without it.
    """
    name = called or agent_name(spec)
    try:
        own = exam.spec(spec, called)
        agent_maker(own)
        size, licence = _file_facts(spec)
        if model_options(own) is None or known:
            return Candidate(own, name, size, licence)
        found = check_model(own, load_task(plan.places[0][0]))
    except (AgentSpecError, BackendError) as error:
        tell(f"{name}: cannot be run: {error}")
        return Candidate(spec, name, fault=f"cannot be run: {error}")
    tell(f"{name}: {_words(found)}")
    if not found["within_limit"]:
        fault = f"too slow: its first answer takes {seconds_text(found['first_answer_s'])}"
        return Candidate(own, name, size, licence, fault)
    return Candidate(own, name, size, licence)


def _file_facts(spec: str) -> tuple[int | None, str | None]:
    path = model_file(spec)
    if path is None:
        kind, _, name = spec.partition("?")[0].partition(":")
        known = kind in LOCAL_SERVERS
        return (served_models(kind).get(known_name(kind, name)) if known else None), None
    from agents.backends.gguf_facts import gguf_facts

    return path.stat().st_size, gguf_facts(path).licence


def _words(found: dict[str, Any]) -> str:
    parts = [f"first answer after {found['first_answer_s']:.1f} s"]
    if (memory := found.get("peak_memory_mib")) is not None:
        parts.insert(0, f"{memory:,.0f} MiB")
    if (speed := found.get("writing_tokens_per_s")) is not None:
        parts.append(f"writes {speed:,.0f} tokens/s")
    return ", ".join(parts)
