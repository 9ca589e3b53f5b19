"""Whatever stands on the command line or in a name: one message, exit code 2, no traceback."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from narthex import NarthexError, _native, arguments, strict
from narthex.cli import console, main, terminal
from narthex.programs import ECALL, find

ROUNDTRIP = "run roundtrip 8 4 1 --nodes 2"
COMPARE = "compare roundtrip 8 4 1 --nodes 2"

READS = [
    "{}",
    "run {}",
    f"{ROUNDTRIP} --machine {{}}",
    f"{ROUNDTRIP} --interface {{}}",
    f"{ROUNDTRIP} --set {{}}",
    f"{ROUNDTRIP} --nodes {{}}",
    f"{ROUNDTRIP} --checkpoint-every {{}}",
    f"{ROUNDTRIP} --trace t.pftrace --trace-nodes {{}}",
    f"{ROUNDTRIP} --trace t.pftrace --trace-from {{}}",
    "compare {}",
    f"{COMPARE} --interface {{}}",
    f"{COMPARE} --interface NI2w --by {{}}",
    f"{COMPARE} --machine {{}}",
    "explain {}",
    "explain NI2w --machine {}",
    "explain NI2w --set {}",
    "experiment {}",
    "experiment hpca98/roundtrip --interface {}",
    "experiment hpca98/roundtrip --set {}",
    "sweep {}",
    "sweep short.toml --x {}",
    "report {}",
    "cc {} --output out",
    "check interface {}",
    "check interface all --machine {}",
    "check interface NI2w --without {}",
    "check protocol {}",
    "check bridge --without {}",
    "check shared-memory --without {}",
    "machine show {}",
    "machine check {}",
    "machine check hpca98 --interface {}",
    "machine diff hpca98 {}",
    "machine new new.toml --from {}",
    "machine new new.toml --set {}",
    "fit logp --interface {}",
    "fit logp --interface NI2w --bytes {}",
    "list {}",
]
"""Commands that read what they are given."""

WRITES = [
    f"{ROUNDTRIP} --json={{}}.json",
    f"{ROUNDTRIP} --report {{}}.html",
    f"{ROUNDTRIP} --trace {{}}",
    f"{ROUNDTRIP} --checkpoint {{}} --checkpoint-every 1s",
    "explain NI2w --json={}.json",
    "experiment hpca98/roundtrip --plot {}.svg",
    "sweep short.toml --output {}",
    "report result.json --output {}.html",
    "cc empty.c --output {}",
    "machine new {}.toml",
    "fit logp --interface NI2w --output {}",
    "doctor --json={}.json",
]
"""Commands that write."""

NAMES = {
    "long": "x" * 300,
    "long with a folder": "./" + "x" * 300 + ".toml",
    "not UTF-8": "caf\udce9.c",
    "escapes": "a\x1b]0;title\x07\x9b31m\u202e.toml",
    "digits": "9" * 5000,
    "empty": "",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "short.toml").write_text('program = "roundtrip"\nargs = "8 4 1"\nnodes = 2\n')
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended(words, capsys):
    """Run a command; returns its exit code and what it printed."""
    with pytest.raises(SystemExit) as raised:
        main(words)
    return raised.value.code, capsys.readouterr()


def refused(words, capsys):
    """Run a command that has to be refused; returns the message."""
    code, (_, err) = ended(words, capsys)
    assert code == 2, (words, err)
    assert "narthex: " in err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", err), (words, err)
    return err


# --- arguments -------------------------------------------------------------------------


@pytest.mark.parametrize("command", READS)
def test_a_name_that_is_none_is_refused_with_a_message(here, capsys, command):
    for kind, name in NAMES.items():
        is_all = kind == "empty" and re.search("--interface {}|^report", command)
        if not is_all:  # no interface is every one of an experiment, and no folder this one
            refused([word.format(name) for word in command.split(" ")], capsys)


@pytest.mark.parametrize("command", WRITES)
def test_a_place_that_is_none_is_refused_before_the_work(here, capsys, command):
    for name in ("x" * 300, "caf\udce9", "/proc/none", "/dev/null/none"):
        refused([word.format(name) for word in command.split(" ")], capsys)
    assert not (here / "results").exists()


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (f"{ROUNDTRIP} --nodes 4294967296", "from 1 to 4096, not 4294967296"),
        (f"{COMPARE} --nodes 0", "from 1 to 4096, not 0"),
        (f"{ROUNDTRIP} --seed 18446744073709551616", "from 0 to 9223372036854775807, not"),
        (f"{COMPARE} --seed 9223372036854775808", "from 0 to 9223372036854775807, not"),
        (f"{ROUNDTRIP} --threads 1025", "from 1 to 1024"),
        ("explain NI2w --seed 18446744073709551616", "from 0 to 9223372036854775807, not"),
        ("explain NI2w --bytes 18446744073709551616", "from 0 to 65536, not"),
        ("check shared-memory --states 18446744073709551616", "from 1 to 9223372036854775807, not"),
        ("check interface NI2w --states 18446744073709551616", "from 1 to 9223372036854775807"),
        ("check interface NI2w --evictions 4294967296", "from 0 to 4294967295, not 4294967296"),
        ("experiment hpca98/roundtrip --jobs 18446744073709551616", "from 1 to 1024, not"),
        ("fit logp --interface NI2w --jobs 18446744073709551616", "from 1 to 1024, not"),
        ("fit logp --interface NI2w --nodes 4294967296", "from 1 to 4096, not"),
    ],
)
def test_a_number_beyond_its_range_is_refused_with_the_range(capsys, command, allowed):
    assert allowed in refused(command.split(), capsys)


def test_the_ranges_are_those_of_the_simulator():
    for key, name in (("machine.nodes", "nodes"), ("machine.seed", "seed")):
        ends = arguments.RANGES[name]
        _native.machine_show("hpca98", [f"{key}={ends.stop - 1}"], False)
        with pytest.raises(NarthexError):
            _native.machine_show("hpca98", [f"{key}={ends.stop}"], False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": 1 << 32}, "the request for a run is wrong at 'nodes': .*expected u32"),
        ({"threads": "two"}, "wrong at 'threads': .*expected u32"),
        ({"interfaces": []}, "unknown field `interfaces`"),
        ({"program": "\udcff"}, "wrong at 'program': lone leading surrogate"),
    ],
)
def test_a_request_that_the_simulator_cannot_read_is_an_error_with_its_key(change, message):
    wanted = {"program": "hello", "machine": "hpca98", "interface": "NI2w", **change}
    with pytest.raises(NarthexError, match=message):
        _native.run(json.dumps(wanted), find("hello").elf())


@pytest.mark.parametrize("text", ["caf\udce9", "a\0b"])
def test_a_text_of_the_package_is_checked_by_the_arguments_name(text):
    with pytest.raises(NarthexError, match="machine must be UTF-8 without a zero byte, not '"):
        arguments.text("machine", text)


@pytest.mark.parametrize("value", [10**5000, "x" * 10**6, [[]] * 10**5], ids=type)
def test_a_value_in_a_message_is_short(value):
    with pytest.raises(NarthexError) as raised:
        arguments.whole_number("nodes", value)
    assert len(str(raised.value)) < 400


# --- files -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["sweep {}", "experiment {}"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes = " + "9" * 5000, "a number has thousands of digits"),
        ("nodes = 0x" + "9" * 5000, "'nodes' must be a whole number of 64 bits"),
        ("nodes = 9223372036854775808", "'nodes' must be a whole number of 64 bits, not 9223"),
        ("a = " + "[" * 20_000 + "]" * 20_000, "more than 32 lists and tables stand in each other"),
        ("a = " + "[" * 40 + "]" * 40, "more than 32 lists and tables stand in each other"),
        ("a" + ".a" * 40 + " = 1", "more than 32 lists and tables stand in each other"),
        ('title = "a\\u0000b"', "'title' must be UTF-8 without a zero byte"),
        ("# " + "x" * (1 << 20), "is too large for a TOML file: more than 1 MiB"),
        ("title = 'é'".encode("latin-1"), "is not UTF-8 text, from byte 9 on"),
    ],
    ids=lambda value: str(value)[:20].encode("unicode_escape").decode(),
)
def test_a_file_of_no_use_is_refused_by_its_name(here, capsys, command, text, message):
    file = here / "hostile.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    told = refused(command.format(file).split(), capsys)
    assert message in told
    assert "hostile.toml" in told
    assert len(told) < 600


@pytest.mark.parametrize("command", ["run {}", "compare {}"])
def test_a_file_that_is_no_program_is_refused_by_its_path(here, capsys, command):
    (here / "folder").mkdir()
    (here / "folder" / "notes").write_text("hello")
    told = refused(command.format("folder/notes").split(), capsys)
    assert told.startswith("narthex: folder/notes: not an ELF program (it begins with 68 65 6c 6c)")


def test_a_program_that_calls_no_system_is_told_to_be_for_bare_metal(here, capsys):
    (here / "bare").write_bytes(find("hello").elf().replace(ECALL, b"\x13\0\0\0"))  # no operation
    told = refused(["run", "./bare", "-n", "2"], capsys)
    assert told.startswith("narthex: 'bare' makes no system call: it is for a machine without")


def test_what_a_sweep_cannot_find_is_told_with_its_file(here, capsys):
    (here / "lost.toml").write_text('program = "none.c"\n')
    assert "lost.toml: program 'none.c' does not exist" in refused(["sweep", "lost.toml"], capsys)
    (here / "slow.toml").write_text('program = "roundtrip"\nset = ["bus.clok=1MHz"]\n')
    assert "slow.toml: run '': --set bus.clok" in refused(["sweep", "slow.toml"], capsys)


def test_what_an_experiment_cannot_find_is_told_with_its_file(here, capsys):
    text = (
        'title = "Mine"\nsource = "here"\nprogram = "roundtrip"\nreport = "x"\nunit = "us"\n'
        'interfaces = ["NI2w"]\n[[workload]]\nname = "8"\nargs = ["8"]\n'
    )
    (here / "mine.toml").write_text('machine = "hpca97"\n' + text)
    told = refused(["experiment", "mine.toml"], capsys)
    assert 'mine.toml: unknown machine "hpca97"' in told
    (here / "mine.toml").write_text('machine = "hpca98"\nset = ["bus.clok=1"]\n' + text)
    assert "mine.toml: --set bus.clok=1: " in refused(["experiment", "mine.toml"], capsys)


def test_an_interface_that_a_machine_cannot_have_is_told_with_the_machines_file(here, capsys):
    (here / "mine.toml").write_text('base = "isca96"\n')
    words = ["--machine", "mine.toml", "--interface", "NI16w+Blkbuf"]
    told = "mine.toml: the machine's file has no [interfaces.ni_iw_blkbuf]"
    assert told in refused(["run", "hello", *words], capsys)
    words = ["mine.toml", "--interface", "NI16w+Blkbuf"]
    assert told in refused(["machine", "check", *words], capsys)


# --- the environment -------------------------------------------------------------------


@pytest.mark.parametrize("value", ["abc", "²", "-5", "0", "9" * 5000])
def test_columns_that_are_no_number_change_nothing(capsys, monkeypatch, value):
    before = ended(["list", "machines"], capsys)
    monkeypatch.setenv("COLUMNS", value)
    monkeypatch.setenv("LINES", value)
    assert ended(["list", "machines"], capsys) == before
    assert before[0] == 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("NARTHEX_CC", '"', "NARTHEX_CC is '\"': No closing quotation"),
        ("NARTHEX_CACHE", "~nobody-at-all/x", "NARTHEX_CACHE is '~nobody-at-all/x': "),
        ("NARTHEX_CACHE", "x" * 300, "File name too long"),
    ],
)
def test_an_environment_of_no_use_is_told(here, capsys, monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    assert message in refused(["run", "empty.c"], capsys)


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_a_name_beyond_the_locale_is_told_with_the_remedy(tmp_path, locale):
    done = _narthex(["list", "é".encode()], LC_ALL=locale, PYTHONUTF8="0")
    assert done.returncode == 2
    assert b"is not ascii; choose a locale of UTF-8, or set PYTHONUTF8=1" in done.stderr
    (tmp_path / "mine.toml").write_text('program = "é.c"\n', encoding="utf-8")
    done = _narthex(["sweep", tmp_path / "mine.toml"], LC_ALL=locale, PYTHONUTF8="0")
    assert done.returncode == 2
    assert b".c' is beyond ascii; choose a locale of UTF-8" in done.stderr


def test_what_the_locale_cannot_encode_is_printed_as_numbers_and_json_stays_json(tmp_path):
    file = tmp_path / "é.toml"
    file.write_text('base = "hpca98"\n[machine]\nname = "é\U0001f600"\n', encoding="utf-8")
    done = _narthex(["machine", "check", file, "--json", "-"], PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)["name"] == "é\U0001f600"
    done = _narthex(["machine", "check", file], PYTHONIOENCODING="ascii")
    assert b"/\\u00e9.toml is a machine that can be run" in done.stdout


def _narthex(words, **environment):
    command = [sys.executable, "-m", "narthex", *words]
    return subprocess.run(
        command, capture_output=True, env=os.environ | environment, check=False, timeout=60
    )


# --- what reaches the terminal ---------------------------------------------------------

REPORTS = r"""
#include <narthex.h>
#include <stdio.h>
int main(void) {
    puts("\x1b[1mbold\x1b[0m");
    narthex_report("a\x1b[31mb", 1, "u\x07s");
    return 0;
}
"""


def test_names_from_a_guest_and_a_file_reach_the_terminal_as_text(here, capsys):
    (here / "a\x1b[31m.c").write_text(REPORTS)
    code, (out, _) = ended(["run", "a\x1b[31m.c", "--nodes", "1"], capsys)
    assert code == 0
    written, told = out.split("Waited for most")
    assert written == "\x1b[1mbold\x1b[0m\n"
    assert "\x1b" not in told
    assert "\x07" not in told
    assert "a\\u001b[31mb" in told
    assert "a\\u001b[31m on CNI32Qm" in told


def test_what_a_terminal_shows_is_not_changed():
    text = "10 ± 2 µs, ─ 日本\n\tnext\xa0line"
    assert terminal.printable(text) == text
    assert (
        terminal.printable("\r\x1b\x9b\u202e\U000e0041")
        == "\\u000d\\u001b\\u009b\\u202e\\U000e0041"
    )


def test_a_name_in_brackets_is_no_markup(capsys, monkeypatch):
    monkeypatch.setattr(console, "PATIENCE_S", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with console.Waiting("Running a[/b]") as waiting:
        assert waiting.update("[bold]x[/c]")


def test_every_message_of_the_commands_goes_through_the_terminal():
    """`print` is left to what guests write."""
    for file in Path(console.__file__).parent.glob("*.py"):
        lines = [line for line in file.read_text().splitlines() if re.search(r"\bprint\(", line)]
        allowed = {"terminal.py": 3, "printer.py": 1, "console.py": 1, "tables.py": 3}.get(
            file.name, 0
        )
        assert len(lines) == allowed, (file.name, lines)


def test_numbers_and_nests_are_checked_in_a_dictionary_too():
    nest: list = []
    nest.append(nest)
    for given in ({"nodes": 1 << 63}, {"a": nest}, {1: 2}, {"a": {None: 1}}):
        with pytest.raises(NarthexError, match=r"^sweep: "):
            strict.check(given, "sweep")
