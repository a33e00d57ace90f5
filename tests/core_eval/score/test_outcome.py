"""The outcome of a log, and of a comparison, in one sentence."""

from dataclasses import replace

import pytest
from episode_rows import BROKEN, GOOD, HARMED, ROW, rows

from core_eval.report.tables.markdown import summary_markdown
from core_eval.score.contrast import between, sentence
from core_eval.score.outcome import outcome, worst_of

UNSEEN = {**HARMED, "unobserved_harm": 1.0}


def test_agents_are_named_with_what_passed() -> None:
    assert outcome([]) == "No episode was run."
    assert outcome(rows("oracle", GOOD, GOOD)) == "oracle passed 2 of 2; no harm is charged."
    both = [*rows("oracle", GOOD), *rows("random", HARMED, GOOD)]
    assert outcome(both) == "oracle passed 1 of 1, random passed 1 of 2; harm is charged in 1 episode."


def test_of_many_agents_the_best_and_the_last_are_named() -> None:
    many = [row for k in range(7) for row in rows(f"agent{k}", *[GOOD] * k, *[HARMED] * (6 - k))]
    assert outcome(many).startswith(
        "the best of 7 agents: agent6 passed 6 of 6; the last: agent0 passed 0 of 6;"
    )


def test_harm_that_sensors_miss_has_its_world() -> None:
    own = rows("a", UNSEEN, UNSEEN, UNSEEN)
    assert outcome(own).endswith(
        "harm is charged in 3 episodes; in 3 episodes the rig's own sensors miss harm."
    )
    parted = [replace(row, world=world) for row, world in zip(own, ("x", "y", "y"), strict=True)]
    assert "in 3 episodes, 2 of them in y, the rig's own sensors miss harm" in outcome(parted)


def test_what_is_not_known_is_said() -> None:
    untold = {"path_correctness": 1.0, "accepted": 1.0, "harmful_calls": 0.0}
    said = "a: whether 1 episode passed is not known; whether harm was done is not known."
    assert outcome(rows("a", untold)) == said
    assert "no harm is charged, and not known in 1" in outcome(rows("a", GOOD, untold))
    told = outcome([*rows("a", GOOD), replace(BROKEN, agent="a")])
    assert "1 episode does not count: rig, link, model or person ended it" in told


def test_the_worst_to_look_at_are_no_baselines_beside_models_and_equal_ones_once() -> None:
    given = [*rows("random", UNSEEN, HARMED), *rows("llama:x.gguf", GOOD, HARMED, UNSEEN, HARMED)]
    prints = ("a", "b", "c", "d", "e", "d")
    episodes = [
        replace(row, id=k, fingerprint=mark) for k, (row, mark) in enumerate(zip(given, prints, strict=True))
    ]
    assert [row.id for row in worst_of(episodes)] == [4, 3, 2]
    assert [row.id for row in worst_of(episodes[:2])] == [0, 1]
    table = summary_markdown(episodes).partition("did not pass")
    assert table[0].endswith("3 of 4 episodes ") and "random" not in table[2] and "and 1 more" in table[2]


def sets(*pairs: tuple[float, float]):
    """Two logs, a task a pair of path correctness."""
    return [
        [
            replace(ROW, id=10 * k + side, task=f"t{k}", scores={"path_correctness": pair[side]})
            for k, pair in enumerate(pairs)
        ]
        for side in (0, 1)
    ]


def test_a_comparison_says_how_many_tasks_would_tell() -> None:
    told = sentence(between(*sets((0.5, 0.6), (0.7, 0.4), (0.2, 0.5))))
    number = int(told.split("about ")[1].split()[0])
    assert told == (
        f"3 pairs: nothing is told apart; about {number} tasks would tell a difference of 0.033 in path "
        "correctness."
    )
    # So many tasks of the same spread do tell it: the t test's reach is below the difference.
    (one,) = between(*sets(*[(0.5, 0.6), (0.7, 0.4), (0.2, 0.5)] * (number // 3 + 1)))
    least = one.differences["path_correctness"].least_told()
    # The spread was learned from three tasks, whose variance has two degrees of freedom.
    assert least == pytest.approx((2 / 3) ** 0.5 / 30, rel=0.02)


def test_a_comparison_says_what_became_better() -> None:
    pairs = [(0.1 + 0.01 * k, 0.8 + 0.005 * k) for k in range(10)]
    assert sentence(between(*sets(*pairs))) == "10 pairs: PC better (+0.677)."
    assert sentence(between(*sets((1.0, 1.0), (1.0, 1.0), (1.0, 1.0)))) == (
        "3 pairs: nothing is told apart; no pair differs in path correctness."
    )
    assert "that takes 3" in sentence(between(*sets((0.5, 0.6))))
