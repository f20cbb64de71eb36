"""`sixledger bench`: requests are due whatever the server does, every scenario runs, what it tells is well formed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import grpc
import pytest
from sixledger.cli.bench import command, runner
from sixledger.cli.bench.echo import ECHO
from sixledger.cli.bench.found import Found, Ratio, Side
from sixledger.cli.bench.histogram import Histogram
from sixledger.cli.bench.lanes import echo_lanes
from sixledger.cli.bench.matches import Caller
from sixledger.cli.bench.meter import Meter
from sixledger.cli.bench.picture import picture
from sixledger.cli.bench.plan import KINDS, Plan
from sixledger.cli.bench.report import missed, problems
from sixledger.cli.bench.scenarios import SCENARIOS
from sixledger.cli.bench.scenarios.session import Session
from sixledger.cli.bench.schedule import schedule
from sixledger.cli.bench.shared import SharedLane, SharedStream
from sixledger.cli.bench.supply import Supply
from sixledger.cli.bench.window import Exhausted, Refused, Window, closed_window, open_window
from sixledger.cli.failures import INVALID, UNUSABLE
from support.command_line import CommandLine
from support.play import RunningServer

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class BenchServer:
    """A server with the echo, as a process."""

    address: str
    pid: int


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BenchServer]:
    """One for all tests of this module."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sixledger.cli.bench.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    folder = str(tmp_path_factory.mktemp("server"))
    process.stdin.write(json.dumps({"data_dir": folder, "store": "memory:", "cached_matches": 64}) + "\n")
    process.stdin.flush()
    said = json.loads(process.stdout.readline())
    yield BenchServer(said["address"], said["pid"])
    process.stdin.close()  # nobody is there any longer: it ends by itself
    assert process.wait(20) == 0
    process.stdout.close()


# -- the schedule --------------------------------------------------------------------------------------


def test_a_fixed_schedule_is_exact() -> None:
    moments = schedule(200, 1.5, arrivals="fixed")
    assert list(moments) == [number / 200 for number in range(300)]


def test_a_poisson_schedule_repeats_with_its_seed_and_has_exponential_gaps() -> None:
    moments = schedule(1000, 20, seed=7)
    assert moments == schedule(1000, 20, seed=7)
    assert moments != schedule(1000, 20, seed=8)
    assert 0 < moments[0] < moments[-1] < 20
    gaps = [after - before for before, after in pairwise(moments)]
    assert min(gaps) >= 0
    assert statistics.mean(gaps) == pytest.approx(1 / 1000, rel=0.03)
    assert statistics.stdev(gaps) == pytest.approx(1 / 1000, rel=0.05), "as wide as their mean: not even, not in bursts"


@pytest.mark.parametrize(("rate", "seconds"), [(0, 1), (-1, 1), (1, 0)])
def test_a_schedule_needs_a_rate_and_a_length(rate: float, seconds: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        schedule(rate, seconds)


# -- windows -------------------------------------------------------------------------------------------


async def test_all_requests_that_were_due_while_the_server_stalled_waited() -> None:
    """Two callers only, so a generator that waits for replies would see the stall twice; here everybody does."""
    begun, stalls = time.perf_counter(), asyncio.Event()

    async def lane() -> None:
        if 0.1 <= time.perf_counter() - begun < 0.5:
            await stalls.wait()

    asyncio.get_running_loop().call_later(0.5, stalls.set)
    moments = schedule(200, 0.7, arrivals="fixed")
    window = await open_window([lane, lane], moments, seconds=0.7, begun=begun)
    assert (window.due, window.done, window.unfinished) == (140, 140, 0)
    # 80 were due in the stall; the one that was due first waited 0.4 s, the last hardly.
    assert window.latency.above(200) >= 39
    assert window.latency.above(100) >= 59
    assert window.latency.percentile(100) >= 395


async def test_a_stalled_server_shows_in_all_requests_of_the_stall(server: BenchServer) -> None:
    """The process is stopped for 0.4 s under 100 requests a second from four callers."""
    caller = Caller(server.address)
    loop = asyncio.get_running_loop()
    try:
        async with echo_lanes(caller, 4, (100, 300), streams=False) as lanes:
            for lane in lanes:
                await lane()  # connections are there
            begun = time.perf_counter()
            loop.call_later(0.2, os.kill, server.pid, signal.SIGSTOP)
            loop.call_later(0.6, os.kill, server.pid, signal.SIGCONT)
            window = await open_window(lanes, schedule(100, 0.8, arrivals="fixed"), seconds=0.8, begun=begun)
    finally:
        os.kill(server.pid, signal.SIGCONT)
        await caller.close()
    assert (window.due, window.done, window.failed.total(), window.unfinished) == (80, 80, 0, 0)
    assert window.latency.above(200) >= 17
    assert window.latency.above(100) >= 26
    assert window.latency.percentile(100) >= 370


async def test_requests_without_a_reply_count_with_the_time_they_waited() -> None:
    async def lane() -> None:
        await asyncio.Event().wait()

    window = await open_window([lane, lane], [0.0, 0.01, 0.02, 0.03], seconds=0.1, drain_s=0.1)
    assert (window.due, window.done, window.unfinished) == (4, 0, 4)
    assert window.latency.above(150) == 4


async def test_failures_are_counted_and_are_no_latencies() -> None:
    async def lane() -> None:
        raise Refused("UNAVAILABLE")

    window = await open_window([lane], [0.0, 0.01], seconds=0.05)
    assert (window.done, dict(window.failed), len(window.latency)) == (0, {"UNAVAILABLE": 2}, 0)


async def test_the_warm_up_does_not_count() -> None:
    sent = 0

    async def lane() -> None:
        nonlocal sent
        sent += 1

    window = await open_window([lane], schedule(100, 0.3, arrivals="fixed"), seconds=0.3, warmup_s=0.2)
    assert (sent, window.due, window.done, len(window.latency)) == (30, 10, 10, 10)
    assert window.rate == pytest.approx(100)


async def test_an_error_of_the_load_itself_is_no_result() -> None:
    async def lane() -> None:
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError, match="a defect"):
        await open_window([lane], [0.0], seconds=0.1)


async def test_a_closed_window_ends_when_there_is_nothing_left_to_ask() -> None:
    left = iter(range(5))

    async def lane() -> None:
        if next(left, None) is None:
            raise Exhausted

    window = await closed_window([lane, lane], 5.0)
    assert (window.model, window.done, window.rate) == ("closed", 5, None)
    assert window.wall_s < 4


def test_a_histogram_survives_being_told_and_merged() -> None:
    one, two = Histogram(), Histogram()
    for number in range(1, 1001):
        (one if number % 2 else two).add(number / 1e3)
    both = Histogram.merged([Histogram(one.encode()), two])
    assert len(both) == 1000
    assert both.percentile(50) == pytest.approx(500, rel=0.002)
    assert both.percentile(99) == pytest.approx(990, rel=0.002)
    assert both.percentiles()["max"] == pytest.approx(1000, rel=0.002)
    assert "p99.99" not in both.percentiles(), "a thousand latencies say nothing of one in ten thousand"
    with pytest.raises(ValueError, match="histogram"):
        Histogram("nonsense")


def test_the_meter_tells_processes_apart(server: BenchServer) -> None:
    meter = Meter(server.pid)
    meter.look()
    before = meter.read()
    while time.process_time() < before.client_s + 0.05:
        pass
    used = meter.read().since(before)
    assert used.client_s >= 0.05
    assert used.server_s is not None
    assert used.server_s < 0.05, "the load's own time is not the server's"
    assert used.database_s is None
    nobody = Meter(2**22 + 1)
    nobody.look()
    assert nobody.read().server_s is None, "a process that is not there"


def test_a_ratio_out_of_reach_is_told() -> None:
    ratio = Ratio.of("p99", [(6.0, 2.0), (8.0, 2.0), (9.0, 2.0)], reach=3.0)
    assert ratio is not None
    assert (ratio.median, ratio.low, ratio.high, ratio.met) == (4.0, 3.0, 4.5, False)
    assert Ratio.of("unknown", [(1.0, None)]) is None
    found = Found("unary", "half", ratios=[ratio])
    assert missed([found.as_dict()]) == ["unary: p99 is 4.00, wanted ≤ 3.00"]


# -- scenarios -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(KINDS))
async def test_every_scenario_runs_beside_its_echo(server: BenchServer, name: str) -> None:
    kind = KINDS[name]
    plan = Plan(
        name, server.address, rate=kind.quick_rate, seconds=0.3, warmup_s=0.1, rounds=1, concurrency=4, count=8,
        sizes=[2, 12] if name == "growth" else [], server_pid=server.pid,
    )  # fmt: skip
    told: list[str] = []
    found = await SCENARIOS[name](Session(plan, Meter(server.pid), lambda text, share: told.append(text)))
    result = json.loads(json.dumps(found.as_dict()))
    check_result(result)
    assert problems(result) == []
    assert [side for side in result["sides"] if "echo" in side["name"] or "bare" in side["name"]]
    for side in result["sides"]:
        assert side["done"] > 0
        assert side["done"] == side["due"]
    assert told
    if name == "growth":
        assert [figure["name"] for figure in result["figures"]][-1] == "cost of a match with 12 stored"


@pytest.mark.parametrize(("name", "seconds"), [("play", 0.2), ("churn", 0.5)])
async def test_half_of_what_the_server_takes(server: BenchServer, name: str, seconds: float) -> None:
    plan = Plan(
        name, server.address, mode="half", seconds=seconds, warmup_s=0.1, rounds=1, concurrency=4, arrivals="fixed",
        server_pid=server.pid,
    )  # fmt: skip
    found = await SCENARIOS[name](Session(plan, Meter(server.pid), lambda text, share: None))
    result = found.as_dict()
    saturated, half = result["sides"][0], result["sides"][2]
    assert (saturated["model"], half["model"]) == ("closed", "open")
    assert half["rate"] == pytest.approx(saturated["per_s"] / 2)
    assert half["due"] == pytest.approx(seconds * half["rate"], abs=1)
    assert half["rate"] == result["sides"][3]["rate"], "the echo gets the same rate"
    names = [ratio["name"] for ratio in result["ratios"]]
    assert "p99 by the echo's at the same rate" in names
    assert "requests a second by the echo's, saturated" in names


async def test_a_shared_stream_opens_again_after_it_broke(server: BenchServer) -> None:
    caller = Caller(server.address)
    stream = SharedStream(caller, 0)
    supply = Supply([await caller.open(number) for number in range(8)])
    lanes = [SharedLane(stream, supply) for _ in range(4)]
    try:
        await asyncio.gather(*(lane() for lane in lanes))
        await stream._stream.write(b"\xff")  # the service ends a stream on which it understands nothing
        refused = await asyncio.gather(*(lane() for lane in lanes), return_exceptions=True)
        assert {str(each) for each in refused} <= {"INVALID_ARGUMENT", "None"}, "None: it was open again already"
        await asyncio.gather(*(lane() for lane in lanes))
    finally:
        await stream.close()
        await caller.close()


def check_result(result: dict[str, Any]) -> None:
    """The shape of a result in the JSON document."""
    assert set(result) >= {"scenario", "mode", "sides", "ratios", "figures"}
    for side in result["sides"]:
        assert set(side) == {
            "name", "model", "rate", "windows", "due", "done", "failed", "unfinished", "per_s", "latency_ms",
            "generator_lag_ms", "cpu_us", "cores", "curve", "histogram",
        }  # fmt: skip
        assert side["model"] in ("open", "closed")
        assert (side["rate"] is None) == (side["model"] == "closed")
        assert set(side["cpu_us"]) == set(side["cores"]) == {"server", "client", "database"}
        assert side["cpu_us"]["client"] > 0
        latency = side["latency_ms"]
        assert latency["p50"] <= latency["p99"] <= latency["max"]
        assert Histogram(side["histogram"]).percentile(99) == pytest.approx(latency["p99"], rel=0.01)
        percents, values = zip(*side["curve"], strict=True)
        assert (percents[0], percents[-1]) == (0, 100)
        assert list(percents) == sorted(percents)
        assert list(values) == sorted(values)
    for ratio in result["ratios"]:
        assert ratio["low"] <= ratio["median"] <= ratio["high"]
        assert ratio["met"] is None or isinstance(ratio["met"], bool)


# -- the command ---------------------------------------------------------------------------------------

_TINY = ("--quick", "--seconds", "0.3", "--warmup", "0.1", "--concurrency", "4")


@pytest.mark.parametrize("transport", ["grpcio", "http2"])
def test_a_run_writes_json_and_a_picture(
    quick: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("SIXLEDGER_API_KEY", "sixl_of_another_server")  # its own server would refuse it
    ran = quick("bench", "unary", *_TINY, "--transport", transport, "--json", "found.json", "--picture", "found.svg")
    assert (ran.status, ran.err) == (0, "")
    assert "unary: commands, a call each" in ran.out
    assert "p99 by the echo's at the same rate" in ran.out
    document = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert document["format"] == 1
    assert document["server"] == {"own": True, "store": "sqlite", "transport": transport}
    assert document["machine"]["cores"] == os.cpu_count()
    (result,) = document["results"]
    check_result(result)
    assert result["settings"]["arrivals"] == "poisson"
    drawn = (tmp_path / "found.svg").read_text(encoding="utf-8")
    check_picture(drawn, curves=2)
    assert not list(folder.iterdir()), "its store is removed"


def check_picture(drawn: str, curves: int) -> None:
    """One SVG that needs nothing from elsewhere, for light and dark grounds."""
    root = ElementTree.fromstring(drawn)
    assert root.tag == f"{SVG}svg"
    lines = root.findall(f".//{SVG}polyline")
    assert len(lines) == curves
    _, _, width, height = (float(each) for each in root.attrib["viewBox"].split())
    for line in lines:
        points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        assert points == sorted(points), "percentiles go to the right"
        assert all(0 <= x <= width and 0 <= y <= height for x, y in points)
    assert "prefers-color-scheme: dark" in drawn
    assert "href" not in drawn
    assert "url(" not in drawn


def test_a_picture_shows_names_as_text_whatever_they_are() -> None:
    window = Window(model="closed", done=1, wall_s=1.0)
    window.latency.add(0.001)
    result = Found("unary", "saturate", sides=[Side("<a & b>", [window])]).as_dict()
    document = {"machine": {"processor": "X <&> Y", "cores": 2}, "server": {"store": "memory"}, "results": [result]}
    root = ElementTree.fromstring(picture(document))
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert "<a & b>" in texts
    assert "X <&> Y, 2 cores · store: memory" in texts


def test_a_server_without_the_echo_is_measured_alone(quick: CommandLine, tmp_path: Path) -> None:
    with RunningServer(tmp_path) as running:
        ran = quick("bench", "unary", *_TINY, "--server", running.address, "--json", "found.json")
    assert (ran.status, ran.err) == (0, "")
    document = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert document["server"] == {"own": False, "store": "unknown", "transport": "unknown"}
    (result,) = document["results"]
    assert [side["name"] for side in result["sides"]] == ["commands"]
    assert result["sides"][0]["cpu_us"]["server"] is None
    assert result["ratios"] == []


def test_the_server_of_a_user_never_offers_the_echo(tmp_path: Path) -> None:
    """Only the process of a benchmark does."""
    with RunningServer(tmp_path) as running, grpc.insecure_channel(running.address) as channel:
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(ECHO)(b"", timeout=10)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_postgresql_has_its_own_processor_time(
    quick: CommandLine, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(command.DSN, postgres_url)
    ran = quick("bench", "unary", *_TINY, "--rate", "500", "--store", "postgres", "--json", "found.json")
    assert (ran.status, ran.err) == (0, "")
    document = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert document["server"]["store"] == "postgresql"
    # The system counts processor time in hundredths of a second: enough commands to use some.
    measured, echoed = document["results"][0]["sides"]
    assert measured["cpu_us"]["database"] > 0
    assert echoed["cpu_us"]["database"] is not None


@pytest.mark.parametrize(
    ("url", "environment", "local"),
    [
        ("postgresql://u:p@localhost/db", {}, True),
        ("postgresql://u@127.0.0.1:5432,[::1]:5433/db", {}, True),
        ("postgresql:///db?host=/tmp/pg", {"PGHOST": "example.org"}, True),
        ("postgresql://u@%2Ftmp%2Fpg/db", {}, True),
        ("postgresql:///db", {}, True),
        ("postgresql:///db", {"PGHOST": "example.org"}, False),
        ("postgresql:///db", {"PGSERVICE": "live"}, False),
        ("postgresql:///db?service=live", {}, False),
        ("postgresql://u@localhost:5432,example.org:5432/db", {}, False),
        ("postgresql:///db?host=/tmp/pg,example.org", {}, False),
        ("postgresql://u@localhost/db?host=example.org", {}, False),
    ],
)
def test_a_database_is_of_this_machine_only_if_every_host_is_that_the_driver_may_try(
    url: str, environment: dict[str, str], local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert all(map(command._is_local, command._database_hosts(url))) is local


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), UNUSABLE, "name what to measure: unary, play, shared"),
        (("everything",), UNUSABLE, "no scenario 'everything'; there are: unary"),
        (("unary", "--rate", "10", "--half"), UNUSABLE, "three ways: give one"),
        (("watchers", "--saturate"), UNUSABLE, "watchers knows no --saturate"),
        (("unary", "--rate", "100000", "--seconds", "600"), UNUSABLE, "more than 2,000,000 requests"),
        (("unary", "--seconds", "100000"), UNUSABLE, "--seconds"),
        (("unary", "--server", "example.org:7655"), UNUSABLE, "only with --i-own-this-server"),
        (("unary", "--server", "10.0.0.7:7655"), UNUSABLE, "only with --i-own-this-server"),
        (("unary", "--server", "127.example.org:7655"), UNUSABLE, "only with --i-own-this-server"),
        (("unary", "--server", "[::1]:1", "--store", "memory"), UNUSABLE, "leave --server or --store out"),
        (("unary", "--server", "[::1]:1", "--transport", "http2"), UNUSABLE, "leave --server or --transport out"),
        (("unary", "--server-pid", "1"), UNUSABLE, "--server-pid and --database-pid belong to --server"),
        (("unary", "--store", "mysql"), UNUSABLE, "--store is sqlite, memory, postgres"),
        (("unary", "--store", "postgres"), UNUSABLE, "name the database in SIXLEDGER_BENCH_DSN"),
        (("unary", "--store", "postgresql://u:hunter2@example.org/db"), UNUSABLE, "the database is on another machine"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(
    quick: CommandLine, arguments: tuple[str, ...], status: int, message: str
) -> None:
    complaint = quick("bench", *arguments).refused(status)
    assert message in complaint
    assert "hunter2" not in complaint


def test_a_store_that_cannot_be_opened_is_told_without_a_password(quick: CommandLine) -> None:
    ran = quick("bench", "unary", *_TINY, "--store", "postgresql://u:hunter2@127.0.0.1:1/db")
    complaint = ran.refused(INVALID)
    assert complaint.startswith("the server did not start: ")
    assert "hunter2" not in complaint
    assert "hunter2" not in repr(runner.OwnServer("postgresql://u:hunter2@127.0.0.1:1/db", 1))


def test_nobody_at_the_address_is_told(quick: CommandLine) -> None:
    complaint = quick("bench", "unary", *_TINY, "--server", "127.0.0.1:1").refused(INVALID)
    assert "no answer from 127.0.0.1:1" in complaint
