#!/usr/bin/env python3
"""Write the compiled description of the gRPC service again, from its .proto file.

    scripts/generate-protocol.py            rewrite it
    scripts/generate-protocol.py --check    only say whether it is out of date; exit code 1 if it is

It needs grpcio-tools. The description is a serialized FileDescriptorSet: unlike generated
modules it is bound to no release of protobuf.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src" / "pytest_recall" / "extensions" / "memories" / "protocol"
NAME = "memory_bench"


def compiled() -> bytes:
    """Return what protoc makes of the .proto file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.binpb"
        protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{FOLDER}", f"--descriptor_set_out={out}"]
        subprocess.run([*protoc, f"{NAME}.proto"], check=True)
        return out.read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if it is out of date")
    args = parser.parse_args()
    path = FOLDER / f"{NAME}.binpb"
    news = compiled()
    if path.is_file() and path.read_bytes() == news:
        return 0
    if args.check:
        print(f"{path.name} is not what {NAME}.proto says")
        return 1
    path.write_bytes(news)
    print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
