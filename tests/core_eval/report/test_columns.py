"""One list of columns makes the table of a terminal, of a page and of Markdown."""

from rich.console import Console

from core_eval.report.tables.columns import Column, markdown_table, page_table, terminal_table

COLUMNS: list[Column[tuple[str, int]]] = [
    Column("name", lambda row: row[0], "name"),
    Column("count", lambda row: str(row[1])),
    Column("empty", lambda row: "-", leaves=1),
    Column("twice", lambda row: str(2 * row[1]), leaves=2, more=True),
]
ROWS = [("a|b_c", 3), ("second", 40)]


def printed(width: int) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(terminal_table(COLUMNS, ROWS))
    return console.export_text()


def test_a_terminal_drops_columns_in_their_order() -> None:
    assert "empty" in printed(60) and "not shown" not in printed(60)
    narrow = printed(20)
    assert "not shown at 20 columns: empty" in " ".join(narrow.split())
    assert "twice" in narrow and "a|b_c" in narrow


def test_a_page_leaves_out_a_column_without_any_value() -> None:
    table = page_table(COLUMNS, ROWS)
    assert [heading for heading, *_ in table.columns] == ["name", "count", "twice"]
    assert table.columns[2] == ("twice", "number", True)
    assert table.rows == [["a|b_c", "3", "6"], ["second", "40", "80"]]


def test_markdown_takes_foreign_signs_as_text() -> None:
    assert markdown_table(COLUMNS, ROWS) == [
        "| name | count | empty | twice |",
        "| --- | --- | --- | --- |",
        "| a&#124;b_c | 3 | - | 6 |",
        "| second | 40 | - | 80 |",
    ]
