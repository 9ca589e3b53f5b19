"""The command line as its users meet it: in a process of its own."""

import json
import subprocess
import sys
import time
from collections import Counter

import pytest
import typer

from narthex.cli import terminal
from narthex.distinctions import INTERFACES, LONGEST
from narthex.listing import entries

COMMANDS = [
    [],
    ["list"],
    ["run"],
    ["compare"],
    ["explain"],
    ["experiment"],
    ["sweep"],
    ["fit"],
    ["fit", "logp"],
    ["calibrate"],
    ["cc"],
    ["check"],
    ["check", "protocol"],
    ["check", "interface"],
    ["check", "bridge"],
    ["check", "refusals"],
    ["check", "directory"],
    ["check", "shared-memory"],
    ["machine"],
    ["machine", "show"],
    ["machine", "schema"],
    ["report"],
    ["doctor"],
]


def narthex(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "narthex", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_its_meaning(command):
    done = narthex(*command, "--help")
    assert done.returncode == 0
    assert "Usage: narthex" in done.stdout


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c not in (["check"], ["fit"], ["machine"])]
)
def test_help_gives_examples(command):
    assert "Examples:" in narthex(*command, "--help").stdout


def test_start_up_imports_nothing_heavy():
    """No command waits for tables and charts before there are any."""
    code = (
        "import sys; from narthex.cli import main; sys.argv = ['narthex', '--help']\n"
        "try: main()\n"
        "finally: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert "typer" in imported
    assert not imported & {
        "polars",
        "altair",
        "jinja2",
        "msgspec",
        "vl_convert",
        "numpy",
        "distributed",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "rountrip"], 2, "did you mean 'roundtrip'"),
        (["run", "missing.c"], 2, "'missing.c' does not exist"),
        (["run", "/bin/ls"], 2, "RISC-V"),
        (["run", "roundtrip", "-m", "hpca89"], 2, "hpca98"),
        (["run", "roundtrip", "-i", "NI2x"], 2, "NI2x"),
        (["run", "roundtrip", "--set", "bus.clok=1MHz"], 2, "did you mean `clock`"),
        (["run", "roundtrip", "--set", "bus.clock=1parsec"], 2, "parsec"),
        (["run", "roundtrip", "--interfce", "NI2w"], 2, "--interface"),
        (["run", "roundtrip", "-n", "0"], 2, "--nodes"),
        (["run", "roundtrip", "-n", "2", "many"], 2, "many"),
        (
            ["run", "roundtrip", "-n", "two"],
            2,
            "--nodes must be a whole number from 1 to 4096, not",
        ),
        (["run", "roundtrip", "-64"], 2, "an argument of the program that begins with - stands be"),
        (["run", "./ring"], 2, "its source does: run './ring.c'"),
        (["run", "./rung"], 2, "program './rung' does not exist"),
        (["sweep", "ring.c"], 2, "'ring.c' is a program and no sweep; name a TOML file"),
        (["run", "roundtrip", "-i", "SARC"], 2, "needs; sarc-chip and sarc-prototype have it"),
        (["compare", "roundtrip", "-i", "NI2w on io-bus"], 2, "isca96 has it"),
        (["explain", "EDT"], 2, "edt has it"),
        (["machine", "check", "hpca98", "-i", "EDT"], 2, "edt has it"),
        (["run"], 2, "program"),
        (["compare", "roundtrip", "-n", "2", "--by", "speed", "8", "5", "1"], 2, "latency"),
        (["experiment", "hpca98/roundtri"], 2, "did you mean 'hpca98/roundtrip'"),
        (["experiment", "hpca98/roundtrip", "--json", "/none/x.json"], 2, "does not exist"),
        (["experiment", "hpca98/roundtrip", "-i", "NI3w"], 2, "did you mean 'NI2w'"),
        (["experiment", "all", "--set", "bus.clok=1MHz"], 2, "clock"),
        (["check", "protocol", "moes"], 2, "MOESI"),
        (["machine", "show", "isca69"], 2, "isca96"),
        (["cc", "missing.c", "-o", "missing"], 2, "missing.c"),
        (["cc", "ring.c", "--no-such-flag"], 2, "--no-such-flag"),
        (["cc"], 2, "narthex cc takes sources"),
        (["report", "missing.json"], 2, "'missing.json' does not exist"),
        (["run", "roundtrip", "--report", "page.pdf"], 2, "must end in .html"),
        (["run", "roundtrip", "8", "--profile", "x.sgv"], 2, "'x.sgv': it must end in .txt"),
        (["run", "roundtrip", "8", "--profile"], 2, "--profile needs a file, or - for standard"),
        (["run", "roundtrip", "--json", "--open"], 2, "--json takes a file, or - for standard out"),
        (["run", "roundtrip", "--open"], 2, "--open opens the page of --report: give both"),
        (
            ["run", "roundtrip", "-i", "NI2w,CNI4"],
            2,
            "'narthex compare' runs a program",
        ),
        (["compare", "roundtrip", "-i", "NI2w", "CNI4"], 2, "commas between: -i NI2w,CNI4"),
        (["lst"], 2, "list"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_clear_message(arguments, code, message, tmp_path):
    (tmp_path / "ring.c").write_text("int main(void) { return 0; }")
    done = narthex(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr


def test_a_read_only_folder_is_found_before_the_run(tmp_path):
    tmp_path.chmod(0o555)
    start = time.monotonic()
    done = narthex("run", "roundtrip", 8, 10**9, "--json", tmp_path / "result.json")
    tmp_path.chmod(0o755)
    assert done.returncode == 2
    assert "read-only" in done.stderr
    assert time.monotonic() - start < 5


def test_a_missing_compiler_is_named_with_the_remedy(tmp_path):
    source = tmp_path / "empty.c"
    source.write_text("int main(void) { return 0; }")
    done = narthex(
        "cc", source, "-o", tmp_path / "empty", env={"NARTHEX_CC": "no-such-cc", "PATH": ""}
    )
    assert done.returncode == 2
    assert "no-such-cc" in done.stderr
    assert "narthex[compiler]" in done.stderr


def test_the_version_is_the_packages():
    from narthex import _native

    assert narthex("--version").stdout == f"narthex {_native.__version__}\n"
    assert narthex("-V").stdout == f"narthex {_native.__version__}\n"


def test_an_option_of_narthex_behind_a_command_is_told_its_place():
    done = narthex("run", "roundtrip", "-q")
    assert done.returncode == 2
    assert "-q stands before the command: narthex -q run ..." in done.stderr


def test_quiet_says_nothing_of_what_goes_on(tmp_path):
    source = tmp_path / "empty.c"
    source.write_text("int main(void) { return 0; }")
    told = narthex("run", source, "--nodes", "1")
    assert "compiling empty.c" in told.stderr
    assert narthex("-q", "run", source, "--nodes", "1").stderr == ""
    source.write_text("int main(void) { int x = 1; x == 2; return 0; }")
    warned = narthex("-q", "run", source, "--nodes", "1").stderr
    assert warned.startswith("narthex: warning: the compiler says:")
    failed = narthex("-q", "run", "no-such-program")
    assert failed.returncode == 2
    assert "there is no program 'no-such-program'" in failed.stderr
    assert "\x1b" not in failed.stderr


def test_errors_are_red_on_a_terminal_that_wants_colour(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal.complain("no")
    assert capsys.readouterr().err == "\x1b[31mnarthex: no\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.complain("no")
    assert capsys.readouterr().err == "narthex: no\n"


def test_everything_is_listed_as_json():
    listed = json.loads(narthex("list", "--json", "-").stdout)
    assert listed["schema"] == 1
    names = {kind: [entry["name"] for entry in listed[kind]] for kind in listed if kind != "schema"}
    assert {"NI2w", "CNI512Q", "CNI32Qm"} <= set(names["interfaces"])
    assert {"hpca98", "isca96"} <= set(names["machines"])
    assert {"roundtrip", "bandwidth"} <= set(names["programs"])
    assert "hpca98/roundtrip" in names["experiments"]


def test_a_line_tells_each_name_from_the_others():
    for kind in ("interfaces", "machines", "programs", "experiments"):
        every = entries(kind)
        lines = Counter((entry["name"].rpartition("/")[0], entry["brief"]) for entry in every)
        assert [line for line, count in lines.items() if count > 1] == [], kind
        assert max(len(line) for _, line in lines) <= LONGEST + 25, kind
    assert {entry["name"] for entry in entries("interfaces")} == set(INTERFACES)


def test_families_are_folded_and_their_names_told(capsys):
    folded, each, one = (
        narthex("list", *words.split()).stdout for words in ("", "interfaces", "interfaces via")
    )
    assert "CNI16Qm, CNI32Qm, CNI32Qm+Throttle" in folded
    assert "voyager/..." in folded
    assert len(folded.splitlines()) < 120
    assert "CCDMA-retry" in each
    assert one.count("machines: edt") == 7
    assert "EDT\n  sends blocks as they are written" in one


def test_one_kind_is_listed_alone():
    done = narthex("list", "machines", "--json", "-")
    assert set(json.loads(done.stdout)) == {"schema", "machines"}


def test_a_run_writes_its_document_to_a_file(tmp_path):
    file = tmp_path / "result"  # whatever its name
    done = narthex("run", "roundtrip", 8, 20, 5, "-n", 2, "--json", file)
    assert done.returncode == 0, done.stderr
    assert "round-trip latency" in done.stdout
    assert json.loads(file.read_text())["ending"] == "finished"


def test_json_on_standard_output_is_alone_there():
    done = narthex("run", "hello", "-n", 2, "--json", "-")
    assert json.loads(done.stdout)["program"] == "hello"
    assert "hello from node 1" in done.stderr


def test_the_time_of_a_region_is_shown_without_what_stands_outside():
    done = narthex("run", "em3d", 256, 2, "-n", 4)
    whole, region = done.stdout.split("Where the time of region 'main' went, in percent")
    assert "exited" in whole
    assert "application" in region
    assert "exited" not in region


def test_a_c_file_runs_without_a_step_between(tmp_path):
    source = tmp_path / "three.c"
    source.write_text("#include <stdio.h>\nint main(int n, char **v) { puts(v[n - 1]); }\n")
    done = narthex("run", source, "-n", 1, "--", "--loud")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("--loud\n")


def test_a_program_that_fails_ends_with_one(tmp_path):
    source = tmp_path / "bad.c"
    source.write_text("int main(void) { return 7; }\n")
    done = narthex("run", source, "-n", 1)
    assert done.returncode == 1
    assert "7" in done.stderr


def test_a_protocol_is_proven_with_its_state_count():
    done = narthex("check", "protocol", "moesi", "--json", "-")
    (report,) = json.loads(done.stdout)["checks"]
    assert done.returncode == 0
    assert report["counter_example"] is None
    assert [each["states"] for each in report["explorations"]] == [669, 1248, 777, 2145]


def test_a_machine_tells_its_sources():
    done = narthex("machine", "show", "hpca98", "--sources")
    assert done.returncode == 0
    assert "stated" in done.stdout
    assert "Table 3" in done.stdout


def test_the_schema_is_json():
    assert json.loads(narthex("machine", "schema").stdout)["type"] == "object"


def test_an_experiment_writes_rows_and_claims_and_exits_with_four_when_one_fails(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "Mine"\nsource = "here"\nprogram = "roundtrip"\nmachine = "hpca98"\n'
        'report = "round-trip latency"\nunit = "us"\n'
        'interfaces = ["NI2w", "CNI32Qm"]\n'
        '[[workload]]\nname = "8 bytes"\nargs = ["8", "20", "5"]\n'
        '[[claim]]\ntext = "upside down"\nsource = "here"\nholds = "\'NI2w\' < \'CNI32Qm\'"\n'
    )
    done = narthex("experiment", file, "--json", "-")
    assert done.returncode == 4, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {
        "schema", "rows", "claims", "summaries", "failures", "ledgers", "varied", "untried",
        "machine", "version",
    }  # fmt: skip
    (claim,) = document["claims"]
    assert (claim["text"], claim["source"], claim["holds"]) == ("upside down", "here", False)
    assert document["summaries"][0]["published"] == 0
    assert [row["interface"] for row in document["rows"]] == ["NI2w", "CNI32Qm"]
    assert set(document["rows"][0]) == {
        "experiment", "interface", "baseline", "attach", "workload", "take", "value", "unit",
        "spread", "published_low", "published_high", "error_percent", "limit_percent",
        "within_limit", "error_points", "limit_points", "nearest_percent",
    }  # fmt: skip


def test_options_mean_the_same_wherever_they_are():
    """A short name, and what an option takes, is the same of all commands."""
    from narthex.cli import app

    commands = dict(_commands(typer.main.get_command(app)))
    found = {}
    for name, command in commands.items():
        # Short ones of compilers are their own.
        for each in [] if name in ("cc", "mpicc", "mpicxx") else command.params:
            if each.param_type_name == "option":
                found.setdefault(max(each.opts, key=len), {})[name] = each
    for option in ("--json", "--report", "--plot", "--open", "--nodes", "--set", "--threads",
                   "--seed", "--jobs", "--fresh", "--interface", "--machine"):  # fmt: skip
        of = found[option].values()
        assert len({(*each.opts, each.is_flag) for each in of}) == 1, option
        assert option == "--interface" or len({each.metavar for each in of}) == 1, option
    results = {"run", "compare", "explain", "experiment", "sweep", "fit logp"}
    for option in ("--json", "--report", "--plot", "--open", "--set"):
        assert results <= set(found[option]), option
    assert {"run", "compare", "sweep", "network"} <= set(found["--threads"]) & set(found["--nodes"])
    of_run = [name for name, of in found.items() if "run" in of and name.startswith("--")]
    watching = [name for name in of_run if name.startswith(("--trace", "--traffic", "--profile"))]
    assert len(watching) == 10


def _commands(command, prefix=""):
    for name, each in getattr(command, "commands", {}).items():
        yield f"{prefix}{name}", each
        yield from _commands(each, f"{prefix}{name} ")
