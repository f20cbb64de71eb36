"""Alerts and dashboard ask for exactly the metrics that exist, and the page for operators explains every alert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
from sixledger.service.metrics import Metrics
from sixledger.v1 import error_pb2
from support.deployment import ROOT, load

#: What Prometheus itself adds.
TARGET_LABELS = {"job", "instance"}
OF_PROMETHEUS = {"up"}
REASONS = set(error_pb2.Reason.keys())
PAGE = ROOT / "docs" / "how-to" / "operate.md"


def exposed() -> dict[str, set[str]]:
    """The samples that a server exposes, with their labels."""
    metrics = Metrics()
    metrics.call("/a/B").opened(1)
    found: dict[str, set[str]] = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return {name: labels for name, labels in found.items() if not name.endswith("_created")}


def selectors(expression: str) -> Iterator[Any]:
    """What an expression asks for."""
    found: list[Any] = []

    def visit(part: Any) -> bool:
        if isinstance(part, promql_parser.VectorSelector):
            found.append(part)
        elif isinstance(part, promql_parser.MatrixSelector):
            found.append(part.vector_selector)
        return True

    promql_parser.walk(promql_parser.parse(expression.replace("$__rate_interval", "1m")), visit)
    assert found, expression
    yield from found


def alerts() -> list[dict[str, Any]]:
    (group,) = load("prometheus/alerts.yml")["groups"]
    return list(group["rules"])


def dashboard() -> list[tuple[str, str]]:
    """Panels and their expressions."""
    panels = load("grafana/dashboards/sixledger.json")["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", [])]


EXPRESSIONS = [(alert["alert"], alert["expr"]) for alert in alerts()] + dashboard()


@pytest.mark.parametrize(("name", "expression"), EXPRESSIONS)
def test_an_expression_asks_for_metrics_and_labels_that_exist(name: str, expression: str) -> None:
    known = exposed()
    for selector in selectors(expression):
        assert selector.name in known.keys() | OF_PROMETHEUS, name
        labels = {matcher.name for matcher in selector.matchers.matchers}
        assert labels <= known.get(selector.name, set()) | TARGET_LABELS, name
        for matcher in selector.matchers.matchers:
            if matcher.name == "reason":
                assert f"REASON_{matcher.value}" in REASONS


@pytest.mark.parametrize(("name", "expression"), EXPRESSIONS)
def test_an_expression_groups_by_labels_that_exist(name: str, expression: str) -> None:
    known = exposed()
    labels = set().union(*(known.get(each.name, set()) for each in selectors(expression))) | TARGET_LABELS
    for grouped in re.findall(r"\b(?:by|on) ?\(([^)]*)\)", expression):
        assert set(map(str.strip, grouped.split(","))) <= labels, name


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    shown = {selector.name for _, expression in dashboard() for selector in selectors(expression)}
    bases = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in shown}
    ours = {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in exposed() if name.startswith("sixledger_")}
    assert ours <= bases


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = load("grafana/dashboards/sixledger.json")["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & places
        assert at["x"] + at["w"] <= 24
        places |= cells


def test_every_alert_says_how_bad_it_is_and_has_its_section() -> None:
    sections = re.findall(r"^### (Sixledger\w+)$", PAGE.read_text(), re.MULTILINE)
    assert sections == [alert["alert"] for alert in alerts()]
    for alert in alerts():
        assert alert["labels"]["severity"] in ("warning", "critical")
        assert alert["annotations"]["summary"]


def test_an_alert_about_a_server_names_it() -> None:
    for alert in alerts():
        if "$labels.instance" in alert["annotations"]["summary"]:
            aggregated = re.findall(r"\bby ?\(([^)]*)\)", alert["expr"])
            assert all("instance" in each for each in aggregated), alert["alert"]
