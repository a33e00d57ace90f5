"""Two sets of episodes compared: differences, verdicts, and the episodes behind them."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from episode_rows import ROW
from rich.console import Console

from core_eval.report.page.contrast import contrast_page
from core_eval.report.pictures.contrast_picture import dumbbells, forest
from core_eval.report.tables.contrast import changes_table, grid_table, lone_lines, metrics_table
from core_eval.report.tables.fitted_table import Table
from core_eval.score.contrast import between, contrast, contrast_json, grid_of, model_of, within


def row(agent, task, seed, pc, number=1, scaffold="native", harm=0, **more):
    scores = {"path_correctness": pc, "harmful_calls": harm, "calls": 10 * pc}
    return replace(
        ROW, id=number, agent=agent, task=task, seed=seed, scaffold=scaffold, scores=scores, **more
    )


def rows(agent, better, first=1, scaffold="native", seeds=range(4)):
    level = {"a": 0.1, "b": 0.3, "c": 0.6}
    return [
        row(agent, task, seed, level[task] + better * (1 + seed / 10), first + n, scaffold, harm=seed)
        for n, (task, seed) in enumerate((task, seed) for task in level for seed in seeds)
    ]


def printed(what, width=80):
    screen = Console(file=io.StringIO(), width=width, color_system=None)
    screen.print(what)
    return screen.file.getvalue()


def test_the_second_less_the_first_by_pair():
    (one,) = between(rows("x", 0.0), rows("x", 0.2, 100))
    difference = one.differences["path_correctness"]
    assert (one.before, one.after, one.pairs) == ("A x", "B x", 12)
    assert difference.mean == pytest.approx(0.23)
    assert one.verdict("path_correctness") == "better"
    assert one.verdict("harmful_calls") == one.verdict("accepted") == ""
    assert one.verdict("calls") == "more"
    (back,) = between(rows("x", 0.2, 100), rows("x", 0.0))
    assert back.verdict("path_correctness") == "worse"
    assert one.tasks["a"] == pytest.approx((0.1, 0.33))


def test_the_largest_changes_come_first_with_their_episodes():
    (one,) = between(rows("x", 0.0), rows("x", 0.2, 100))
    assert [change.start[1] for change in one.changes] == [3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0]
    (change,) = (change for change in one.changes if change.start[:2] == ("b", 2))
    assert (change.before, change.after) == ((7,), (106,))
    same = rows("x", 0.0)
    assert between(same, same)[0].changes == ()
    costs = [replace(each, scores={**each.scores, "calls": 99}) for each in same]
    assert between(same, costs)[0].changes == ()


def test_what_only_one_side_has_is_named():
    (one,) = between(rows("x", 0.0), rows("x", 0.2, 100, seeds=range(2, 6)))
    assert one.pairs == 6
    assert [(lone.start[:2], lone.episodes) for lone in one.only_before[:2]] == [
        (("a", 0), (1,)),
        (("a", 1), (2,)),
    ]
    text = "".join(map(printed, lone_lines(one)))
    assert "only in A x: a seed 0 (#1)" in text
    assert "only in B x: a seed 4 (#102)" in " ".join(text.split())


def test_agents_of_two_logs_are_matched_by_name_unless_each_has_one():
    assert [one.after for one in between(rows("x", 0.0), rows("y", 0.1))] == ["B y"]
    both = rows("x", 0.0) + rows("y", 0.0)
    found = between(both, rows("x", 0.1) + rows("y", 0.3) + rows("z", 0.1))
    assert [one.after for one in found] == ["B all agents", "B x", "B y"]
    assert found[0].pairs == 24
    assert found[0].differences["path_correctness"].mean == pytest.approx(0.23)


def test_model_and_scaffold_are_told_apart():
    assert model_of("llama:a.gguf?grammar=off&scaffold=react") == "llama:a.gguf?grammar=off"
    assert model_of("llama?scaffold=react") == "llama"
    assert model_of("oracle") == "oracle"
    episodes = [
        *rows("p", 0.0),
        *rows("p?scaffold=react", 0.1, 20, "react"),
        *rows("q", 0.3, 40),
        *rows("q?scaffold=react", 0.4, 60, "react"),
    ]
    grid = grid_of(episodes)
    assert {model: list(own) for model, own in grid.items()} == {
        "p": ["native", "react"],
        "q": ["native", "react"],
    }
    found = {(one.before, one.after): one.differences["path_correctness"].mean for one in within(grid)}
    # By the model 0.3, by the scaffold 0.1, each times 1.15 on average.
    assert found == {
        ("all models native", "all models react"): pytest.approx(0.115),
        ("p native", "p react"): pytest.approx(0.115),
        ("q native", "q react"): pytest.approx(0.115),
        ("all scaffolds p", "all scaffolds q"): pytest.approx(0.345),
        ("native p", "native q"): pytest.approx(0.345),
        ("react p", "react q"): pytest.approx(0.345),
    }
    assert "react" in printed(grid_table(grid))


def test_models_of_one_scaffold_each_are_compared():
    episodes = [*rows("oracle", 0.2, 1, "none"), *rows("llama", 0.0, 20)]
    (one,) = within(grid_of(episodes))
    assert (one.before, one.after, one.pairs) == ("oracle", "llama", 12)


def test_pairs_of_groups_are_not_mixed():
    one = contrast("x", "y", [(rows("p", 0.0), rows("p", 0.1)), (rows("q", 0.2), rows("q", 0.2))])
    assert one.pairs == 24
    assert one.differences["path_correctness"].mean == pytest.approx(0.115 / 2)


def test_the_tables_fit_80_columns():
    (one,) = between(rows("x", 0.0), rows("x", 0.2, 100))
    for table in (metrics_table(one), changes_table(one), grid_table(grid_of(rows("x", 0.0)))):
        text = printed(table)
        assert max(map(len, text.splitlines())) <= 80
        assert "not shown" not in text
    assert "and 2 more; --json and -o have all" in printed(changes_table(one))


def test_json_has_every_change():
    (one,) = between(rows("x", 0.0), rows("x", 0.2, 100, seeds=range(3)))
    told = contrast_json(one)
    assert len(told["changes"]) == told["pairs"] == 9
    assert told["metrics"]["path_correctness"]["verdict"] == "better"
    assert told["only_before"] == [
        {"task": task, "seed": 3, "init": {}, "episodes": [number]}
        for task, number in (("a", 4), ("b", 8), ("c", 12))
    ]
    assert "harm_events" not in told["metrics"]


def test_pictures_place_values_where_they_belong():
    before = [row("x", "a", seed, 0.0) for seed in range(9)]
    after = [row("x", "a", seed, 0.5 + seed / 16, 9) for seed in range(9)]
    (one,) = between(before, after)
    circles = re.findall(r'class="(ring|dot \w+)" cx="([\d.]+)%"', dumbbells(one))
    assert circles == [("ring", "3.00"), ("dot same", "73.50")]
    # The mean is 0.75, and the axis goes from -0.9 to 0.9, as the interval ends at 0.9.
    text = forest(one)
    told = one.differences["path_correctness"]
    mean, low, high = (f"{3 + 94 * (value + 0.9) / 1.8:.2f}" for value in (0.75, told.low, told.high))
    assert re.findall(r'class="dot \w+" cx="([\d.]+)%"', text)[0] == mean
    assert re.findall(r'class="interval better" x1="([\d.]+)%" x2="([\d.]+)%"', text) == [(low, high)]


def test_the_page_escapes_what_a_log_says():
    evil = "<script>alert(1)</script>"
    sets = [
        [row("x", evil, seed, 0.1 * seed * (1 + side), side * 50 + seed) for seed in range(3)]
        for side in range(2)
    ]
    page = contrast_page(evil, evil, {}, between(*sets), [f"only in A: {evil}"])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http-equiv", "")


def test_one_pair_has_no_verdict():
    (one,) = between([row("x", "a", 0, 0.1)], [row("x", "a", 0, 0.9)])
    assert one.verdict("path_correctness") == ""
    assert isinstance(metrics_table(one), type(Table("x")))
