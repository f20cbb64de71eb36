"""The API: a page for each file of the schema, and one that lists the calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from _generate.markdown import NOTE, table
from _generate.schema import ENUMS, EXTENSIONS, FIELDS, MESSAGES, METHODS, SERVICES, VALUES, Schema, page_of

_SCALARS = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}


def api(schema: Schema) -> Iterator[tuple[str, str]]:
    """A page for each file of the schema, and one that lists the calls."""
    index = [
        "# API",
        NOTE,
        "",
        "The schema is [`protos/sixledger`](../../../protos/sixledger); the wheel has it too.",
        "[Examples](../examples.md) has every call, from both Python clients; [errors](../errors.md) has every reason",
        "for which a call can fail. The server answers to gRPC reflection.",
        "",
    ]
    others = []
    for file in schema.files:
        page = page_of(file)
        yield f"api/{page}", "\n".join(_page(schema, file))
        for number, service in enumerate(file.service):
            about = schema.comment(file, SERVICES, number).partition("\n\n")[0]
            index += [f"## {service.name}", "", f"{about} [Details]({page})", ""]
            rows = [
                (f"[{each.name}]({page}#{each.name.lower()})", _first(schema.comment(file, SERVICES, number, 2, at)))
                for at, each in enumerate(service.method)
            ]
            index += table(("Call", ""), rows)
        if not file.service:
            others.append((f"[{file.name}]({page})", schema.comment(file).partition("\n\n")[0]))
    yield "api/index.md", "\n".join([*index, "## Messages that several share", "", *table(("File", ""), others)])


def _first(text: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def _page(schema: Schema, file: FileDescriptorProto) -> list[str]:
    title = file.service[0].name if file.service else file.name.removeprefix("sixledger/")
    lines = [
        f"# {title}",
        NOTE,
        "",
        schema.comment(file),
        "",
        f"Package `{file.package}`, file `protos/{file.name}`.",
        "",
    ]
    for number, service in enumerate(file.service):
        lines += [schema.comment(file, SERVICES, number), "", "## Calls", ""]
        for at, call in enumerate(service.method):
            request, reply = schema.link(file, call.input_type), schema.link(file, call.output_type)
            streams = ("a stream of " if call.client_streaming else "", "a stream of " if call.server_streaming else "")
            lines += [f"### {call.name}", "", schema.comment(file, SERVICES, number, METHODS, at), ""]
            example = f"[Example](../examples.md#{call.name.lower()})"
            lines += [f"Takes {streams[0]}{request}, returns {streams[1]}{reply}. {example}", ""]
    if file.message_type:
        lines += ["## Messages", ""]
    for number, message in enumerate(file.message_type):
        lines += _message(schema, file, message, number)
    if file.enum_type:
        lines += ["## Enums", ""]
    for number, enum in enumerate(file.enum_type):
        lines += _enum(schema, file, enum, number)
    for number, field in enumerate(file.extension):
        lines += [f"## Option `{field.name}`", "", schema.comment(file, EXTENSIONS, number), ""]
        extended, kind = field.extendee.removeprefix("."), _type(schema, file, field)
        lines += [f"Extends `{extended}`, number {field.number}, of type {kind}.", ""]
    return lines


def _message(schema: Schema, file: FileDescriptorProto, message: DescriptorProto, number: int) -> list[str]:
    lines = [f"### {message.name}", "", schema.comment(file, MESSAGES, number), ""]
    rows = []
    for at, field in enumerate(message.field):
        about = schema.comment(file, MESSAGES, number, FIELDS, at)
        if field.HasField("oneof_index") and not field.proto3_optional:
            about += f" (one of `{message.oneof_decl[field.oneof_index].name}`)"
        rows.append((str(field.number), f"`{field.name}`", _type(schema, file, field, message), about))
    return lines + (table(("", "Field", "Type", ""), rows) if rows else [])


def _type(
    schema: Schema, file: FileDescriptorProto, field: FieldDescriptorProto, message: DescriptorProto | None = None
) -> str:
    for nested in message.nested_type if message is not None else ():
        if nested.options.map_entry and field.type_name.endswith(f".{nested.name}"):
            key, value = (_type(schema, file, each) for each in nested.field)
            return f"map of {key} to {value}"
    named = field.type in (FieldDescriptorProto.TYPE_MESSAGE, FieldDescriptorProto.TYPE_ENUM)
    name = schema.link(file, field.type_name) if named else _SCALARS[field.type]
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"repeated {name}"
    return f"optional {name}" if field.proto3_optional else name


def _enum(schema: Schema, file: FileDescriptorProto, enum: EnumDescriptorProto, number: int) -> list[str]:
    rows = [
        (str(value.number), f"`{value.name}`", schema.comment(file, ENUMS, number, VALUES, at))
        for at, value in enumerate(enum.value)
    ]
    return [f"### {enum.name}", "", schema.comment(file, ENUMS, number), "", *table(("", "Value", ""), rows)]
