"""The composition of one machine: it fits the specification, and its parts fit each other."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from sixledger.cli.main import COMMANDS
from support.deployment import DEPLOY, load, settings_of


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file with its variables filled in, as `docker compose` does it."""
    text = yaml.safe_dump(load("compose.yaml"))
    filled = re.sub(r"\$\{\w+(?::-([^}]*)|:\?[^}]*)?\}", lambda found: found[1] or "chosen", text)
    assert "${" not in filled
    return dict(yaml.safe_load(filled))


def test_it_fits_the_specification(compose: dict[str, Any]) -> None:
    spec = pytest.importorskip("compose_spec", reason="there is no wheel of compose-spec for this platform")
    parsed = spec.PyCompose.from_yaml(yaml.safe_dump(compose))
    parsed.validate()
    parsed.validate_networks()
    parsed.validate_volumes()
    misspelt = yaml.safe_dump(compose).replace("service_healthy", "service_helthy")
    with pytest.raises(ValueError, match="service_helthy"):
        spec.PyCompose.from_yaml(misspelt)


def test_two_servers_share_store_keys_and_origin(compose: dict[str, Any]) -> None:
    server = compose["services"]["sixledger"]
    assert server["deploy"]["replicas"] == 2
    settings = settings_of(server["environment"])
    assert settings.store == "postgresql://sixledger:chosen@postgres/sixledger"
    assert settings.origin
    assert "keys:/var/lib/sixledger:ro" in server["volumes"]
    assert "keys:/var/lib/sixledger" in compose["services"]["keys"]["volumes"]
    assert int(server["stop_grace_period"].rstrip("s")) > settings.grace_s


def test_what_runs_of_ours_has_no_rights_that_it_does_not_need(compose: dict[str, Any]) -> None:
    for name in ("sixledger", "migrate", "keys"):
        service = compose["services"][name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert any(each.startswith("/tmp:") for each in service["tmpfs"])
        assert service["command"][0] in {command for command, *_ in COMMANDS}


def test_tables_and_keys_are_there_before_the_servers_and_these_before_the_proxy(compose: dict[str, Any]) -> None:
    services = compose["services"]
    waits = {name: service.get("depends_on", {}) for name, service in services.items()}
    done, healthy = {"condition": "service_completed_successfully"}, {"condition": "service_healthy"}
    assert waits["sixledger"] == {"migrate": done, "keys": done}
    assert waits["migrate"] == {"postgres": healthy}
    assert waits["envoy"] == {"sixledger": healthy}


def test_only_the_proxy_and_the_dashboard_can_be_reached_from_outside(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert {name for name, service in services.items() if "ports" in service} == {"envoy", "grafana"}
    assert services["grafana"]["ports"] == ["127.0.0.1:3000:3000"]
    assert compose["networks"]["inside"] == {"internal": True}
    for name, service in services.items():
        outside = "outside" in service["networks"]
        assert outside == ("ports" in service), name


def test_images_are_pinned_and_what_is_mounted_exists(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        if "build" not in service:
            assert re.fullmatch(r"[\w./-]+:v?\d[\w.-]*", service["image"]), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith("./") else source in compose["volumes"], volume


def test_prometheus_and_grafana_find_each_other_and_the_servers(compose: dict[str, Any]) -> None:
    prometheus = load("prometheus/prometheus.yml")
    (job,) = prometheus["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert job["job_name"] == "sixledger"
    assert found["names"] == ["sixledger"]
    assert settings_of(compose["services"]["sixledger"]["environment"]).admin_listen.endswith(f":{found['port']}")
    assert all((DEPLOY / "prometheus" / file).exists() for file in prometheus["rule_files"])
    (source,) = load("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = load("grafana/provisioning/dashboards/sixledger.yaml")["providers"]
    assert any(
        each.endswith(f":{provider['options']['path']}:ro") for each in compose["services"]["grafana"]["volumes"]
    )
