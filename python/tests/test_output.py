"""What becomes of results where a place for them is closed, full, or not read."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

NARTHEX = shlex.join([sys.executable, "-m", "narthex"])
RUN = "run roundtrip 8 20 5 --nodes 2"


def shell(line, **options):
    """Run a line of bash in which `narthex` stands for the command."""
    done = subprocess.run(
        ["bash", "-c", f'narthex() {{ {NARTHEX} "$@"; }}\n{line}'],
        capture_output=True, text=True, timeout=300, check=False, **options,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


# --- standard output ------------------------------------------------------------


@pytest.mark.parametrize("buffering", ["", "1"])
@pytest.mark.parametrize("command", ["list", "list --json -", "--help", "run hello --nodes 2"])
def test_a_full_standard_output_is_one_clear_error(command, buffering):
    environment = {**os.environ, "PYTHONUNBUFFERED": buffering}
    done = shell(f"narthex {command} > /dev/full", env=environment)
    assert done.returncode == 1
    told = "narthex: cannot write to standard output: No space left on device\n"
    assert done.stderr == told


def test_a_closed_standard_output_is_refused_before_the_work():
    done = shell("narthex run roundtrip 8 1000000000 >&-")
    assert done.returncode == 2
    assert done.stderr.startswith("narthex: standard output is closed")


def test_a_closed_standard_error_puts_nothing_onto_standard_output():
    done = shell("narthex run hello --nodes 2 --json - --set bus.clok=1MHz 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("command", ["list", "list --json -"])
def test_a_reader_that_has_read_enough_is_no_failure(command):
    done = shell(f"narthex {command} | head -1; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def unread(command, **options):
    """Run a command whose output and errors have no reader; returns its exit code."""
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "narthex", *shlex.split(command)]
    done = subprocess.run(words, stdout=writer, stderr=writer, timeout=300, check=False, **options)
    os.close(writer)
    return done.returncode


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (RUN, 0),
        ("sweep sweep.toml --jobs 1", 1),
        (f"{RUN} --until 1us", 1),
        (f"{RUN} --set bus.clok=1MHz", 2),
        ("run hangs deaf -i NI2w --nodes 2 --set machine.time_without_progress=100us", 3),
        ("run endless.c --nodes 1", 141),
        ("run endless.c --nodes 1 --until 1ms --json result.json", 1),
    ],
)
def test_a_command_keeps_its_code_though_nothing_of_it_is_read(tmp_path, command, code):
    (tmp_path / "endless.c").write_text(
        '#include <stdio.h>\nint main(void) { for (;;) puts("more"); }\n'
    )
    (tmp_path / "sweep.toml").write_text(
        'name = "short"\nprogram = "roundtrip"\nargs = "8 20 5"\ninterface = "NI2w"\nnodes = 2\n'
        'until = "1us"\nparameters = { seed = [1] }\n'
    )
    assert unread(command, cwd=tmp_path) == code


@pytest.mark.parametrize("reader", ["| true", "> /dev/full"])
def test_a_file_is_written_though_what_is_printed_is_not_read(tmp_path, reader):
    shell(f"narthex run hello --nodes 2 --json result.json {reader}", cwd=tmp_path)
    assert json.loads((tmp_path / "result.json").read_text())["program"] == "hello"


# --- files ----------------------------------------------------------------------


def test_a_result_that_cannot_be_written_is_shown_and_kept(tmp_path):
    page, profile = tmp_path / "full.html", tmp_path / "full.txt"
    for file in (page, profile):
        file.symlink_to("/dev/full")
    done = shell(f"narthex {RUN} --json /dev/full --report {page} --profile {profile}")
    assert done.returncode == 1
    assert "round-trip latency" in done.stdout
    places = re.findall(
        r"cannot write '(.*?)': No space left on device; the result is in '(.*?)'", done.stderr
    )
    assert {place for place, _ in places} == {"/dev/full", str(page), str(profile)}
    for _, kept in places:
        assert json.loads(Path(kept).read_text())["program"] == "roundtrip"
        Path(kept).unlink()


def test_a_checkpoint_that_cannot_be_written_is_told_quietly_too(tmp_path):
    place = "--checkpoint kept --checkpoint-every 100ms"
    full = "ulimit -f 1; narthex -q run roundtrip 64 12000 --nodes 2"
    done = shell(f"{full} {place}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = "narthex: warning: the checkpoint 'kept' cannot be written: File too large"
    assert {line.partition(" (")[0] for line in done.stderr.splitlines()} == {told}


def test_a_timeline_with_less_than_was_asked_for_is_told_quietly_too(tmp_path):
    done = shell(f"narthex -q {RUN} --trace t.pftrace --trace-from 1s", cwd=tmp_path)
    assert done.stderr.startswith("narthex: warning: the timeline 't.pftrace' is empty: the run")
    assert shell(f"narthex -q {RUN} --trace t.pftrace", cwd=tmp_path).stderr == ""


def test_a_timeline_that_cannot_be_written_is_told_and_the_result_is_there(tmp_path):
    done = shell(f"narthex {RUN} --trace /dev/full --json result.json", cwd=tmp_path)
    assert done.returncode == 1
    assert "the timeline '/dev/full' is cut off at" in done.stderr
    assert "No space left on device" in done.stderr
    assert "open it" not in done.stderr
    assert json.loads((tmp_path / "result.json").read_text())["ending"] == "finished"


@pytest.mark.parametrize("option", ["--json", "--trace"])
def test_a_device_is_written_into_and_stays(tmp_path, option):
    (tmp_path / "null").symlink_to("/dev/null")
    done = shell(f"narthex {RUN} {option} ./null", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "null").is_symlink()
    assert Path("/dev/null").is_char_device()


def test_a_program_is_compiled_into_a_device(tmp_path):
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "null").symlink_to("/dev/null")
    assert shell("narthex cc empty.c -o null", cwd=tmp_path).returncode == 0
    assert (tmp_path / "null").is_symlink()
    assert shell("narthex cc empty.c -o empty; ./empty", cwd=tmp_path).returncode == 126  # RISC-V


def test_a_timeline_goes_through_a_pipe():
    done = shell(f"narthex {RUN} --trace >(wc -c >&2) > /dev/null; wait $!")
    written, count = done.stderr.splitlines()
    assert written.startswith("narthex: the timeline was written to '/dev/fd/")
    assert int(count) > 100_000


def test_a_pipe_without_a_reader_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = shell(f"narthex {RUN} --trace ./pipe", cwd=tmp_path)
    assert done.returncode == 2
    assert "it is a pipe that no program reads" in done.stderr


def test_what_is_no_file_is_no_checkpoint(tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    for arguments in ("--checkpoint ./null", "--checkpoint /dev/zero --resume"):
        done = shell(f"narthex {RUN} {arguments}", cwd=tmp_path)
        assert done.returncode == 2
        assert "it is a device, and a checkpoint is a file" in done.stderr
    assert (tmp_path / "null").is_symlink()


def test_a_checkpoint_behind_a_link_is_deleted_with_its_run(tmp_path):
    (tmp_path / "link").symlink_to("there")
    done = shell(f"narthex {RUN} --checkpoint ./link --checkpoint-every 100ms", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["link"]


# --- what is read ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run /dev/zero", "'/dev/zero' is a device, and cannot be a program"),
        ("report /dev/zero", "'/dev/zero' is a device, and cannot be a result"),
        ("machine show /dev/zero", "cannot read the machine's file /dev/zero: it is a device"),
        ("run hello --machine ./folder", "cannot read the machine's file ./folder: it is a folder"),
    ],
)
def test_a_device_is_no_input(tmp_path, command, message):
    (tmp_path / "folder").mkdir()
    done = shell(f"narthex {command}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"narthex: {message}\n")


def test_a_machine_may_come_through_a_pipe():
    done = shell("narthex run hello --json - --machine <(narthex machine show isca96)")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["machine"]["machine"]["name"] == "isca96"


def test_waiting_for_a_pipe_can_be_interrupted(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [sys.executable, "-m", "narthex", "machine", "show", str(tmp_path / "pipe")],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with (tmp_path / "pipe").open("wb"):  # now it is waiting for what comes
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told


# --- limits of the process --------------------------------------------------------


EATS = """
#include <stdlib.h>
int main(void) {
    for (;;) {
        volatile char *block = malloc(1 << 20);
        for (int i = 0; i < 1 << 20; i += 4096)
            block[i] = 1;
    }
}
"""


def test_a_guest_that_takes_all_addresses_is_ended_with_a_message(tmp_path):
    (tmp_path / "eats.c").write_text(EATS)
    done = shell(
        "narthex cc eats.c -o eats; ulimit -v 500000; narthex run ./eats --nodes 1", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "out of the addresses that it may have (ulimit -v) at simulated time" in done.stderr
    done = shell("ulimit -v 500000; narthex run hello --nodes 4000")
    assert done.returncode == 2
    assert "not enough memory for the machine" in done.stderr


def test_a_page_is_refused_where_charts_cannot_be_drawn_and_made_once_they_could(tmp_path):
    shell(f"narthex {RUN} --json r.json --report once.html", cwd=tmp_path)
    limited = "ulimit -v 4000000; narthex report r.json --output page.html"
    done = shell(limited, cwd=tmp_path, env={**os.environ, "NARTHEX_CACHE": str(tmp_path)})
    assert done.returncode == 2
    assert "charts cannot be drawn here" in done.stderr
    assert not (tmp_path / "page.html").exists()
    assert shell(limited, cwd=tmp_path).returncode == 0
    assert (tmp_path / "page.html").read_text() == (tmp_path / "once.html").read_text()


def test_an_explanation_can_be_interrupted():
    slow = ["--set", "interfaces.cni_iqm.engine_time=1000s"]
    process = subprocess.Popen(
        [sys.executable, "-m", "narthex", "explain", "CNI32Qm", *slow],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert "ms simulated" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.endswith("narthex: interrupted\n")


def test_verbose_says_what_is_called_and_what_is_kept(capfd):
    done = subprocess.run(
        [sys.executable, "-m", "narthex", "-v", "run", "hello", "-n", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert re.search(r"narthex: \S+/programs/\S+/hello", done.stderr)
    assert 'narthex: request {"' in done.stderr
    assert "request" not in done.stdout
