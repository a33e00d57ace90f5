"""Exams: what all models of a comparison have alike, so that they differ by their weights alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.agent import AgentSpecError
from agents.names import agent_name
from agents.options import SAMPLING, make_options, merged
from agents.registry import ParsedSpec, model_file, parse_spec
from configs.errors import ConfigError
from configs.suite_manifest import MeasuredSuite
from configs.task_entry import TaskLimits
from configs.yaml_file import load_yaml, nearest

FOLDER = Path(__file__).parent / "exams"
LLAMA_CPP: Mapping[str, float] = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
"""What llama.cpp's own programs sample with where a file states nothing (common_params_sampling)."""
BY_EXAM = frozenset({*SAMPLING, "scaffold", "tools", "grammar", "kv_type", "reading", "thinking", "prompts"})
"""Options that an exam alone sets; those of the machine, such as threads, are the user's."""


class ExamFile(BaseModel):
    """The keys of an exam's file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    options: dict[str, Any] = Field(default={}, description="options of all models, as in `--set`")
    sampling: Literal["file", "options"] = Field(
        "options",
        description="file: as each model's file states it, where `options` does not; options: as they are",
    )
    limits: TaskLimits = Field(default=TaskLimits(), description="in place of the tasks' limits")


class ExamTaken(BaseModel):
    """The exam that a run was, as its log keeps it; only episodes of one exam are ranked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    digest: str


class Exam:
    """An exam, read from its file.

    Attributes:
        name: `model`, `rig`, or the name of the user's own file.
        content: its keys.
    """

    def __init__(self, name: str, content: ExamFile) -> None:
        self.name = name
        self.content = content

    def taken(self, suites: Sequence[MeasuredSuite]) -> ExamTaken:
        """Return the exam on these suites: by the hash of all that a result has from them."""
        whole = {
            "exam": self.content.model_dump(mode="json"),
            "suites": [suite.digest for suite in suites],
        }
        digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
        return ExamTaken(name=self.name, digest=digest[:16])

    def varied(self, options: Mapping[str, Any]) -> Exam:
        """Return this exam with other options, which its name then tells."""
        told = ", ".join(f"{key}={value}" for key, value in options.items())
        whole = {**self.content.options, **options}
        content = self.content.model_copy(update={"options": whole})
        return Exam(f"{self.name}, {told}" if told else self.name, content)

    def spec(self, given: str, called: str | None = None) -> str:
        """Return the specification of an agent under this exam; one that is no model stays as it is.

        Args:
            given: the agent.
            called: its name; None: as without the exam.

        Raises:
            AgentSpecError: the specification sets what the exam sets, or is invalid.
        """
        parsed = parse_spec(given)
        if parsed.options is None or parsed.form.model is None:
            return given
        taken = parsed.form.model.options
        for key in sorted(parsed.options.model_fields_set & BY_EXAM):
            raise AgentSpecError(
                f"{given!r} sets {key}, which exam {self.name} sets for all models: leave it out, or "
                "write an exam of your own"
            )
        stated = {}
        if self.content.sampling == "file":
            stated = sampling_of(given, set(LLAMA_CPP) - set(self.content.options))
        wanted = stated | {key: value for key, value in self.content.options.items() if key in taken}
        own = make_options(parsed.name, wanted, taken)
        named = make_options(parsed.name, {"name": called or agent_name(given)}, taken)
        return ParsedSpec(parsed.name, parsed.form, parsed.rest, merged(parsed.options, own, named)).text()


def sampling_of(spec: str, keys: Collection[str]) -> dict[str, Any]:
    """Return these options of sampling as the file of a model states them, else as llama.cpp has them.

    Raises:
        AgentSpecError: the file states one that is invalid.
    """
    found: dict[str, Any] = {key: value for key, value in LLAMA_CPP.items() if key in keys}
    path = model_file(spec)
    if path is None:
        return found
    from agents.backends.gguf_facts import OPTION_OF, gguf_facts

    stated = gguf_facts(path).sampling
    for key, option in OPTION_OF.items():
        if option in found and option in stated:
            try:
                found[option] = getattr(make_options("file", {option: stated[option]}, SAMPLING), option)
            except AgentSpecError as error:
                why = str(error).rpartition(": ")[2]
                raise AgentSpecError(
                    f"{path} states general.sampling.{key} = {stated[option]}: {why}; mend the file, or take "
                    f"an exam of your own with {option} among its options"
                ) from None
    return found


def load_exam(name: str) -> Exam:
    """Return the exam of that name, or of that file.

    Raises:
        ConfigError: there is none, or its file is wrong.
    """
    path = FOLDER / f"{name}.yaml" if "/" not in name else Path(name)
    if not path.is_file():
        path = Path(name)
    if not path.is_file():
        raise ConfigError(f"no exam {name!r}: name a file, or one of {nearest(exam_names(), name)}")
    file = load_yaml(path)
    content = file.validate(ExamFile)
    for key in content.options:
        if key not in BY_EXAM:
            raise file.error(f"an exam sets no {key!r}; it sets {', '.join(sorted(BY_EXAM))}", "options", key)
    try:
        make_options("exam", content.options, BY_EXAM)
    except AgentSpecError as error:
        raise file.error(str(error), "options") from None
    return Exam(path.stem, content)


def exam_names() -> list[str]:
    """Return the names of the exams that ship."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
