"""The shell completes commands, options and values; tried as bash asks."""

import os
import shutil
import subprocess
import sys

import pytest


def offered(line):
    """Return what bash is offered for the last word of a command line."""
    words = line.split(" ")
    environment = os.environ | {
        "_NARTHEX_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "narthex"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("narthex doc", ["doctor"]),
        ("narthex list ma", ["machines"]),
        ("narthex run rou", ["roundtrip"]),
        ("narthex run roundtrip --interf", ["--interface"]),
        ("narthex run roundtrip -i CNI5", ["CNI512Q"]),
        ("narthex run roundtrip --interface cni5", ["cni512Q"]),
        (
            "narthex run roundtrip --machine ",
            [
                "chip",
                "cluster",
                "edt",
                "host-bdw",
                "host-hsw",
                "host-hsw-iommu",
                "host-ivb",
                "host-snb",
                "hpca98",
                "hpca98-calibrated",
                "isca96",
                "sarc-chip",
                "sarc-prototype",
                "server",
                "smp",
                "voyager",
            ],
        ),
        ("narthex run roundtrip --set bus.cl", ["bus.clock="]),
        ("narthex run roundtrip --set io_bus.cl", []),
        ("narthex run roundtrip --machine isca96 --set io_bus.cl", ["io_bus.clock="]),
        ("narthex run roundtrip --machine none.toml --set io_bus.cl", []),
        ("narthex compare roundtrip -i al", ["all"]),
        ("narthex compare roundtrip -i NI2w,CNI5", ["NI2w,CNI512Q"]),
        ("narthex explain CNI32", ["CNI32Qm", "CNI32Qm+Throttle"]),
        ("narthex experiment isca96/ro", ["isca96/roundtrip"]),
        ("narthex machine show is", ["isca96"]),
        ("narthex machine new a.toml --from isca96 --set io_bus.cl", ["io_bus.clock="]),
        ("narthex machine diff hpca98 isc", ["isca96"]),
        ("narthex fit logp -i NI2w,CNI5", ["NI2w,CNI512Q"]),
        ("narthex report ", []),  # files are the shell's
    ],
)
def test_a_word_is_completed(line, values):
    assert offered(line) == values


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_takes_the_script_and_completes(tmp_path):
    """Load the script, call the function that it registers, and look at COMPREPLY."""
    command = tmp_path / "narthex"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m narthex "$@"\n')
    command.chmod(0o755)
    script = """
        eval "$(narthex --show-completion bash)"
        complete -p narthex
        COMP_WORDS=(narthex run roundtrip --interface NI) COMP_CWORD=4
        _narthex_completion narthex
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    registered, *names = done.stdout.splitlines()
    assert "_narthex_completion narthex" in registered
    assert "NI2w" in names
    assert not [name for name in names if not name.startswith("NI")]


@pytest.mark.parametrize("given", [["--help"], ["--version"], ["run", "roundtrip", "8", "2"]])
def test_a_command_loads_no_library_that_it_does_not_use(given):
    heavy = ["polars", "altair", "jinja2", "distributed", "narthex.report", "narthex.sweeps"]
    program = (
        "import sys\n"
        "from narthex.cli import main\n"
        "try:\n"
        f"    main({given!r})\n"
        "except SystemExit:\n"
        f"    print('loaded:', [name for name in {heavy!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("loaded: []\n")
