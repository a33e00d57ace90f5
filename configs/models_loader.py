"""Models as YAML files: a specification and its options, by a name. `model:NAME` and `model:FILE.yaml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from agents.agent import AgentSpecError
from agents.options import ModelOptions, key_fault, merged, query_of
from agents.registry import AgentForm, parse_spec
from configs.errors import ConfigError
from configs.programs import require, require_variable
from configs.yaml_file import YamlFile, load_yaml, nearest
from devices.device_type import an

MODELS_FOLDER = Path(__file__).parent / "models"
FILES = ("lora", "chat_template", "system_prompt_file", "examples_file", "server")
"""Options that name files: a relative path is relative to the YAML file."""


NAMING = {option: option for option in ("server", "api_key_env", "header")}
"""Options that name a program or an environment variable."""


class ModelFile(ModelOptions):
    """A model with its options."""

    model: str = Field(description="llama:FILE.gguf, hf:REPO:FILE or another model's specification")


def model_spec(ref: str | None) -> str:
    """Return the specification, with its options, that a model's name or YAML file stands for.

    Raises:
        ConfigError: there is no such model, or its file is invalid.
    """
    file = load_yaml(_path(ref or ""))
    given = file.validate(ModelFile)
    try:
        base = parse_spec(given.model)
    except AgentSpecError as error:
        raise file.error(str(error), "model") from None
    if base.options is None or base.form.model is None:
        raise file.error(f"{given.model!r} is no model; it takes no options", "model")
    for key in file.data:
        if key != "model" and (fault := key_fault(base.name, key, base.form.model.options)) is not None:
            raise file.error(f"of {an(base.name)} agent: {fault}", key)
    folder = file.path.parent
    own = _options(file, given, folder)
    for options, named_at in ((base.options, dict.fromkeys(NAMING, "model")), (own, NAMING)):
        _require_consent(file, options, base.rest or "", named_at)
    rest = base.rest
    if base.form.model.is_file and rest is not None and ":" not in rest:
        rest = os.path.normpath(folder / rest)
    name = given.name or f"model:{file.path.stem}"
    options = merged(base.options, own).model_copy(update={"name": name})
    colon = "" if rest is None else f":{rest}"
    return f"{base.name}{colon}{query_of(options)}"


def _require_consent(
    file: YamlFile, options: ModelOptions, address: str, named_at: Mapping[str, str]
) -> None:
    """Return if what options name may be used; `named_at` gives the key of the file that names each."""
    if options.server is not None:
        require(file, named_at["server"], f"runs the program {str(options.server)!r}")
    for option, variable in options.variables:
        require_variable(file, named_at[option], variable, address.partition("#")[0])


def model_names() -> list[str]:
    """Return the names of the models that ship with the kit."""
    return sorted(path.stem for path in MODELS_FOLDER.glob("*.yaml"))


def _options(file: YamlFile, given: ModelFile, folder: Path) -> ModelOptions:
    values: dict[str, Any] = {key: getattr(given, key) for key in file.data if key != "model"}
    for key in FILES:
        if values.get(key) is not None:
            values[key] = folder / values[key]
    return ModelOptions(**values)


def _path(ref: str) -> Path:
    path = Path(ref)
    if path.suffix in (".yaml", ".yml"):
        return path
    shipped = MODELS_FOLDER / f"{ref}.yaml"
    if not shipped.is_file():
        raise ConfigError(
            f"no model {ref!r}; there are {nearest(model_names(), ref)}; or give the path of a YAML file"
        )
    return shipped


MODEL = AgentForm(("model:NAME", "model:FILE.yaml"), stands_for=model_spec)
