"""Standard output and error of a command: closed, full, or with a reader that has gone.

A reader that has read enough (`narthex list | head -1`) ends the command
quietly, as it ends other tools. A closed or full standard output is an error:
what was to be printed there is lost.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

from narthex.cli.terminal import complain
from narthex.errors import NOT_WRITTEN, USAGE, NarthexError


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
    output = _Output(sys.stdout)
    code = 0
    try:
        with redirect_stdout(output):  # type: ignore[type-var] - it has what is used of one
            code = command()
            output.flush()
    except OutputError as error:
        code = fail(str(error), error.exit_code)
        output.close()
    except BrokenPipeError:
        output.close()
    except SystemExit as left:  # so Typer ends when a pipe has no reader
        if not isinstance(left.__context__, BrokenPipeError):
            raise
        output.close()
    return code


class _Output:
    """Standard output, whose errors say that they are its own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        with _told():
            return self._stream.write(text)

    def flush(self) -> None:
        """Write what is still to be written."""
        with _told():
            self._stream.flush()

    def close(self) -> None:
        """Give up; Python will flush once more at its end, into nothing."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextmanager
def _told() -> Iterator[None]:
    """Name standard output in an error; that a reader has gone is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        told = f"cannot write to standard output: {error.strerror}"
        raise OutputError(told, NOT_WRITTEN) from error
