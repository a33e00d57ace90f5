from pathlib import Path
from typing import Any

import pytest

from configs.errors import ConfigError
from configs.suite_manifest import task_digest
from configs.task import Task
from configs.task_template import Parameter, _by_jinja, filled
from configs.tasks_loader import list_tasks, load_task
from core_eval.path.patterns import Exact

TOP_UP = """
tasks:
  - id: top_up
    world: transactions
    parameters:
      account: {among: [rent, A100]}
      target: {whole: [300, 900], step: 50, default: 700}
      has: {whole: [100, 1200], step: 10, default: 450}
      missing: {value: "{{ target - has }}"}
    prompt: >-
      The account {{ account }} must hold {{ target }} EUR. If it holds less, transfer what is missing from
      checking.
    paraphrases: ["Top {{ account }} up to {{ target }} EUR from checking, if that is needed."]
    init: {accounts: {"{{ account }}": {balance: "{{ has }}"}}}
    branches:
      due:
        where: "{{ 0 < missing <= 500 }}"
        plan:
          - check_balance: {account_id: "{{ account }}"}
          - transfer: {from_account: checking, to_account: "{{ account }}", amount: "{{ missing }}"}
        goal: {"accounts.{{ account }}.balance": "{{ target }}"}
      full:
        id: top_up_of_enough
        parameters: {has: {whole: [300, 1200], step: 10, default: 700}}
        where: "{{ missing <= 0 }}"
        plan: [check_balance: {account_id: "{{ account }}"}]
        goal: {"accounts.{{ account }}.balance": "{{ has }}"}
"""


@pytest.fixture
def top_up(tmp_path: Path) -> str:
    path = tmp_path / "own.yaml"
    path.write_text(TOP_UP)
    return str(path)


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "other.yaml"
    path.write_text(text)
    return str(path)


def balance(task: Task, account: str) -> Any:
    assert task.goal is not None
    pattern = task.goal.patterns[f"accounts.{account}.balance"]
    assert isinstance(pattern, Exact)
    return pattern.value


def test_without_a_seed_each_branch_has_its_defaults(top_up: str) -> None:
    due, full = list_tasks(Path(top_up))
    assert (due.id, full.id) == ("top_up", "top_up_of_enough")
    assert due.prompt == full.prompt
    assert due.prompt.startswith("The account rent must hold 700 EUR.")
    assert due.init == {"accounts": {"rent": {"balance": 450}}}
    (path,) = due.automaton.golden_paths()
    amount = due.automaton.symbols[path[1]].arguments["amount"]
    assert amount == Exact(250)
    assert [len(path) for path in full.automaton.golden_paths()] == [1]
    assert due.template == full.template == "top_up"


def test_a_seed_draws_parameters_and_branch_and_the_same_ones_again(top_up: str) -> None:
    drawn = [load_task(f"{top_up}#top_up@{seed}") for seed in range(40)]
    assert [task.id for task in drawn[:2]] == ["top_up@0", "top_up@1"]
    assert {task.template for task in drawn} == {"top_up"}
    assert len({task_digest(task) for task in drawn}) > 30
    for task in drawn:
        ((account, start),) = task.init["accounts"].items()
        assert account in task.prompt
        target = int(task.prompt.partition("hold ")[2].partition(" ")[0])
        assert target % 50 == 0
        assert balance(task, account) == max(target, start["balance"])
    due = sum("transfer" in str(list(task.automaton.symbols)) for task in drawn)
    assert 10 < due < 30
    again = [load_task(f"{top_up}#top_up@{seed}") for seed in range(40)]
    assert list(map(task_digest, again)) == list(map(task_digest, drawn))


def test_a_branchs_own_id_draws_the_parameters_alone(top_up: str) -> None:
    twins = [load_task(f"{top_up}#top_up_of_enough@{seed}") for seed in range(20)]
    assert all("transfer" not in str(list(task.automaton.symbols)) for task in twins)
    assert twins[3].id == "top_up_of_enough@3"
    assert twins[3].template == "top_up"


def test_a_parameter_more_changes_no_other(tmp_path: Path) -> None:
    entry = """
tasks:
  - id: t
    world: transactions
    parameters: {{amount: {{whole: [1, 100000]}}{more}}}
    prompt: Pay {{{{ amount }}}}.
    plan: [check_balance: {{account_id: rent}}]
"""
    plain = load_task(written(tmp_path, entry.format(more="")) + "#t@5").prompt
    assert (
        load_task(written(tmp_path, entry.format(more=", other: {among: [1, 2]}")) + "#t@5").prompt == plain
    )


def test_parameters_have_values_of_each_kind() -> None:
    from random import Random

    rng = Random(1)
    assert {Parameter(among=["a", "b"]).draw(rng) for _ in range(20)} == {"a", "b"}
    assert {Parameter(whole=(3, 8), step=2).draw(rng) for _ in range(40)} == {3, 5, 7}
    two = Parameter(among=["a", "b", "c"], take=2)
    assert {tuple(two.draw(rng)) for _ in range(80)} == {
        *(("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")),
    }
    assert two.without_seed == ["a", "b"]
    assert Parameter(whole=(3, 8)).without_seed == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ n - 1 }}", 2),
        ("{{ n / 2 }}", 1.5),
        ("{{ digits }}", "007"),
        ("{{ names }}", ["anna", "ben", "carl"]),
        ("{{ names | listed }} come", "anna, ben and carl come"),
        ("{{ whole }} liters", "2 liters"),
        ("{{ whole }}", 2.0),
        ("{{ n }}{{ n }}", "33"),
        ("{% if n > 2 %}many{% else %}few{% endif %}", "many"),
        ("{{ {'a': {'b': n}} }}", {"a": {"b": 3}}),
        ("no {expression}", "no {expression}"),
    ],
)
def test_a_text_that_is_one_expression_keeps_its_type(text: str, value: Any) -> None:
    names = {"n": 3, "digits": "007", "names": ["anna", "ben", "carl"], "whole": 2.0}
    found = filled(text, names)
    assert found == value
    assert type(found) is type(value)
    assert filled({"{{ digits }}.x": [text]}, names) == {"007.x": [value]}


@pytest.mark.parametrize(
    "text",
    [
        "{{ ().__class__.__mro__ }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ 'a' * 1000000000 }}",
        "{{ '%9999999d' % 1 }}",
        "{{ [1, 2] | random }}",
        "{{ n / 0 }}",
        "{{ range(10000000) | list }}",
        "{{ n.append(1) }}",
    ],
)
def test_an_expression_neither_escapes_nor_grows_nor_draws(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^prompt: .*; the parameters are n$"):
        filled(text, {"n": 1}, "prompt")


@pytest.mark.parametrize(
    ("old", "new", "seed", "says"),
    [
        (
            '"{{ target - has }}"',
            '"{{ target - hass }}"',
            "",
            r"own.yaml:9: tasks.0.parameters.missing.value: .*'hass' is undefined; the parameters are",
        ),
        ("step: 50", "step: 0", "", r"own.yaml:7: tasks.0.parameters.target.step: "),
        ("step: 50", "steps: 50", "", r"unknown key 'steps', did you mean 'step'\?"),
        (
            ", default: 450",
            "",
            "",
            r"own.yaml:\d+: tasks.0.branches.due.where: does not hold of the defaults",
        ),
        (
            '"{{ 0 < missing <= 500 }}"',
            '"{{ missing > 5000 }}"',
            "@3",
            r"tasks.0.branches.due.where: holds of none of 1000 draws with seed 3: widen a parameter",
        ),
        ("check_balance:", "check_balances:", "", r"tasks.0.branches.due.plan.0.*: .* has no tool"),
        ("among: [rent, A100]", "among: []", "", r"own.yaml:6: tasks.0.parameters.account.among"),
        ("paraphrases:", "paraphases:", "", r"unknown key 'paraphases', did you mean 'paraphrases'"),
        ("EUR. If it", "EUR. {{ If it", "", r"own.yaml:10: tasks.0.prompt: .*expected token"),
    ],
)
def test_a_fault_names_file_line_and_key(top_up: str, old: str, new: str, seed: str, says: str) -> None:
    assert old in TOP_UP
    Path(top_up).write_text(TOP_UP.replace(old, new))
    with pytest.raises(ConfigError, match=says):
        load_task(f"{top_up}#top_up{seed}")


def test_only_templates_have_instances(tmp_path: Path, top_up: str) -> None:
    with pytest.raises(ConfigError, match=r"no task 'top_up@x'"):
        load_task(f"{top_up}#top_up@x")
    plain = written(
        tmp_path,
        "tasks: [{id: t, world: transactions, prompt: Go., plan: [check_balance: {account_id: rent}]}]",
    )
    with pytest.raises(ConfigError, match=r"no task 't@1' \(only a template has instances by seed\)"):
        load_task(f"{plain}#t@1")
    Path(plain).write_text(TOP_UP.replace("id: top_up_of_enough", "id: top_up"))
    with pytest.raises(ConfigError, match=r"the id 'top_up' stands twice"):
        list_tasks(Path(plain))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ amount }}", 2.0),
        ("{{due[1]}}", 4.5),
        ("{{ due }}", [3, 4.5]),
        ("{{ none }}", None),
        ("{{ name }}\n", "Ada"),
        ("Pay {{ amount }} EUR of {{ due[1] }}\nto {{ name }}.\n\n", "Pay 2 EUR of 4.5\nto Ada.\n"),
        ("{{ name }}{# no word #}, {{ due[0] }}", "Ada, 3"),
        ("{{ name[0] }}: {{ due }}", "A: [3, 4.5]"),
    ],
)
def test_a_text_with_parameters_alone_is_filled_as_jinja_does(text: str, value: object) -> None:
    names = {"amount": 2.0, "due": [3, 4.5], "name": "Ada"}
    assert filled(text, names) == value == _by_jinja(text)(names)


@pytest.mark.parametrize("text", ["to {{ due[9] }}", "to {{ nobody }}", "to {{ amount[0] }}"])
def test_a_parameter_that_is_not_there_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="the parameters are amount, due"):
        filled(text, {"amount": 2.0, "due": [3]})
