"""Standard output and error of a command: closed, full, or with a reader that has gone.

A reader that has read enough (`narthex list | head -1`) is no failure: what is still printed is
dropped, and the command ends with the code that it would have had. A program under simulation
that goes on printing is ended by that, as others are by SIGPIPE, where its run has nothing else
to write (`is_read`). A closed or full standard output is an error: what was to be printed
there is lost. What standard error does not take is lost without a word.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import TextIO

from narthex.cli.terminal import complain
from narthex.errors import NOT_WRITTEN, USAGE, NarthexError

UNREAD = 128 + signal.SIGPIPE
"""What a shell says of a command that SIGPIPE has ended."""


class OutputError(NarthexError):
    """Standard output does not take what is printed."""


def fail(message: str, code: int) -> int:
    """Print an error; returns the exit code."""
    complain(message)
    return code


def guarded(command: Callable[[], int]) -> int:
    """Run a command; returns its exit code, or that of what standard output cannot take."""
    if sys.stderr is None:  # it is closed; Python would print on standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        return fail("standard output is closed; if nobody wants it, give it /dev/null", USAGE)
    output, errors = _Stream(sys.stdout, "standard output"), _Stream(sys.stderr)
    code = 0
    with redirect_stdout(output), redirect_stderr(errors):  # type: ignore[type-var] - they have what is used
        try:
            code = command()
            output.flush()
        except OutputError as error:
            told = fail(str(error), error.exit_code)
            code = code or told
            output.give_up()
        except BrokenPipeError:
            code = UNREAD
        except SystemExit as left:  # so Typer ends when a pipe has no reader
            if not isinstance(left.__context__, BrokenPipeError):
                raise
            output.give_up()
        errors.flush()
    return code


def is_read(stream: TextIO) -> bool:
    """Tell whether a stream has not lost its reader, as far as that has been noticed."""
    return not isinstance(stream, _Stream) or stream.is_read


class _Stream:
    """A standard stream that drops what has no reader; its other errors name it, if it has a name.

    Without a name it drops what it cannot write.
    """

    def __init__(self, stream: TextIO, name: str = "") -> None:
        self._stream = stream
        self._name = name
        self.is_read = True
        """Whether it has, as far as is known, a reader."""

    def write(self, text: str) -> int:
        """Write a text."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Write what is still to be written."""
        self._try(self._stream.flush)

    def give_up(self) -> None:
        """Drop all from now on; Python will flush once more at its end, into nothing."""
        self.is_read = False
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def _try(self, written: Callable[[], object]) -> None:
        try:
            written()
        except BrokenPipeError:
            self.give_up()
        except OSError as error:
            if self._name:
                told = f"cannot write to {self._name}: {error.strerror}"
                raise OutputError(told, NOT_WRITTEN) from error
            self.give_up()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
