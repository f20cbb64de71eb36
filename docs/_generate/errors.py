"""The reasons for which a call can fail."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from _generate.markdown import NOTE, table
from _generate.schema import ENUMS, VALUES, Schema


def errors(schema: Schema) -> Iterator[tuple[str, str]]:
    """Every reason: when, what to do, and what the clients raise."""
    from sixledger.client import errors as client_errors
    from sixledger.service.errors import DOMAIN, contract

    classes: dict[int, str] = {
        each.REASON: each.__name__
        for each in vars(client_errors).values()
        if isinstance(each, type) and issubclass(each, client_errors.ServiceError) and each.REASON
    }
    (file,) = (each for each in schema.files if each.name == "sixledger/v1/error.proto")
    rows = []
    for at, value in enumerate(file.enum_type[0].value):
        if value.number:
            stated = contract(value.number)
            about = schema.comment(file, ENUMS, 0, VALUES, at)
            again = "yes" if stated.retryable else ""
            rows.append(
                (f"`{stated.name}`", f"`{stated.status}`", f"`{classes[value.number]}`", about, stated.remedy, again)
            )
    lines = [
        "# Errors",
        NOTE,
        "",
        "A call that fails carries a `google.rpc.ErrorInfo` with one of these reasons, in the domain",
        f"`{DOMAIN}`. Reason and domain are the contract: the text is for people, and nobody needs to read it to",
        "tell what to do. Items of a stream or a batch fail with a [Failure](api/error.md#failure), which says the",
        "same. `google.rpc.RetryInfo` says how long to wait before trying again.",
        "",
        *table(("Reason", "gRPC status", "Python", "When", "What to do", "May succeed later unchanged"), rows),
        "Fields that cannot stay as they are come in a `google.rpc.BadRequest`; with `ILLEGAL_COMMAND` comes an",
        "[IllegalCommandDetail](api/error.md#illegalcommanddetail) with the rule and the view.",
        "",
        "## What the Python clients raise",
        "",
        "All of it is in `sixledger.client.errors`:",
        "",
        "```text",
        *(inspect.getdoc(client_errors) or "").partition("\n\n")[2].rpartition("\n\nEach class")[0].splitlines(),
        "```",
        "",
    ]
    yield "errors.md", "\n".join(lines)
