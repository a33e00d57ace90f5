import pytest

from configs.goal import Goal

STATE = {"files": {"a.txt": "x", "a": {"txt": "y"}, "mails.txt": {"size": 3}}, "open": None, "left": 0}


@pytest.mark.parametrize(
    ("written", "missed"),
    [
        ({"files.a.txt": "x", "files.mails.txt.size": 3, "left": 0}, []),
        ({"files.a.txt": "y"}, ["files.a.txt: 'x' does not fit =y"]),
        ({"files.b.txt": "x"}, ["files.b.txt: the state has no such key"]),
        ({"files.b.txt": None, "left.over": None, "open": None}, []),
        ({"left": None}, ["left: 0 does not fit =None"]),
        ({"left.over": 1, "files.mails.size": 3}, ["left.over: ", "files.mails.size: "]),
    ],
)
def test_a_key_may_hold_dots_and_null_says_that_it_is_not_there(written, missed):
    found = Goal.from_patterns(written).missed(STATE)
    assert len(found) == len(missed)
    assert all(line.startswith(start) for line, start in zip(found, missed, strict=True))
