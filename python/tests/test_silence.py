"""A run that reacts no more ends by its timeout and by Ctrl-C all the same."""

import signal
import subprocess
import sys
import time

import pytest

RUN = """
import time
from narthex import _native, cli, running, silence

def run(*_):
    print("begun", flush=True)
    time.sleep(60)  # an event without an end: no signal's handler is called within it
    raise SystemExit(99)

silence.GRACE_S = 0.5
_native.silence = lambda: {silence}
# A native call does not look at signals; this one stands for it.
import signal, threading
{handler}
_native.run = run
cli.main(["-q", "run", "hello", "-i", "NI2w"])
"""


def started(silence: str, handler: str = "") -> subprocess.Popen[str]:
    """Start a process whose run reacts as told; returns when it has begun."""
    script = RUN.format(silence=silence, handler=handler)
    command = [sys.executable, "-c", script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def test_a_run_that_is_late_and_silent_ends() -> None:
    process = started("(7.0, 6.0)")
    _, told = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "has not ended within its --timeout, and has not reacted for 7 s" in told


@pytest.mark.parametrize("reacting", ["(0.1, 60.0)", "(7.0, -1.0)", "None"])
def test_a_run_that_reacts_or_is_not_late_goes_on(reacting: str) -> None:
    process = started(reacting)
    time.sleep(2)
    assert process.poll() is None
    process.kill()
    process.communicate()


def test_a_run_that_is_interrupted_and_silent_ends() -> None:
    # The handler of a signal is not called while native code runs.
    process = started("(7.0, float('-inf'))", "signal.signal(signal.SIGINT, lambda *_: None)")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted, and has not reacted for 7 s" in told
