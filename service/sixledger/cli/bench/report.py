"""What was found, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from sixledger.cli.bench.plan import KINDS

Result = dict[str, Any]


def problems(result: Result) -> list[str]:
    """What went wrong while it was measured, a line each; then the figures say little."""
    found = []
    for side in result["sides"]:
        failed = sum(side["failed"].values())
        if failed:
            kinds = ", ".join(f"{count:,} {status}" for status, count in side["failed"].items())
            found.append(f"{side['name']}: {failed:,} of {side['due']:,} failed ({kinds})")
        if side["unfinished"]:
            found.append(
                f"{side['name']}: {side['unfinished']:,} of {side['due']:,} had no reply when the window ended"
            )
    return found


def missed(results: Sequence[Result]) -> list[str]:
    """Ratios out of reach, a line each."""
    return [
        f"{result['scenario']}: {ratio['name']} is {number(ratio['median'])}, wanted {target(ratio)}"
        for result in results
        for ratio in result["ratios"]
        if ratio["met"] is False
    ]


def target(ratio: dict[str, Any]) -> str:
    """The aim of a ratio, for people; empty if there is none."""
    if ratio["reach"] is None:
        return ""
    return f"{'≤' if ratio['low_is_good'] else '≥'} {number(ratio['reach'])}"


def report(console: Console, result: Result) -> None:
    """One scenario: both sides, ratios, figures, and what went wrong."""
    kind = KINDS[result["scenario"]]
    console.print(Text(f"{kind.name}: {kind.what}", "heading"))
    console.print(_sides(result["sides"]))
    if result["ratios"]:
        console.print(_ratios(result["ratios"]))
    for figure in result["figures"]:
        console.print(Text(f"{figure['name']}: {number(figure['value'])} {figure['unit']}"))
    for side in result["sides"]:
        lag = side["generator_lag_ms"].get("p99", 0.0)
        if lag > side["latency_ms"].get("p50", 0.0):
            console.print(Text(f"{side['name']}: the load itself was up to {number(lag)} ms late (99 %)", "unsure"))
    for problem in problems(result):
        console.print(Text(problem, "bad"))
    console.print()


def _sides(sides: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=None, header_style="faint", pad_edge=False, padding=(0, 1))
    table.add_column("", no_wrap=True)
    for name in ("due/s", "done/s", "p50", "p99", "max ms", "server", "load", "db µs"):
        table.add_column(name, justify="right", no_wrap=True)
    for side in sides:
        latency, cpu = side["latency_ms"], side["cpu_us"]
        values = (
            side["rate"], side["per_s"], latency.get("p50"), latency.get("p99"), latency.get("max"),
            cpu["server"], cpu["client"], cpu["database"],
        )  # fmt: skip
        table.add_row(side["name"], *("–" if value is None else number(value) for value in values))
    return table


def _ratios(ratios: Sequence[dict[str, Any]]) -> Table:
    table = Table.grid(padding=(0, 2))
    for ratio in ratios:
        style = {True: "good", False: "bad", None: ""}[ratio["met"]]
        table.add_row(
            ratio["name"],
            Text(f"{number(ratio['median'])}×", style),
            f"({number(ratio['low'])}–{number(ratio['high'])})",
            target(ratio),
        )
    return table


def number(value: float) -> str:
    """Three significant digits, without exponents."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
