"""Explains a message of a run that was made before: its machine, its interface, its size.

A run's document holds its resolved machine but no message's life. The life is
made now, on that machine, for the most frequent size of messages.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import tomli_w

from narthex.errors import NarthexError
from narthex.explanation import Explanation, explain, payload_bytes

LONGEST_S = 20
"""Of this computer's time: a machine may be so slow that its messages take for ever."""


def life(document: dict[str, Any]) -> Explanation:
    """Explain a message as the run sent most of.

    Raises `NarthexError` if the present simulator does not know the run's
    machine or interface any more, or a message takes too long on it.
    """
    end_s = time.monotonic() + LONGEST_S
    with tempfile.TemporaryDirectory() as folder:
        machine = Path(folder) / "machine.toml"
        machine.write_text(tomli_w.dumps(document["machine"]), encoding="utf-8")
        try:
            return explain(
                document["interface"],
                payload_bytes(document),
                machine=str(machine),
                observer=lambda _time_ps: time.monotonic() < end_s,
            )
        except NarthexError as error:
            if time.monotonic() < end_s:
                raise
            told = f"its simulation takes over {LONGEST_S} s on this machine"
            raise NarthexError(told) from error
