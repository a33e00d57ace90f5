"""Templates: entries of a task file with parameters and branches, of which a seed draws an instance."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from configs.errors import ConfigError, at
from configs.task_entry import TaskEntry
from configs.yaml_file import YamlFile
from core_eval.text.streams import STREAMS, stream

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

MOST_DRAWS = 1000
"""How often parameters are drawn until all of `where` holds."""
BRANCH = "branch"
"""The name by which expressions know the branch."""


class Parameter(BaseModel):
    """One parameter of a template: `among`, `whole` or `value`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    among: list[Any] | None = Field(default=None, min_length=1, description="the values that it may have")
    take: int | None = Field(
        default=None, ge=1, description="with `among`: so many different ones of them, as a list"
    )
    whole: tuple[int, int] | None = Field(
        default=None, description="a whole number from the first to the second, both included"
    )
    step: int = Field(default=1, ge=1, description="with `whole`: the distance of two numbers")
    value: Any = Field(
        default=None, description="what it is, as an expression of the other parameters: nothing is drawn"
    )
    default: Any = Field(
        default=None,
        description="in the instance without a seed; left out: the first of `among` or `whole`",
    )

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if sum(key is not None for key in (self.among, self.whole, self.value)) != 1:
            raise ConfigError("give one of among, whole and value")
        if self.take is not None and (self.among is None or self.take > len(self.among)):
            raise ConfigError("is at most the number of values in `among`", at=("take",))
        if self.whole is not None and self.whole[0] > self.whole[1]:
            raise ConfigError("the first number must not be above the second", at=("whole",))
        return self

    def draw(self, rng: Random) -> Any:
        """Return a value, uniform over those it may have."""
        if self.among is None:
            assert self.whole is not None, "the validator makes sure"
            return rng.randrange(self.whole[0], self.whole[1] + 1, self.step)
        return rng.choice(self.among) if self.take is None else rng.sample(self.among, self.take)

    @property
    def without_seed(self) -> Any:
        """Its value in the instance without a seed."""
        if self.default is not None:
            return self.default
        if self.among is None:
            return None if self.whole is None else self.whole[0]
        return self.among[0] if self.take is None else self.among[: self.take]


class Branch(BaseModel):
    """One branch of a template: keys of the task that are others there, and these."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str | None = Field(
        default=None,
        min_length=1,
        description="of its instance without a seed; left out: the template's for the first branch, "
        "`ID_BRANCH` for another",
    )
    parameters: dict[str, Parameter] = Field(
        default={}, description="beside the template's, or in their place"
    )
    where: str | None = Field(default=None, description="what must hold of them, too")


class TemplateEntry(BaseModel):
    """The keys of a template beside those of a task."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str = Field(
        min_length=1,
        description="its name; `ID@SEED` is an instance that a seed draws, and `ID` the first branch "
        "with the defaults of the parameters",
    )
    parameters: dict[str, Parameter] = Field(default={}, description="what a seed draws, by name")
    where: str | None = Field(
        default=None, description="an expression that must hold of the parameters; else they are drawn again"
    )
    branches: dict[str, Branch] = Field(
        default={},
        description="of which one is drawn, by name; each has keys of the task that are others there",
    )


@dataclass(frozen=True)
class Template:
    """A template of a task file, or one branch of it.

    Attributes:
        file: the file.
        index: its place in the file's list `tasks`.
        entry: its keys.
        branch: the branch that is not drawn; None: it is, where there are any.
    """

    file: YamlFile
    index: int
    entry: TemplateEntry
    branch: str | None = None

    @classmethod
    def at(cls, file: YamlFile, index: int) -> Template | None:
        """Return the template at that place of a file's list `tasks`; None for a task.

        Raises:
            ConfigError: its keys are wrong.
        """
        written = file.data["tasks"][index]
        if not isinstance(written, Mapping) or not {"parameters", "branches"} & written.keys():
            return None
        entry = file.validate(TemplateEntry, "tasks", index)
        if BRANCH in entry.parameters and entry.branches:
            raise file.error(
                f"the name {BRANCH!r} is that of the branch", "tasks", index, "parameters", BRANCH
            )
        return cls(file, index, entry)

    def branches(self) -> Iterator[tuple[str, Template]]:
        """Yield each branch by the id of its instance without a seed; without branches the template."""
        own = self.entry.id
        if not self.entry.branches:
            yield own, self
        for place, (name, branch) in enumerate(self.entry.branches.items()):
            yield branch.id or (f"{own}_{name}" if place else own), replace(self, branch=name)

    def instance(self, seed: int | None) -> tuple[YamlFile, TaskEntry]:
        """Return an instance as an entry of a file, with the file that has it in place of the template.

        Args:
            seed: draws it; None: the parameters have their defaults, in the first branch.

        Raises:
            ConfigError: no draw fits, an expression is wrong, or the instance is no task.
        """
        name = self._branch(seed)
        file = _Filled.of(self.file, self.index, name, self.entry)
        branch = self.entry.branches[name] if name is not None else Branch()
        drawn_keys = self.entry.model_extra or {}
        keys = {**drawn_keys, **(branch.model_extra or {})}
        with file.at("tasks", self.index):
            values = self._values({**self.entry.parameters, **branch.parameters}, branch.where, name, seed)
            task = {key: filled(value, values, key) for key, value in keys.items()}
        own = next(id_ for id_, one in self.branches() if one.branch in (name, None))
        if seed is not None:
            own = f"{self.entry.id if self.branch is None else own}@{seed}"
        tasks = [*self.file.data["tasks"]]
        tasks[self.index] = {"id": own, **task}
        file = replace(file, data={**self.file.data, "tasks": tasks})
        return file, file.validate(TaskEntry, "tasks", self.index)

    def _branch(self, seed: int | None) -> str | None:
        names = list(self.entry.branches)
        if self.branch is not None or not names:
            return self.branch
        return names[0] if seed is None else self._random(seed, BRANCH).choice(names)

    def _values(
        self, parameters: Mapping[str, Parameter], where: str | None, branch: str | None, seed: int | None
    ) -> dict[str, Any]:
        """Return the values of the parameters, by name."""
        conditions = [one for one in (self.entry.where, where) if one is not None]
        values: dict[str, Any] = {}
        for count in range(1 if seed is None else MOST_DRAWS):
            values = {} if branch is None else {BRANCH: branch}
            for name, one in parameters.items():
                if one.value is None:
                    fresh = None if seed is None else self._random(seed, name, str(count))
                    values[name] = one.without_seed if fresh is None else one.draw(fresh)
            for name, one in parameters.items():
                if one.value is not None:
                    values[name] = filled(one.value, values, "parameters", name, "value")
            if all(filled(condition, values, "where") for condition in conditions):
                return values
        if seed is None:
            raise ConfigError("does not hold of the defaults of the parameters", at=("where",))
        message = f"holds of none of {MOST_DRAWS} draws with seed {seed}: widen a parameter, or loosen it"
        raise ConfigError(message, at=("where",))

    def _random(self, seed: int, *purpose: str) -> Random:
        return Random(stream(STREAMS, seed, "template", self.entry.id, *purpose))


@dataclass(frozen=True)
class _Filled(YamlFile):
    """A file with an instance in a template's place, whose faults are told where the template has them.

    Attributes:
        index: the template's place.
        branch: the instance's; None without one.
        moved: the keys that the branch has.
    """

    index: int = 0
    branch: str | None = None
    moved: frozenset[str] = frozenset()

    @classmethod
    def of(cls, file: YamlFile, index: int, branch: str | None, entry: TemplateEntry) -> _Filled:
        keys = () if branch is None else entry.branches[branch].model_fields_set
        return cls(file.path, file.data, file.text, index, branch, frozenset(keys))

    def error(self, message: str, *where: str | int) -> ConfigError:
        if self.branch is not None and where[:2] == ("tasks", self.index) and self.moved & {*where[2:3]}:
            where = (*where[:2], "branches", self.branch, *where[2:])
        return super().error(message, *where)


def filled(value: Any, names: Mapping[str, Any], *where: str | int) -> Any:
    """Return a value of a template with the expressions in its texts and keys filled.

    A text that is one expression becomes the expression's value, whatever its type.

    Raises:
        ConfigError: an expression is wrong; `where` is the value's place in the template.
    """
    if isinstance(value, str):
        return value if "{{" not in value and "{%" not in value else _filled_text(value, names, where)
    if isinstance(value, Mapping):
        return {
            filled(key, names, *where, key): filled(part, names, *where, key) for key, part in value.items()
        }
    if isinstance(value, list):
        return [filled(part, names, *where, place) for place, part in enumerate(value)]
    return value


def _filled_text(text: str, names: Mapping[str, Any], where: tuple[str | int, ...]) -> Any:
    try:
        return _compiled(text)(names)
    except _unfillable() as error:
        with at(*where):
            raise ConfigError(f"{text!r}: {error}; the parameters are {', '.join(names)}") from None


def _unfillable() -> tuple[type[Exception], ...]:
    """What filling a text raises; Python asks for it only where something was raised, and few need Jinja."""
    from jinja2 import TemplateError

    return TemplateError, ArithmeticError, LookupError, TypeError, ValueError


_PLAIN = re.compile(r"{{ ?(?!(?:[Tt]rue|[Ff]alse|[Nn]one)\b)([A-Za-z]\w*)(?:\[(\d+)\])? ?}}")
"""A parameter, or an element of one, in a text."""


@lru_cache(maxsize=4096)
def _compiled(text: str) -> Callable[[Mapping[str, Any]], Any]:
    parts = _PLAIN.split(text.removesuffix("\n"))
    if any(mark in literal for literal in parts[::3] for mark in ("{{", "{%", "{#", "\r")):
        return _by_jinja(text)
    # Most are of this form; to compile one takes longer than the rest of its task.
    alone = len(parts) == 4 and not parts[0] and not parts[3] and text[-1] != "\n"
    return _Parameters(text, tuple(parts), alone).fill


@dataclass(frozen=True)
class _Parameters:
    """A text with nothing but parameters and their elements in it, as Jinja fills it.

    Attributes:
        parts: literal text, name and index, again and again; then literal text.
        alone: the text is one parameter, and becomes its value.
    """

    text: str
    parts: tuple[str, ...]
    alone: bool

    def fill(self, names: Mapping[str, Any]) -> Any:
        """Return the filled text, or the value."""
        try:
            values = [
                names[name] if index is None else names[name][int(index)]
                for name, index in zip(self.parts[1::3], self.parts[2::3], strict=True)
            ]
        except (LookupError, TypeError):
            # Jinja has the words for what is wrong, and another meaning for some.
            return _by_jinja(self.text)(names)
        if self.alone:
            return values[0]
        texts = (str(_as_written(one)) for one in values)
        return "".join(chain.from_iterable(zip_longest(self.parts[::3], texts, fillvalue="")))


@lru_cache(maxsize=4096)
def _by_jinja(text: str) -> Callable[[Mapping[str, Any]], Any]:
    from jinja2 import nodes

    environment = _environment()
    template = environment.parse(text)
    body = template.body
    first = body[0] if len(body) == 1 else None
    parts = first.nodes if isinstance(first, nodes.Output) else []
    alone = len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData)
    if alone and text.startswith("{{") and text.endswith("}}") and text[2] not in "-+":
        return environment.compile_expression(text[2:-2], undefined_to_none=False)
    return environment.from_string(template).render


@lru_cache(maxsize=1)
def _environment() -> SandboxedEnvironment:
    """Return where expressions are evaluated: Jinja's sandbox, in which nothing is left to chance."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        """Refuses powers, and all products but those of numbers: a short text could ask for a huge value."""

        intercepted_binops = frozenset({"*", "**", "%"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "**" or not all(isinstance(one, int | float) for one in (left, right)):
                raise TypeError(f"{operator} is for numbers" if operator != "**" else "there are no powers")
            return super().call_binop(context, operator, left, right)

    environment = Environment(undefined=StrictUndefined, finalize=_as_written, autoescape=False)
    environment.globals = {"range": environment.globals["range"]}
    for name in ("random", "center", "indent"):
        del environment.filters[name]
    environment.filters["listed"] = listed
    return environment


def _as_written(value: Any) -> Any:
    """Return a number as people write it in a text: 2, not 2.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def listed(items: list[Any], word: str = "and") -> str:
    """Return items as prose lists them: `a, b and c`."""
    texts = [str(_as_written(item)) for item in items]
    return f"{', '.join(texts[:-1])} {word} {texts[-1]}" if len(texts) > 1 else "".join(texts)
