"""What each colour means, in the light and the dark scheme.

A meaning has the same colour in every chart of every page, file and notebook.
Activities and occupations have the colours of Okabe and Ito, which people with
any kind of colour vision tell apart; curves have them first, and further ones
behind. Text has a contrast of 4.5 or more on both surfaces.
"""

import json
import re
from itertools import cycle
from typing import Any

from narthex import _native

FIRMWARE = tuple(each["name"] for each in json.loads(_native.list("firmware-activities")))
"""The activities that models of interfaces declare of their firmware."""


def _of_firmware(*colours: str) -> dict[str, str]:
    """Return the colours of firmware's activities; where there are more, they begin again."""
    return {_variable("activity", name): colour for name, colour in zip(FIRMWARE, cycle(colours))}


def _variable(by: str, part: str) -> str:
    return f"{by}-{part.replace(' ', '-')}"


LIGHT = {
    "surface": "#ffffff", "raised": "#f5f6f8", "text": "#1b1f24", "muted": "#57606a",
    "line": "#d5dae0", "accent": "#0b5cad", "good": "#116329", "good-surface": "#dcf3e1",
    "bad": "#a40e26", "bad-surface": "#fde3e1", "plain-surface": "#e8ebef",
    "measured": "#0072b2", "published": "#c25e00", "other": "#8a929b",
    "activity-application": "#999999", "activity-shared-memory": "#cc79a7",
    "activity-send": "#0072b2", "activity-receive": "#56b4e9", "activity-poll": "#d6c300",
    "activity-wait-to-send": "#e69f00", "activity-buffering": "#d55e00",
    "activity-synchronisation": "#009e73",
    **_of_firmware(
        "#8c564b", "#c49c94", "#7a4fc9", "#b79ce6", "#00737f", "#3fb8c5", "#a40e26", "#ef8a8a",
        "#5d7d00",
    ),
    "activity-exited": "#30363d", "activity-idle": "#c3cad2",
    "occupation-execute": "#999999", "occupation-data-miss": "#0072b2",
    "occupation-instruction-miss": "#cc79a7", "occupation-uncached-access": "#d55e00",
    "occupation-store-buffer": "#009e73", "occupation-system-call": "#8c564b",
    "occupation-interrupt": "#57606a", "occupation-asleep": "#7a4fc9",
    "series-1": "#0072b2", "series-2": "#d55e00", "series-3": "#009e73", "series-4": "#b5548a",
    "series-5": "#c98a00", "series-6": "#3a9bd6", "series-7": "#57606a", "series-8": "#7a4fc9",
    "series-9": "#8a5a2b", "series-10": "#00808f", "series-11": "#a40e26", "series-12": "#5d7d00",
}  # fmt: skip
"""Of paper, and of a reader who has not chosen."""

DARK = LIGHT | {
    "surface": "#14181d", "raised": "#1d232a", "text": "#e6eaef", "muted": "#a3adb8",
    "line": "#38414b", "accent": "#6cb6ff", "good": "#7ee2a0", "good-surface": "#12351f",
    "bad": "#ff9d94", "bad-surface": "#4a1a1c", "plain-surface": "#2a323b",
    "measured": "#56b4e9", "published": "#ff9f43", "other": "#6b7682",
    "activity-send": "#2b8fd1", "activity-receive": "#8accf2", "activity-poll": "#f0e442",
    **_of_firmware(
        "#8c564b", "#c49c94", "#9d7bea", "#cbb6f5", "#1a98a6", "#6fd6e2", "#e0485c", "#ffb3b3",
        "#9cc23a",
    ),
    "activity-exited": "#d0d7de", "activity-idle": "#4d5762", "occupation-data-miss": "#56b4e9",
    "occupation-interrupt": "#a3adb8", "occupation-asleep": "#9d7bea",
    "series-1": "#56b4e9", "series-2": "#ff8a3d", "series-3": "#2cc295", "series-4": "#e295c2",
    "series-5": "#f0b429", "series-6": "#2b8fd1", "series-7": "#a3adb8", "series-8": "#b197fc",
    "series-9": "#c99a6b", "series-10": "#3fc1d0", "series-11": "#ff7b72", "series-12": "#a6c84c",
}  # fmt: skip

SERIES = 12
"""Colours for curves; more curves begin again, with other points."""

ACTIVITIES = (
    "application", "shared memory", "send", "receive", "poll", "wait to send", "buffering",
    "synchronisation", *FIRMWARE, "exited", "idle",
)  # fmt: skip
"""In the order of the stack, from below: the program's own work, what messages cost, what
waiting costs, phases of firmware."""

OCCUPATIONS = (
    "execute", "data miss", "instruction miss", "uncached access", "store buffer",
    "system call", "interrupt", "asleep",
)  # fmt: skip

STALLS = {
    "busy": "occupation-execute", "execution": "series-7", "mispredicted branch": "series-11",
    "instruction fetch": "series-4", "load, second level": "activity-receive",
    "load, last level": "series-6", "load, memory": "series-1", "load, other socket": "series-8",
    "load, another cache": "series-10", "load, device": "series-9", "load, other": "other",
    "miss registers full": "activity-poll", "store": "series-12", "store buffer full": "series-3",
    "MMIO read": "series-2", "MMIO write": "activity-wait-to-send", "fence": "series-5",
    "atomic": "activity-shared-memory", "system call or no thread": "activity-idle",
}  # fmt: skip
"""Why nothing retires, with the variables of the colours: those of other parts."""

_KNOWN = {"activity": ACTIVITIES, "occupation": OCCUPATIONS, "stall": tuple(STALLS)}

_VARIABLE = re.compile(r"var\(--([\w-]+)\)")


def style_sheet() -> str:
    """Return both schemes as the variables of a page's style sheet."""
    changed = {name: colour for name, colour in DARK.items() if LIGHT[name] != colour}
    return (
        f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables(changed)} }} }}\n"
    )


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def in_light(specification: dict[str, Any]) -> dict[str, Any]:
    """Return a drawing with the light scheme's colours in the place of their names."""
    return json.loads(_VARIABLE.sub(lambda found: LIGHT[found[1]], json.dumps(specification)))


def of_series(rank: int) -> str:
    """Return the colour of a curve, which counts from 0."""
    return f"var(--series-{1 + rank % SERIES})"


def of_part(by: str, part: str) -> str:
    """Return the colour of a part of a ledger, by `activity`, `occupation` or `stall`."""
    if part not in _KNOWN[by]:
        return "var(--other)"
    return f"var(--{STALLS[part] if by == 'stall' else _variable(by, part)})"


def in_order(by: str, parts: set[str]) -> list[str]:
    """Return a ledger's parts in the order of the stack; others come last."""
    known = _KNOWN[by]
    return [part for part in known if part in parts] + sorted(parts - set(known))
