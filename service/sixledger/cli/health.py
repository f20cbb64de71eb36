"""`sixledger health`: asks a server how it is, for probes of containers and for people."""

from __future__ import annotations

from typing import Annotated, Any

import grpc
from cyclopts import Parameter, validators
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rich.text import Text
from sixledger.cli.failures import Failure
from sixledger.cli.remote import DEFAULT_SERVER, Tls, channel_credentials
from sixledger.cli.terminal import out


def health(
    address: Annotated[str, Parameter(help="HOST:PORT of the server or of its operator port.")] = DEFAULT_SERVER,
    /,
    *,
    ready: Annotated[
        bool, Parameter(negative="", help="Ask whether it takes calls, not only whether it lives.")
    ] = False,
    timeout: Annotated[float, Parameter(validator=validators.Number(gt=0), help="Seconds to wait.")] = 3.0,
    tls: Tls = None,
) -> None:
    """Ask a server whether it lives or, with --ready, takes calls. Exit status 0: yes, 1: no."""
    credentials = channel_credentials(tls)
    # One answer counts, not the second that a channel would try for.
    options = [("grpc.enable_retries", 0), ("grpc.enable_http_proxy", 0)]
    if credentials is None:
        channel = grpc.insecure_channel(address, options)
    else:
        channel = grpc.secure_channel(address, credentials, options)
    with channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            reply = stub.Check(health_pb2.HealthCheckRequest(), timeout=timeout)
        except grpc.RpcError as error:
            raise Failure(f"no answer from {address} ({error.code().name})") from None
    if ready and reply.status != health_pb2.HealthCheckResponse.SERVING:
        raise Failure(f"{address} lives, but takes no calls now: it stops, or its store does not answer")
    out().print(Text("ready" if ready else "live", "good"))
