"""Generate the Python code of the schema into protos/python, or check that it is current.

Usage: python protos/generate.py [--check]

The generator is pinned in pyproject.toml (dependency group `proto`), so the same sources give the
same bytes everywhere.
"""

from __future__ import annotations

import filecmp
import shutil
import sys
import sysconfig
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).parent
OUTPUT = ROOT / "python"


def generate(output: Path) -> None:
    """Run protoc for every .proto file of the schema, writing below `output`."""
    sources = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "sixledger").rglob("*.proto"))
    services = [source for source in sources if source.endswith("_service.proto")]
    include = [f"--proto_path={ROOT}", f"--proto_path={resources.files('grpc_tools') / '_proto'}"]
    scripts = Path(sysconfig.get_path("scripts"))  # so that it works without an activated environment
    plugins = [f"--plugin={name}={scripts / name}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")]
    output.mkdir(parents=True, exist_ok=True)
    messages = [f"--python_out={output}", f"--mypy_out=quiet:{output}"]
    stubs = [f"--grpc_python_out={output}", f"--mypy_grpc_out=quiet:{output}"]
    for outputs, files in ((messages, sources), (stubs, services)):
        if protoc.main(["protoc", *include, *plugins, *outputs, *files]) != 0:
            raise SystemExit("protoc failed")
    for path in sorted(output.rglob("*_pb2*.py*")):  # one newline at the end, as the formatters want
        path.write_text(path.read_text().rstrip("\n") + "\n")


def tree(root: Path) -> set[Path]:
    """The generated files below `root`, relative to it."""
    return {path.relative_to(root) for path in root.rglob("*_pb2*.py*") if "__pycache__" not in path.parts}


def main() -> None:
    """Generate, or with `--check` compare with what is committed and exit with status 1 if it differs."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        generate(fresh)
        if "--check" in sys.argv[1:]:
            old, new = tree(OUTPUT), tree(fresh)
            stale = (old ^ new) | {p for p in old & new if not filecmp.cmp(OUTPUT / p, fresh / p, shallow=False)}
            if stale:
                names = ", ".join(sorted(map(str, stale)))
                raise SystemExit(f"generated code is not current ({names}): run 'make proto' and commit")
            return
        shutil.rmtree(OUTPUT, ignore_errors=True)
        for path in sorted(tree(fresh)):
            (OUTPUT / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fresh / path, OUTPUT / path)


if __name__ == "__main__":
    main()
