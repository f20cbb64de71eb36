"""The compiled schema with its comments."""

from __future__ import annotations

import re
import tempfile
from importlib import resources
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

_PROTOS = Path(__file__).resolve().parents[2] / "protos"
#: Field numbers of the descriptor messages, as they stand in the paths of source locations.
MESSAGES, ENUMS, SERVICES, FIELDS, VALUES, METHODS, EXTENSIONS, ONEOFS = 4, 5, 6, 2, 2, 2, 7, 8


class Schema:
    """The compiled schema, with its comments and where each type is described."""

    def __init__(self) -> None:
        sources = sorted(path.relative_to(_PROTOS) for path in (_PROTOS / "sixledger").rglob("*.proto"))
        with tempfile.TemporaryDirectory() as folder:
            compiled = Path(folder) / "schema"
            include = [f"--proto_path={_PROTOS}", f"--proto_path={resources.files('grpc_tools') / '_proto'}"]
            options = ["--include_source_info", f"--descriptor_set_out={compiled}"]
            if protoc.main(["protoc", *include, *options, *map(str, sources)]) != 0:
                raise SystemExit("protoc failed")
            self.files = list(FileDescriptorSet.FromString(compiled.read_bytes()).file)
        self._comments = {
            (file.name, tuple(location.path)): location.leading_comments
            for file in self.files
            for location in file.source_code_info.location
        }
        self._pages = {
            f".{file.package}.{kind}": page_of(file)
            for file in self.files
            for kind in (*[each.name for each in file.message_type], *[each.name for each in file.enum_type])
        }

    def comment(self, file: FileDescriptorProto, *path: int) -> str:
        """The comment on a thing, one paragraph a line."""
        text = self._comments.get((file.name, path), "")
        if not path:  # of the file: it stands before the first statement, which is `syntax`
            text = self._comments.get((file.name, (12,)), "")
        return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()))

    def link(self, file: FileDescriptorProto, kind: str) -> str:
        """A type's name, linked to where it is described."""
        name, page = kind.rpartition(".")[2], self._pages.get(kind)
        if page is None:
            return f"`{kind.removeprefix('.')}`"
        return f"[{name}]({'' if page == page_of(file) else page}#{name.lower()})"


def page_of(file: FileDescriptorProto) -> str:
    """The page of a .proto file."""
    return Path(file.name).name.replace(".proto", ".md" if file.package == "sixledger.v1" else f"-{_kind(file)}.md")


def _kind(file: FileDescriptorProto) -> str:
    return file.package.split(".")[1].removesuffix("s")
