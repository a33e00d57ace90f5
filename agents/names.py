"""Agents' names: what the user called them, without the folders of their files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from urllib.parse import parse_qsl, quote

from agents.options import READABLE

FILES = frozenset({"llama", "llama-server", "hf"})
"""Kinds of agents that are called by the name of their model's file."""
BASELINES = frozenset({"mute", "done", "decliner", "repeat", "random", "oracle", "mutated"})
"""Kinds of agents that are floors and ceilings for others: doing nothing, chance, and what knows the path."""
FOLDERS = re.compile(r"(?<![\w.~-])(?:[\w.~-]*/)+(?=[^/])")


def agent_name(spec: str) -> str:
    """Return the name of the agent of a specification; that of a name is the name itself.

    It is the option `name`, where it is given. Else a model is called by its file or by its server's name for
    it, and by the options that were given on the command line; the rest of its version is in `agent_info`.
    """
    kind, colon, rest = spec.partition(":")
    if kind == "scripted" and colon:
        return f"scripted:{PurePath(rest).stem}"
    if kind == "command" and colon:
        return " ".join(word if "://" in word else FOLDERS.sub("", word) for word in spec.split(" "))
    head, mark, query = (spec, "", "") if kind == "replay" else spec.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    if named := dict(pairs).get("name"):
        return named
    kind, colon, rest = head.partition(":")
    if kind in FILES and rest:
        head = PurePath(rest.rpartition(":")[2]).name.removesuffix(".gguf")
    elif kind == "openai" and rest:
        head = rest.rpartition("#")[2]
    elif kind == "model" and rest.endswith((".yaml", ".yml")):
        head = f"model:{PurePath(rest).stem}"
    elif colon:
        head = without_folders(head)
    given = "&".join(f"{key}={quote(without_folders(value), safe=READABLE)}" for key, value in pairs)
    return f"{head}{mark}{given or query}"


def is_baseline(name: str) -> bool:
    """Return whether an agent of that name is a floor or a ceiling for others."""
    return name.partition(":")[0] in BASELINES


def is_model(name: str) -> bool:
    """Return whether an agent of that name is neither a baseline nor plays what was written before."""
    return not is_baseline(name) and name.partition(":")[0] not in ("scripted", "replay")


def agent_names(specs: Iterable[str]) -> dict[str, str]:
    """Return the names of a run's agents by their specifications; of alike ones the later are numbered."""
    names: dict[str, str] = {}
    for spec in dict.fromkeys(specs):
        name, number = agent_name(spec), 1
        while name in names.values():
            number += 1
            name = f"{agent_name(spec)} ({number})"
        names[spec] = name
    return names


def without_folders(text: str) -> str:
    """Return a file's reference, such as `PATH`, `PATH#ID` or `KIND:PATH`, without folders; URLs stay."""
    if "://" in text:
        return text
    kind, colon, path = text.rpartition(":")
    return f"{kind}{colon}{PurePath(path).name if '/' in path else path}"
