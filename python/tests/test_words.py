"""What people are told is true and plain."""

import pytest

import narthex
from narthex import NarthexError, notation, report
from narthex.cli import main
from narthex.documents import identify


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return ended.value.code


def test_one_is_singular():
    assert [notation.counted(n, "node") for n in (0, 1, 2, 1024)] == [
        "0 nodes", "1 node", "2 nodes", "1,024 nodes",
    ]  # fmt: skip


def test_what_is_not_there_is_named_before_where_it_is_not():
    result = narthex.run("hello", nodes=2)
    with pytest.raises(NarthexError, match="no region 'foo' in this run"):
        result.plot_ledger(region="foo")


def test_a_presets_description_is_not_repeated_of_a_machine_that_was_changed():
    document = narthex.run("hello", nodes=2).document
    page = report.page([identify(document, "x.json")])
    assert "16 nodes of 1 GHz" not in page
    assert "hpca98, with machine.nodes = 2." in page


@pytest.mark.parametrize("file", ["kv.svg", "kv.json"])
def test_a_timeline_is_not_written_into_a_file_of_another_kind(tmp_path, file):
    with pytest.raises(NarthexError, match=r"must end in .html.*in .pftrace") as found:
        narthex.run("hello", nodes=2, trace=tmp_path / file)
    assert found.value.exit_code == 2
    assert not (tmp_path / file).exists()


def test_interfaces_with_commas_between_are_several_everywhere():
    found = narthex.compare("hello", interfaces="NI2w, CNI4", nodes=2)
    assert {result.interface for result in found.results} == {"NI2w", "CNI4"}


def test_a_comparison_is_the_same_however_many_runs_are_made_at_a_time():
    def ranked(jobs):
        return narthex.compare(
            "roundtrip", 8, 4, 1, interfaces="NI2w,CNI4,CNI16Q", nodes=2, jobs=jobs
        ).document

    assert ranked(1) == ranked(3)


def test_a_comparison_says_that_a_ledger_has_the_whole_run():
    page = report.page(
        [identify(narthex.compare("hello", interfaces=["NI2w"], nodes=2).document, "x")]
    )
    assert "Time of all processors in the whole run" in page
    assert "no region &#39;main&#39;" in page


def test_a_life_has_a_page(tmp_path):
    file = tmp_path / "life.html"
    assert command("explain", "NI2w", "--bytes", 8, "--report", file) == 0
    assert "One message" in file.read_text() or "8 bytes over NI2w" in file.read_text()


def test_a_run_that_fails_in_a_sweep_is_a_line_and_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        'program = "hangs"\nnodes = 2\ninterface = "NI2w"\n'
        'set = ["machine.time_without_progress=100us"]\n[parameters]\nargs = ["deaf"]\n'
    )
    assert command("sweep", "s.toml", "--jobs", 1) == 3
    told = capsys.readouterr().err
    (line,) = [line for line in told.splitlines() if "args=deaf: no progress" in line]
    (file,) = (tmp_path / "results" / "s" / "errors").glob("*.txt")
    assert f"errors/{file.name} has all" in line
    assert "who waits for whom" not in told
    assert "who waits for whom" in file.read_text()


def test_a_list_of_a_sweeps_runs_refuses_an_interface_that_no_run_can_have(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        'program = "hello"\nnodes = 2\n[parameters]\ninterface = ["NI2w", "CNI3x"]\n'
    )
    assert command("sweep", "s.toml", "--list") == 2
    assert "CNI3x" in capsys.readouterr().err


def test_a_header_that_no_run_can_have_is_refused_with_the_machine():
    with pytest.raises(NarthexError, match=r"messages.header.*16B.*8B or 12B") as found:
        narthex.parameters("hpca98", set=["messages.header=16B"])
    assert found.value.exit_code == 2
