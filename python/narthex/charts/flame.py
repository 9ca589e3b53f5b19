"""Flame graphs: a bar for each function, as wide as its time, above the one that called it.

    | [execute]      | [data miss] |           innermost: the ledger's category, in its colour
    |            receive           | compute |
    |                   main                 |
    |                  all time              |

Widths are in percent of the picture's, so that it fits any page. A click on a bar makes it as wide
as the picture, a click on the lowest one shows all again.
"""

import html
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from narthex.charts import palette
from narthex.notation import text

BAR = 20
"""Points of a bar."""
HEADING = 26
NARROWEST = 0.0005
"""Bars that are a smaller part of the whole are left out."""
OPACITY = 0.4
"""Of the colour of a category, so that its name can be read on it."""
DEEPEST = 64
"""Calls, one in another, that are drawn."""

SCRIPT = """(() => {
const bars = [...document.currentScript.closest("svg").querySelectorAll(".bar")];
const show = (begin, width) => bars.forEach((bar) => {
  const at = +bar.dataset.x, end = at + +bar.dataset.w, last = begin + width;
  bar.style.display = at < last - 1e-9 && end > begin + 1e-9 ? "" : "none";
  const left = Math.max(at, begin), right = Math.min(end, last);
  bar.setAttribute("x", `${100 * (left - begin) / width}%`);
  bar.setAttribute("width", `${100 * Math.max(right - left, 0) / width}%`);
});
bars.forEach((bar) => {
  const widen = () => show(+bar.dataset.x, +bar.dataset.w);
  bar.addEventListener("click", widen);
  bar.addEventListener("keydown", (event) => event.key === "Enter" && widen());
});
})()"""
"""Widens the bar that is clicked, by the begin and width in percent that each bar has."""


@dataclass
class Node:
    """A function on a path of calls."""

    time: int = 0
    inner: dict[str, "Node"] = field(default_factory=dict)


def svg(stacks: Counter[tuple[str, ...]], title: str, *, is_alone: bool) -> str:
    """Draw the time of stacks, in picoseconds, outermost function first."""
    root = _tree(stacks)
    whole = max(root.time, 1)
    bars = list(_bars("all", root, 0, 0, whole))
    depth = max(depth for _, depth, *_ in bars) + 1
    height = HEADING + depth * BAR
    drawn = "".join(_bar(bar, whole, depth) for bar in bars)
    words = html.escape(f"Where the time of {title} went", quote=True)
    # XML, and SVG in a page, read a script as text, in which signs have names.
    script = html.escape(SCRIPT, quote=False)
    style = f"<style>{palette.style_sheet()}svg{{background:var(--surface)}}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}" width="100%"'
        f' height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="12">'
        f"{style if is_alone else ''}"
        f'<text x="6" y="17" fill="var(--text)" font-weight="bold">{words}</text>'
        f"{drawn}<script>{script}</script></svg>"
    )


def _tree(stacks: Counter[tuple[str, ...]]) -> Node:
    root = Node()
    for stack, time in sorted(stacks.items()):
        node = root
        node.time += time
        shown = stack if len(stack) <= DEEPEST else (*stack[: DEEPEST - 1], "[deeper]")
        for name in shown:
            node = node.inner.setdefault(name, Node())
            node.time += time
    return root


Bar = tuple[str, int, int, int]
"""Name, depth, begin and width."""


def _bars(name: str, node: Node, depth: int, begin: int, whole: int) -> Iterator[Bar]:
    yield name, depth, begin, node.time
    for inner, below in sorted(node.inner.items(), key=lambda each: (-each[1].time, each[0])):
        if below.time >= NARROWEST * whole:
            yield from _bars(inner, below, depth + 1, begin, whole)
        begin += below.time


def _bar(bar: Bar, whole: int, depth: int) -> str:
    name, own_depth, begin, time = bar
    at, width = 100 * begin / whole, 100 * time / whole
    top = HEADING + (depth - 1 - own_depth) * BAR
    colour, opacity = _colour(name)
    told = html.escape(name)
    return (
        f'<svg class="bar" tabindex="0" data-x="{at:.4f}" data-w="{width:.4f}" x="{at:.4f}%"'
        f' y="{top}" width="{width:.4f}%" height="{BAR}">'
        f"<title>{told}: {text(time / 1e6)} us, {width:.2f} %</title>"
        f'<rect width="100%" height="{BAR - 1}" fill="{colour}" fill-opacity="{opacity}"'
        f' stroke="var(--surface)"/><text x="4" y="14" fill="var(--text)">{told}</text></svg>'
    )


def _colour(name: str) -> tuple[str, str]:
    """Return a bar's colour: a category has that of what the processor does in it."""
    activity, divided, occupation = name.strip("[]").partition(" / ")
    if not (divided and name.startswith("[")):
        return "var(--plain-surface)", "1"
    if occupation == "execute" and activity in palette.ACTIVITIES:
        return palette.of_part("activity", activity), str(OPACITY)
    return palette.of_part("occupation", occupation), str(OPACITY)
