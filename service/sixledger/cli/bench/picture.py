"""What was found, as a picture: one SVG file that needs nothing else and follows the reader's light or dark ground.

For each scenario: latency by percentile, both axes logarithmic, and replies a second as bars.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sixledger.cli.bench.plan import KINDS
from sixledger.cli.bench.report import number, target

_WIDTH, _PANEL, _TOP = 840, 336, 64
#: The curves: left, right, top and bottom edge in a panel. The bars: left and right edge.
_LEFT, _RIGHT, _ABOVE, _BELOW = 56, 520, 44, 252
_BARS, _END = 572, 816
_COLOURS = 6
_STYLE = """
svg { --ground: #fdfcfa; --ink: #22252b; --faint: #6c727d; --line: #dcd9d2;
  --c0: #a04a12; --c1: #2a6f97; --c2: #4d7c0f; --c3: #86198f; --c4: #b7791f; --c5: #475569; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #181a20; --ink: #d6dae2; --faint: #949ba8; --line: #343842;
    --c0: #f0955a; --c1: #6ec1e4; --c2: #a3d977; --c3: #e38cff; --c4: #f5d06a; --c5: #a9b4c4; }
}
.ground { fill: var(--ground); }
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.title { font-size: 15px; font-weight: 600; }
.faint { fill: var(--faint); font-size: 11px; }
.grid { stroke: var(--line); stroke-width: 1; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
.dashed { stroke-dasharray: 5 4; }
"""
_STYLE += "".join(
    f".s{each} {{ stroke: var(--c{each}); }} .f{each} {{ fill: var(--c{each}); }}\n" for each in range(_COLOURS)
)


def picture(document: dict[str, Any]) -> str:
    """The SVG of a whole document of `sixledger bench --json`."""
    results = document["results"]
    height = _TOP + _PANEL * len(results)
    svg = Element(
        "svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {_WIDTH} {height}", width=str(_WIDTH),
        height=str(height), role="img",
    )  # fmt: skip
    SubElement(svg, "title").text = "Latency and throughput, measured by sixledger bench"
    SubElement(svg, "style").text = _STYLE
    SubElement(svg, "rect", {"class": "ground", "width": str(_WIDTH), "height": str(height)})
    _text(svg, 24, 26, "sixledger bench", "title")
    machine = document["machine"]
    _text(
        svg, 24, 46, f"{machine['processor']}, {machine['cores']} cores · store: {document['server']['store']}", "faint"
    )
    for place, result in enumerate(results):
        panel = SubElement(svg, "g", {"transform": f"translate(0 {_TOP + place * _PANEL})"})
        _panel(panel, result)
    indent(svg)
    return tostring(svg, encoding="unicode") + "\n"


def _panel(panel: Element, result: dict[str, Any]) -> None:
    kind = KINDS[result["scenario"]]
    _text(panel, 24, 20, f"{kind.name}: {kind.what}", "title")
    sides = result["sides"]
    _curves(panel, sides)
    _bars(panel, sides)
    words = [
        f"{each['name']}: {number(each['median'])}×" + (f" (wanted {target(each)})" if target(each) else "")
        for each in result["ratios"]
    ]
    for place, text in enumerate(words[:6]):
        _text(panel, 24 + 400 * (place % 2), _BELOW + 38 + 15 * (place // 2), text, "faint")


def _curves(panel: Element, sides: Sequence[dict[str, Any]]) -> None:
    """Latency by percentile. Up: ten times as long; to the right: ten times as rare."""
    values = [ms for side in sides for _, ms in side["curve"] if ms > 0]
    if not values:
        return
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    rarest = max(len(side["curve"]) for side in sides) / 4 * math.log10(2)
    decades = max(math.ceil(rarest), 2)

    def x(percent: float) -> float:
        rare = -math.log10(max(1 - percent / 100, 10.0**-decades))
        return _LEFT + (_RIGHT - _LEFT) * min(rare / decades, 1.0)

    def y(ms: float) -> float:
        return _BELOW - (_BELOW - _ABOVE) * (math.log10(max(ms, 10.0**low)) - low) / max(high - low, 1)

    for exponent in range(low, high + 1):
        _line(panel, _LEFT, y(10.0**exponent), _RIGHT, y(10.0**exponent))
        _text(panel, _LEFT - 6, y(10.0**exponent) + 4, f"{10.0**exponent:g} ms", "faint", "end")
    for percent in _ticks(decades):
        _line(panel, x(percent), _ABOVE, x(percent), _BELOW)
        _text(panel, x(percent), _BELOW + 16, f"{percent:g} %", "faint", "middle")
    for place, side in enumerate(sides):
        points = " ".join(f"{x(percent):.1f},{y(ms):.1f}" for percent, ms in side["curve"])
        dashed = " dashed" if side["model"] == "closed" else ""
        SubElement(panel, "polyline", {"class": f"curve s{place % _COLOURS}{dashed}", "points": points})


def _ticks(decades: int) -> Iterator[float]:
    yield 0.0
    for exponent in range(1, decades + 1):
        yield 100 - 10.0 ** (2 - exponent)


def _bars(panel: Element, sides: Sequence[dict[str, Any]]) -> None:
    """Replies a second, and the legend of the curves."""
    longest = max((side["per_s"] for side in sides), default=0.0)
    step = min(34, (_BELOW - _ABOVE) // max(len(sides), 1))
    for place, side in enumerate(sides):
        top = _ABOVE + place * step
        _text(panel, _BARS, top + 10, side["name"])
        _text(panel, _END, top + 10, f"{number(side['per_s'])}/s", "", "end")
        width = (_END - _BARS) * side["per_s"] / longest if longest else 0.0
        bar = {"class": f"f{place % _COLOURS}", "x": str(_BARS), "y": str(top + 15)}
        SubElement(panel, "rect", {**bar, "height": "5", "width": f"{width:.1f}"})
    _text(panel, _BARS, _BELOW + 16, "replies a second; dashed: a closed loop", "faint")


def _text(parent: Element, x: float, y: float, text: str, style: str = "", anchor: str = "") -> None:
    attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    if style:
        attributes["class"] = style
    if anchor:
        attributes["text-anchor"] = anchor
    SubElement(parent, "text", attributes).text = text


def _line(parent: Element, x1: float, y1: float, x2: float, y2: float) -> None:
    SubElement(
        parent, "line", {"class": "grid", "x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    )
