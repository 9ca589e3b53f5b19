"""What a run prints of its program's output and regions."""

import io

import pytest
from rich.console import Console

import narthex
from narthex.cli import main, run_tables, tables
from narthex.cli.printer import Printer
from narthex.cli.run_tables import MOST_REGIONS, show
from narthex.ledgers import ledger_rows, ledger_shares


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
    screen = Console(width=columns, force_terminal=True, color_system=None)
    for module in (run_tables, tables):
        monkeypatch.setattr(module, "console", lambda: screen)
    show(document)
    return capsys.readouterr().out.splitlines()


def test_a_ledger_on_a_narrow_terminal_groups_nodes_that_are_alike(of_nodes, monkeypatch, capsys):
    lines = lines_at(80, of_nodes(8), monkeypatch, capsys)
    heads = next(line for line in lines if "spent in" in line)
    assert heads.split()[3:] == ["node", "0", "node", "1", "nodes", "2-7"]
    assert any(line.strip().startswith("synchronisation") for line in lines)


def test_nodes_that_fit_have_a_column_each(of_nodes, monkeypatch, capsys):
    lines = lines_at(80, of_nodes(4), monkeypatch, capsys)
    assert any("node 3" in line for line in lines)


def test_processors_of_a_node_are_divided():
    processors = [{"retired": 1, "ledger_ps": {f"{'poll' if i else 'send'} / execute": 10}}
                  for i in range(16)]  # fmt: skip
    document = {"nodes": [{"node": 0, "processors": processors}]}
    names, rows = ledger_shares(document, ledger_rows(document))
    assert names == ["node 0", "node 0.1-15"]
    assert rows == [["poll", "execute", "0.0", "100.0"], ["send", "execute", "100.0", "0.0"]]


COLUMNS = {
    "parameter": "node.interconnects.register_file.kind",
    "value": "10,377.8 ± 3",
    "unit": "ns",
    "kind": "VIA_STATUS",
    "reason": "the paper's Section 5.2 speaks of one only",
}


@pytest.mark.parametrize("prose", [[], ["reason"]])
@pytest.mark.parametrize("columns", [30, 60, 80, 100, 160])
def test_numbers_and_names_are_never_broken(columns, prose, monkeypatch, capsys):
    screen = Console(width=columns, force_terminal=True, color_system=None)
    monkeypatch.setattr(tables, "console", lambda: screen)
    names = [*COLUMNS]
    tables.print_table("T", names, [[*COLUMNS.values()]], ["value"], prose=prose, optional=["unit"])
    shown = capsys.readouterr().out
    for name, cell in COLUMNS.items():
        if name == "unit" and "not shown, for want of room: 'unit'" in shown:
            continue
        assert cell in shown or (name in prose and cell.split()[0] in shown)
    if columns == 160:
        assert len([line for line in shown.splitlines() if line.strip()]) == 4


def test_a_reason_is_one_line_in_a_pipe(capsys):
    with pytest.raises(SystemExit):
        main(["machine", "show", "hpca98", "--sources"])
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.strip().startswith("machine.time_without_progress")]
    assert line.endswith("by then nothing will move any more")
