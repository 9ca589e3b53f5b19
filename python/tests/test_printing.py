"""What a run prints of its program's output and regions."""

import io

import pytest
from rich.console import Console

import narthex
from narthex.cli import main, runs
from narthex.cli.runs import MOST_REGIONS, Printer, show


def printed(*pieces):
    stdout = io.StringIO()
    printer = Printer(stdout)
    for node, data in pieces:
        printer.write(node, 0, "stdout", data)
    printer.finish()
    return stdout.getvalue()


def test_a_line_is_printed_whole_however_it_is_written():
    assert printed((0, b"a"), (0, b"b\nc\n\nd"), (0, b"e")) == "ab\nc\n\nde\n"
    assert printed((0, b"one\ntw"), (1, b"1\n"), (0, b"o\n")) == "one\n[1] 1\n[0] two\n"


def test_a_letter_may_come_in_two_pieces():
    assert printed((0, "é".encode()[:1]), (0, "é".encode()[1:])) == "é\n"


def test_what_a_long_line_costs_grows_with_its_length_alone():
    copied = 0

    class Counting(bytearray):
        def __iadd__(self, data):
            nonlocal copied
            copied += len(data)
            return super().__iadd__(data)

    printer = Printer(io.StringIO())
    printer._parts["0", "stdout"] = Counting()
    for _ in range(1000):
        printer.write(0, 0, "stdout", b"x")
    assert copied == 1000
    assert isinstance(printer._parts["0", "stdout"], Counting)


@pytest.mark.parametrize("more", [0, 5])
def test_of_thousands_of_regions_some_are_shown_and_the_rest_counted(capsys, more):
    regions = [
        {"name": f"r{number}", "node": 0, "process": 0, "end_ps": 10, "ledger_ps": {"a / b": 10}}
        for number in range(MOST_REGIONS + more)
    ]
    processor = {"retired": 1, "ledger_ps": {"a / b": 10}}
    show({
        "program": "p", "interface": "NI2w", "simulated_ps": 10, "reports": [],
        "regions": regions, "nodes": [{"node": 0, "processors": [processor]}],
    })  # fmt: skip
    shown = capsys.readouterr().out
    assert shown.count("Where the time of region") == MOST_REGIONS
    assert ("not shown: 5 more regions; --json FILE has them all" in shown) == bool(more)


# --- tables on narrow terminals and in pipes ----------------------------------------


@pytest.fixture
def of_nodes():
    return lambda nodes: narthex.run("roundtrip", 8, 2, 1, nodes=nodes).document


def lines_at(columns, document, monkeypatch, capsys):
    monkeypatch.setattr(runs, "console", lambda: Console(width=columns))
    show(document)
    return capsys.readouterr().out.splitlines()


def test_a_ledger_on_a_narrow_terminal_groups_nodes_that_are_alike(of_nodes, monkeypatch, capsys):
    lines = lines_at(80, of_nodes(8), monkeypatch, capsys)
    heads = next(line for line in lines if "spent in" in line)
    assert heads.split() == ["activity", "spent", "in", "nodes", "0-1", "nodes", "2-7"]
    assert any(line.strip().startswith("synchronisation") for line in lines)


def test_nodes_that_fit_have_a_column_each(of_nodes, monkeypatch, capsys):
    lines = lines_at(80, of_nodes(4), monkeypatch, capsys)
    assert any("node 3" in line for line in lines)


def test_a_reason_is_one_line_in_a_pipe(capsys):
    with pytest.raises(SystemExit):
        main(["machine", "show", "hpca98", "--sources"])
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.strip().startswith("machine.time_without_progress")]
    assert line.endswith("by then nothing will move any more")
