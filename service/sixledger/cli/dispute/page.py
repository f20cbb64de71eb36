"""The report as one HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def page(facts: dict[str, Any]) -> str:
    """The HTML. Whatever a ledger says is text: autoescape is on for all of it."""
    environment = Environment(
        loader=PackageLoader("sixledger.cli.dispute", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(facts)
