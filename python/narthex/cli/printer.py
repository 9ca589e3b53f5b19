"""What programs write, in the terminal."""

import sys
from collections import defaultdict
from typing import TextIO

from narthex.cli.streams import OutputError, is_read


class Printer:
    """Prints what the program writes, as it writes it.

    Once a second process writes, lines begin with the number of their node, or
    with "node.process" if they are not from its first process; the lines before
    cannot be told apart any more and need not: they are one's. Lines of firmware
    begin with its node and "firmware" in any case.
    """

    def __init__(self, stdout: TextIO, *, goes_on: bool = False) -> None:
        self._streams = {"stdout": stdout, "stderr": sys.stderr, "firmware": stdout}
        self._goes_on = goes_on
        """Whether the run does when its output is not read: it has something else to write."""
        self._writers: set[str] = set()
        self._parts: dict[tuple[str, str], bytearray] = defaultdict(bytearray)

    def write(self, node: int, process: int, stream: str, data: bytes) -> None:
        """Print the whole lines that are there.

        Raises `BrokenPipeError` where nobody reads them, and nothing else is to be written.
        """
        from narthex.results import place_of

        writer = place_of({"node": node, "process": process, "stream": stream})
        self._writers.add(writer)
        begun = self._parts[writer, stream]
        # Only what is new is searched: a line may come byte by byte.
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._print(writer, stream, bytes(begun) + end)
            begun.clear()
        begun += rest
        if not (self._goes_on or is_read(self._streams["stdout"])):
            raise BrokenPipeError

    def finish(self) -> None:
        """Print the last lines, which have no end."""
        for (writer, stream), rest in self._parts.items():
            if rest:
                self._print(writer, stream, bytes(rest))

    def _print(self, writer: str, stream: str, line: bytes) -> None:
        is_marked = len(self._writers) > 1 or stream == "firmware"
        prefix = f"[{writer}] " if is_marked else ""
        try:
            print(prefix + line.decode(errors="replace"), file=self._streams[stream], flush=True)
        except OutputError:
            if not self._goes_on:
                raise
