"""Every reason of the schema has its exception, and nothing of it is read from texts."""

from __future__ import annotations

import re
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from sixledger.annotations.v1 import error_pb2 as error_annotations
from sixledger.client import errors
from sixledger.client.statuses import from_rpc_error
from sixledger.games.nimmt.v1 import nimmt_pb2
from sixledger.ledger.faults import LedgerFault
from sixledger.v1 import error_pb2, game_pb2, replay_service_pb2

REASONS = [value for value in error_pb2.Reason.DESCRIPTOR.values if value.number]


class Failed(grpc.RpcError):  # type: ignore[misc]  # grpc has no types
    """A failed call as both kinds of channel show it."""

    def __init__(self, code: grpc.StatusCode, message: str, *details: Any, metadata: Any = None) -> None:
        status = status_pb2.Status(code=code.value[0], message=message)
        for detail in details:
            packed = any_pb2.Any()
            packed.Pack(detail)
            status.details.append(packed)
        self._code, self._message = code, message
        self._metadata = (("grpc-status-details-bin", status.SerializeToString()),) if metadata is None else metadata

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._message

    def trailing_metadata(self) -> Any:
        return self._metadata


def info(reason: str, domain: str = errors.DOMAIN, **metadata: str) -> error_details_pb2.ErrorInfo:
    return error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata)


@pytest.mark.parametrize("value", REASONS, ids=lambda value: value.name)
def test_every_reason_has_one_exception_with_the_contract_of_the_schema(value: Any) -> None:
    name = value.name.removeprefix("REASON_")
    contract = value.GetOptions().Extensions[error_annotations.error]
    error = from_rpc_error(Failed(grpc.StatusCode[contract.status], "no", info(name, match="00")))
    assert type(error) is errors.BY_REASON[name]
    assert isinstance(error, errors.ServiceError)
    assert (error.reason, error.metadata, error.message) == (name, {"match": "00"}, "no")
    assert (error.retryable, error.remedy) == (contract.retryable, contract.remedy)


def test_no_exception_stands_for_a_reason_that_is_gone() -> None:
    assert set(errors.BY_REASON) == {value.name.removeprefix("REASON_") for value in REASONS}


def test_the_docstring_draws_every_exception() -> None:
    kinds = {
        kind.__name__
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.ClientError)
    }
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    assert sorted([*drawn, "ClientError"]) == sorted(kinds)


def test_a_reason_of_a_newer_service_is_kept_by_name() -> None:
    error = from_rpc_error(Failed(grpc.StatusCode.ABORTED, "no", info("TOO_EARLY")))
    assert type(error) is errors.ServiceError
    assert (error.reason, error.retryable) == ("TOO_EARLY", False)


def test_violations_name_the_fields() -> None:
    bad = error_details_pb2.BadRequest()
    bad.field_violations.add(field="options.rounds", description="1 to 100")
    error = from_rpc_error(Failed(grpc.StatusCode.INVALID_ARGUMENT, "no", info("ILLEGAL_OPTIONS"), bad))
    assert isinstance(error, errors.IllegalOptions)
    assert error.violations == (errors.Violation("options.rounds", "1 to 100"),)


def test_an_illegal_command_brings_rule_command_and_view() -> None:
    command = game_pb2.Command(nimmt=nimmt_pb2.Command(select_card=nimmt_pb2.SelectCard(card=7)))
    view = game_pb2.View(nimmt=nimmt_pb2.View(players=2))
    detail = error_pb2.IllegalCommandDetail(rule="not_in_hand", command=command, view=view)
    error = from_rpc_error(Failed(grpc.StatusCode.FAILED_PRECONDITION, "no", info("ILLEGAL_COMMAND"), detail))
    assert isinstance(error, errors.IllegalCommand)
    assert (error.rule, error.command, error.view) == ("not_in_hand", command, view)
    assert "7" not in repr(error)
    assert "7" not in str(error)


@pytest.mark.parametrize(
    "failed",
    [
        Failed(grpc.StatusCode.UNAVAILABLE, "reset", metadata=()),
        Failed(grpc.StatusCode.UNAVAILABLE, "reset", metadata=None),
        Failed(grpc.StatusCode.UNAVAILABLE, "reset", info("UNKNOWN_MATCH", domain="proxy.test")),
        Failed(grpc.StatusCode.UNAVAILABLE, "reset", metadata=(("grpc-status-details-bin", b"\xff"),)),
    ],
)
def test_a_failure_that_is_not_the_service_s_is_a_transport_error(failed: Failed) -> None:
    error = from_rpc_error(failed)
    assert isinstance(error, errors.TransportError)
    assert (error.code, error.retryable) == ("UNAVAILABLE", True)


@pytest.mark.parametrize(
    ("code", "retryable"), [("RESOURCE_EXHAUSTED", False), ("DEADLINE_EXCEEDED", True), ("UNIMPLEMENTED", False)]
)
def test_only_what_can_pass_is_repeated(code: str, retryable: bool) -> None:
    error = from_rpc_error(Failed(grpc.StatusCode[code], "no", metadata=()))
    assert isinstance(error, errors.TransportError)
    assert error.retryable is retryable


@pytest.mark.parametrize("verdict", replay_service_pb2.Verdict.values())
def test_every_fault_of_a_ledger_has_its_exception(verdict: Any) -> None:
    error = errors.cheated(LedgerFault(verdict, "seeds", "no"), 4)
    if verdict == replay_service_pb2.VERDICT_UNKNOWN_RULESET:
        assert isinstance(error, errors.UnknownRuleset)
    else:
        assert isinstance(error, errors.ServerCheated)
        assert (error.verdict, error.layer, error.seq) == (verdict, "seeds", 4)
