"""The chart: what it renders fits Kubernetes, and stops, probes, migrates and protects as it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
import yaml
from sixledger.engine.version import __version__
from support.deployment import DEPLOY, load, settings_of
from support.pages import files_of

helm = pytest.importorskip("helm_python", reason="there is no wheel of helm-python-sdk for this platform")

CHART = DEPLOY / "helm" / "sixledger"
#: The values that the page of the archive shows.
ARCHIVE: dict[str, Any] = yaml.safe_load(files_of("how-to/archive.md")["archive.yaml"])
LEAST: dict[str, Any] = {
    "origin": "games.example",
    "database": {"existingSecret": "db"},
    "keys": {"existingSecret": "keys"},
}
MOST: dict[str, Any] = {
    "origin": "games.example",
    "image": {"repository": "registry.example/sixledger", "tag": "9.9.9", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "pull"}],
    "database": {"existingSecret": "db", "directSecretKey": "direct", "requireSynchronousStandby": False},
    "keys": {"existingSecret": "keys", "secretKey": "file"},
    "sealing": {"existingSecret": "sealing"},
    "tls": {"existingSecret": "tls"},
    "settings": {"CACHED_MATCHES": 2048, "LOG_LEVEL": "warning", **ARCHIVE["settings"]},
    "extraVolumes": ARCHIVE["extraVolumes"],
    "extraVolumeMounts": ARCHIVE["extraVolumeMounts"],
    "autoscaling": {"enabled": False},
    "replicas": 3,
    "shutdown": {"drainSeconds": 20, "graceSeconds": 90},
    "service": {"headless": True, "annotations": {"a": "b"}},
    "networkPolicy": {
        "players": [{"podSelector": {}}],
        "operators": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        "database": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
        "databasePort": 6432,
        "extraEgress": [{"ports": [{"port": 4318, "protocol": "TCP"}]}],
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "podAnnotations": {"c": "d"},
    "nodeSelector": {"e": "f"},
    "tolerations": [{"key": "g", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
}

Objects = dict[str, dict[str, Any]]


def render(values: dict[str, Any]) -> Objects:
    """What the chart makes of values, by kind (and name, where there are two)."""
    found: Objects = {}
    with helm.Chart.load(str(CHART)) as chart:
        for name, text in chart.render(values, name="demo", namespace="games").items():
            if not name.endswith(".txt"):
                for each in filter(None, yaml.safe_load_all(text)):
                    operator = each["metadata"]["name"].endswith("-operator")
                    found[each["kind"] + "/operator" * operator] = each
    return found


@pytest.fixture(scope="module", params=["least", "most"])
def values(request: pytest.FixtureRequest) -> dict[str, Any]:
    return LEAST if request.param == "least" else MOST


@pytest.fixture(scope="module")
def objects(values: dict[str, Any]) -> Objects:
    return render(values)


def container(objects: Objects) -> dict[str, Any]:
    (only,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


def variables(objects: Objects) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container(objects)["env"] if "value" in each}


def pods(objects: Objects) -> Iterator[dict[str, Any]]:
    for kind in ("Deployment", "Job"):
        yield objects[kind]["spec"]["template"]["spec"]


def test_the_linter_of_helm_finds_no_error(values: dict[str, Any]) -> None:
    assert helm.lint(str(CHART), values)["errors"] == []


@pytest.mark.parametrize("version", ["1.27", "1.30", "1.33"])
def test_every_object_fits_kubernetes(objects: Objects, version: str) -> None:
    for kind, each in objects.items():
        if kind != "ServiceMonitor":  # of an operator of its own
            kubernetes_validate.validate(each, version, strict=True)


def test_the_chart_has_the_version_of_the_release() -> None:
    chart = load("helm/sixledger/Chart.yaml")
    assert chart["appVersion"] == __version__
    assert container(render(LEAST))["image"] == f"sixledger:{__version__}"


def test_which_objects_there_are() -> None:
    always = {
        "Deployment",
        "Service",
        "Service/operator",
        "ServiceAccount",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "Job",
    }
    assert set(render(LEAST)) == always | {"HorizontalPodAutoscaler"}
    assert set(render(MOST)) == always | {"ServiceMonitor"}


def test_variables_are_settings_and_secrets_stay_in_secrets(objects: Objects, values: dict[str, Any]) -> None:
    settings = settings_of(variables(objects))
    assert (settings.origin, str(settings.key_path)) == ("games.example", "/etc/sixledger/keys/keys.json")
    named = {
        each["name"]: each["valueFrom"]["secretKeyRef"] for each in container(objects)["env"] if "valueFrom" in each
    }
    assert named["SIXLEDGER_STORE"] == {"name": "db", "key": "url"}
    assert ("SIXLEDGER_POSTGRES_DIRECT" in named) == (values is MOST)
    assert settings.postgres_require_synchronous_standby == ("no" if values is MOST else "yes")
    if values is MOST:
        assert (settings.cached_matches, settings.log_level) == (2048, "warning")
        assert str(settings.tls_certificate) == "/etc/sixledger/tls/tls.crt"


def test_a_server_has_time_to_stop(objects: Objects) -> None:
    spec = objects["Deployment"]["spec"]["template"]["spec"]
    drain_s = int(container(objects)["lifecycle"]["preStop"]["exec"]["command"][1])
    assert spec["terminationGracePeriodSeconds"] >= drain_s + settings_of(variables(objects)).grace_s + 10
    # By the time that it stops, its readiness has been looked at, and no new server takes its place too late.
    assert objects["Deployment"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_live_is_not_ready(objects: Objects) -> None:
    """A server whose database is away gets no calls, but is not killed."""
    only = container(objects)
    paths = {probe: only[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {probe: each["path"] for probe, each in paths.items()} == {
        "startupProbe": "/livez",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    ports = {each["name"]: each["containerPort"] for each in only["ports"]}
    settings = settings_of(variables(objects))
    assert {each["port"] for each in paths.values()} == {"operator"}
    assert settings.admin_listen.endswith(f":{ports['operator']}")
    assert settings.listen.endswith(f":{ports['grpc']}")


def test_pods_have_no_rights_that_they_do_not_need(objects: Objects) -> None:
    for pod in pods(objects):
        (only,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == 10001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        assert only["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "/tmp" in {each["mountPath"] for each in only["volumeMounts"]}
        assert {"requests", "limits"} <= set(only["resources"])


def test_the_key_file_is_read_by_its_group_alone(objects: Objects, values: dict[str, Any]) -> None:
    volumes = {each["name"]: each for each in objects["Deployment"]["spec"]["template"]["spec"]["volumes"]}
    mounts = {each["name"]: each["mountPath"] for each in container(objects)["volumeMounts"]}
    assert set(volumes) == set(mounts) == {"tmp", "keys"} | ({"sealing", "tls", "archive"} if values is MOST else set())
    assert all(each["secret"]["defaultMode"] & 0o007 == 0 for each in volumes.values() if "secret" in each)
    assert ("SIXLEDGER_SECRET_KEY_FILE" in variables(objects)) == (values is MOST)
    secret = volumes["keys"]["secret"]
    assert secret["defaultMode"] & 0o007 == 0
    assert secret["items"] == [{"key": "file" if values is MOST else "keys.json", "path": "keys.json"}]


def test_servers_find_the_archive_in_a_volume_of_its_own() -> None:
    """As the page of the archive says; the migration has nothing to do with it."""
    objects = render(MOST)
    settings = settings_of(variables(objects))
    mounts = {each["mountPath"]: each["name"] for each in container(objects)["volumeMounts"]}
    volumes = {each["name"]: each for each in objects["Deployment"]["spec"]["template"]["spec"]["volumes"]}
    assert volumes[mounts[str(settings.archive_dir)]]["persistentVolumeClaim"] == {"claimName": "sixledger-archive"}
    assert [each["name"] for each in objects["Job"]["spec"]["template"]["spec"]["volumes"]] == ["tmp"]


def test_selectors_meet_the_servers_and_not_the_migration(objects: Objects) -> None:
    server = objects["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    job = objects["Job"]["spec"]["template"]["metadata"]["labels"].items()
    selectors = [
        objects["Deployment"]["spec"]["selector"]["matchLabels"],
        objects["Service"]["spec"]["selector"],
        objects["Service/operator"]["spec"]["selector"],
        objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert selector.items() <= server
        assert not selector.items() <= job


def test_the_tables_are_migrated_before_the_servers_come(objects: Objects) -> None:
    job = objects["Job"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    (only,) = job["spec"]["template"]["spec"]["containers"]
    assert only["args"] == ["db", "migrate"]
    assert only["image"] == container(objects)["image"]
    database = [each for each in container(objects)["env"] if "valueFrom" in each]
    assert [each for each in only["env"] if "valueFrom" in each] == database


def test_the_operator_port_is_for_operators_alone() -> None:
    def ports(rules: list[dict[str, Any]]) -> dict[Any, Any]:
        return {port["port"]: rule.get("from", rule.get("to")) for rule in rules for port in rule["ports"]}

    least, most = render(LEAST)["NetworkPolicy"]["spec"], render(MOST)["NetworkPolicy"]["spec"]
    assert least["policyTypes"] == ["Ingress", "Egress"]
    assert ports(least["ingress"]) == {"grpc": None}
    assert ports(most["ingress"]) == {
        "grpc": MOST["networkPolicy"]["players"],
        "operator": MOST["networkPolicy"]["operators"],
    }
    assert set(ports(least["egress"])) == {53, 5432}
    assert ports(most["egress"])[6432] == MOST["networkPolicy"]["database"]
    assert set(ports(most["egress"])) == {53, 6432, 4318}


def test_the_monitor_finds_the_operator_port_under_the_job_of_the_alerts() -> None:
    objects = render(MOST)
    spec, service = objects["ServiceMonitor"]["spec"], objects["Service/operator"]
    assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert not spec["selector"]["matchLabels"].items() <= objects["Service"]["metadata"]["labels"].items()
    assert spec["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
    assert service["metadata"]["labels"][spec["jobLabel"]] == "sixledger"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"origin": ""}, "/origin"),
        ({"origin": "two words"}, "/origin"),
        ({"database": {"existingSecret": ""}}, "/database/existingSecret"),
        ({"keys": {"existingSecret": ""}}, "/keys/existingSecret"),
        ({"replica": 3}, "replica"),
        ({"extraVolumeMounts": [{"name": "archive"}]}, "/extraVolumeMounts/0"),
        ({"settings": {"listen": "x"}}, "invalid propertyName"),
        ({"shutdown": {"graceSeconds": -1}}, "/shutdown/graceSeconds"),
        ({"autoscaling": {"targetCPUUtilizationPercentage": 400}}, "/autoscaling"),
    ],
)
def test_values_that_cannot_work_are_refused(change: dict[str, Any], complaint: str) -> None:
    with helm.Chart.load(str(CHART)) as chart, pytest.raises(helm.HelmError, match=complaint):
        chart.render(LEAST | change, name="demo", namespace="games")
