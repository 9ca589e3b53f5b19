"""Makes runs in processes of this machine, several at a time.

    sweep ── thread ══ pipe ══ process: `work.serve`
          ── thread ══ pipe ══ process: `work.serve`

Each thread has a process of its own and gives it one run after the other, so
that it is plain which run was lost when a process is killed: by the kernel for
want of memory, or by hand. That run is begun again, in a new process. A process
ends by itself when the sweep does, however that ended.

(The pools of Python's library lose every run when one process is killed, and
import the caller's own script again in each.)
"""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import Pipe
from pathlib import Path

import narthex
from narthex.errors import NarthexError
from narthex.sweeps.work import Made, Task

RETRIES = 2
"""How often a run is begun again whose process was lost."""

_PROCESS = "import sys; from narthex.sweeps.work import serve; serve(int(sys.argv[1]))"


class Processes:
    """As many processes as are asked for, which make runs."""

    def __init__(self, jobs: int) -> None:
        self.capacity = jobs
        self._threads = ThreadPoolExecutor(max_workers=jobs)
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._closed = False

    def submit(self, task: Task) -> Future[Made]:
        """Begin a run, as soon as a process is free."""
        return self._threads.submit(self._make, task)

    def made(self, future: Future[Made]) -> Made:
        """Return what came of a run that has come to its end."""
        return future.result()

    def close(self) -> None:
        """End all processes, and what they are making."""
        with self._lock:
            self._closed = True
            for process in [*self._idle, *self._busy]:
                process.end()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _make(self, task: Task) -> Made:
        for _ in range(1 + RETRIES):
            process = self._free()
            try:
                made = process.make(task)
            except (EOFError, OSError):
                ending = process.ending()
                with self._lock:
                    self._busy.discard(process)
                    if self._closed:
                        break
                continue
            with self._lock:
                self._busy.discard(process)
                self._idle.append(process)
            if isinstance(made, NarthexError):
                raise made
            return made
        return lost(ending, 1 + RETRIES)

    def _free(self) -> "_Process":
        with self._lock:
            if self._closed:
                raise NarthexError("the sweep has ended")
            process = self._idle.pop() if self._idle else _Process()
            self._busy.add(process)
            return process


def lost(reason: str, attempts: int) -> Made:
    """Return what came of a run whose processes were lost, each time that it was begun."""
    told = f"{reason}, {attempts} times; does the run need more memory than there is?"
    return Made("failed", error=told, exit_code=None)


class _Process:
    """A process that makes one run at a time."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        package = str(Path(narthex.__file__).parent.parent)
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROCESS, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # Ctrl-C is the sweep's, which then ends this
        )
        theirs.close()

    def make(self, task: Task) -> Made | NarthexError:
        """Make a run; `EOFError` or `OSError` if the process ends meanwhile."""
        self._connection.send(task)
        return self._connection.recv()

    def ending(self) -> str:
        """Say how it ended."""
        code = self._process.wait()
        self._connection.close()
        if code < 0:
            return f"its process was killed by {signal.Signals(-code).name}"
        return f"its process ended with {code}"

    def end(self) -> None:
        """End it; a thread that waits for it gets `EOFError`."""
        self._process.kill()
        self._process.wait()
