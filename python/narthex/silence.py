"""A run that reacts no more, to `--timeout` or to Ctrl-C, and how its process ends all the same.

A run looks several times a second whether it is to go on: between events. An event that takes this
computer long, as a model with a fault may make one, keeps it from looking. A guard beside the run
sees that, and ends the process: the simulator cannot be stopped within an event. Only processes
that make runs and nothing else have a guard: the command line and the workers of sweeps.
"""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from narthex import _native
from narthex.errors import GUEST_FAILED, INTERRUPTED

GRACE_S = 5.0
"""Seconds that a run may be silent after it should have stopped."""
_LOOK_EVERY_S = 0.5

_tell: Callable[[str], object] | None = None


def end_silent_runs(tell: Callable[[str], object]) -> None:
    """From now on, runs of this process that react no more end it, after `tell` has heard why."""
    global _tell
    _tell = tell


@contextmanager
def guarded() -> Iterator[None]:
    """Watch the run that is made meanwhile, if this process's runs are watched."""
    if _tell is None:
        yield
        return
    over, told = threading.Event(), None
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        told = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    guard = threading.Thread(target=_watch, args=(ours, over, _tell), daemon=True)
    guard.start()
    try:
        yield
    finally:
        if told is not None:
            signal.set_wakeup_fd(told)
        over.set()
        theirs.close()  # which wakes the guard
        guard.join()
        ours.close()


def _watch(signals: socket.socket, over: threading.Event, tell: Callable[[str], object]) -> None:
    """Look at the run until it is over."""
    interrupted_s: float | None = None
    while not over.is_set():
        readable, _, _ = select.select([signals], [], [], _LOOK_EVERY_S)
        if readable and signal.SIGINT in signals.recv(64):
            interrupted_s = time.monotonic()
        silence = _native.silence()
        if silence is None or silence[0] < GRACE_S:
            continue
        silent_s, late_s = silence
        if interrupted_s is not None and time.monotonic() - interrupted_s > GRACE_S:
            _end(tell, "interrupted", silent_s, INTERRUPTED)
        if late_s > GRACE_S:
            _end(tell, "the run has not ended within its --timeout", silent_s, GUEST_FAILED)


def _end(tell: Callable[[str], object], why: str, silent_s: float, code: int) -> None:
    """End the process, from beside a run that does not react."""
    tell(
        f"{why}, and has not reacted for {silent_s:.0f} s: one event takes longer than that, which"
        " is a fault of the simulator or of an interface; nothing of the run is kept but its"
        " checkpoints"
    )
    os._exit(code)
