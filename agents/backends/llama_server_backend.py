"""The llama-server backend: a GGUF in the user's own llama.cpp server, which is started for it.

Boards with a GPU have one that was built for it. Templates, the reading of calls, timings and the cache of
prompts are the server's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.agent import AgentSpecError, BackendError, ModelInfo
from agents.backends.backend import Message, Reply
from agents.backends.llama_server_process import LlamaServerProcess, find_program
from agents.backends.openai_backend import OpenAIBackend
from agents.deadline import Deadline
from agents.formats.chatml import is_trained_here
from agents.names import without_folders
from agents.options import ModelOptions

CONTEXT = 8192
"""Tokens, where no option says; the server's own default is the model's, which may be gigabytes of cache."""
ARGUMENTS = {
    "n_batch": ("--batch-size",),
    "n_threads": ("--threads",),
    "n_gpu_layers": ("--n-gpu-layers",),
    "kv_type": ("--cache-type-k", "--cache-type-v"),
    "lora": ("--lora",),
    "chat_template": ("--chat-template-file",),
    "thinking_tokens": ("--reasoning-budget",),
}
"""Options by the server's own arguments; it has defaults for those that are not given."""


class LlamaServerBackend(OpenAIBackend):
    """A GGUF behind a server of its own, which ends with the backend and with this process.

    Attributes:
        trained_here: whether this project trained it: its file has the template of that.
    """

    def __init__(self, path: Path, options: ModelOptions | None = None) -> None:
        """Start the server, and wait until it has loaded the model.

        Raises:
            AgentSpecError: there is no such file or program, the server does not become healthy, or the
                model's template does not take an option.
        """
        given = options or ModelOptions()
        self._arguments = _arguments(given)
        program = verify(path, given)
        model = ["--model", str(path), "--alias", path.stem]
        self._process = LlamaServerProcess(program, [*model, *self._arguments])
        if given.reasoning_effort is not None and not _takes_effort(self._process.props):
            self._process.close()
            raise AgentSpecError(
                f"{path}: the model's chat template takes no reasoning_effort: leave the option out"
            )
        body = {"cache_prompt": True, **(given.extra_body or {})}
        given = given.model_copy(update={"extra_body": body, "n_ctx": None})
        self.trained_here = is_trained_here(str(self._process.props.get("chat_template", "")))
        super().__init__(self._process.url, path.stem, given, key=self._process.key, parses_calls=True)
        self.name = f"llama-server:{path.stem}"

    @property
    def options(self) -> Mapping[str, Any]:
        """What was asked of the server, which it is, and the hash of its template."""
        props = self._process.props
        template = str(props.get("chat_template", ""))
        return {
            **super().options,
            "arguments": [without_folders(one) for one in self._arguments],
            "build": str(props.get("build_info", "unknown")),
            "template_sha256": hashlib.sha256(template.encode()).hexdigest(),
        }

    @property
    def model_info(self) -> ModelInfo:
        """The server's process, and how long it loaded."""
        return ModelInfo(self._process.process, self._process.load_seconds)

    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        """Ask the server for the next answer; raises as `OpenAIBackend.answer`, and where it has ended."""
        try:
            return super().answer(messages, tokens=tokens, deadline=deadline)
        except BackendError:
            if (trouble := self._process.trouble) is not None:
                raise BackendError(trouble) from None
            raise

    def close(self) -> None:
        """End the server."""
        self._process.close()


def verify(path: Path, options: ModelOptions) -> str:
    """Return the program for a model, without starting it.

    Raises:
        AgentSpecError: there is no such file or program.
    """
    if not path.is_file():
        raise AgentSpecError(f"{path}: there is no such GGUF file")
    return find_program(options.server)


def _takes_effort(props: Mapping[str, Any]) -> bool:
    caps = props.get("chat_template_caps")
    told = caps.get("supports_reasoning_effort") if isinstance(caps, dict) else None
    # Older servers tell the template alone.
    return bool(told) if told is not None else "reasoning_effort" in str(props.get("chat_template", ""))


def _arguments(options: ModelOptions) -> list[str]:
    arguments = ["--jinja", "--parallel", "1", "--ctx-size", str(options.n_ctx or CONTEXT)]
    for option, names in ARGUMENTS.items():
        if (value := getattr(options, option)) is not None:
            arguments += [part for name in names for part in (name, str(value))]
    return arguments
