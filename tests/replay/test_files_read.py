"""Which files a process has read: what its code opened, and nothing that it wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """\
import io, json, os, pathlib, sys
root = pathlib.Path(sys.argv[1])
(root / "before.txt").read_text()
from pytest_recall.replay import files_read
files_read.watch()
files_read.watch()
pathlib.Path("data.json").read_text()
open(os.fsencode(root / "bytes.bin"), "rb").close()
os.close(os.open(root / "low.txt", os.O_RDONLY))
os.chdir("inside")
open("../link.txt").close()
open("written.txt", "w").close()
open("appended.txt", "a").close()
open(root / "both.txt", "r+").close()
os.close(os.open(root / "low_written.txt", os.O_WRONLY | os.O_CREAT))
with open(os.open(root / "by_number.txt", os.O_RDONLY)) as file:
    file.read()
open("/dev/null").close()
below = [path for path in files_read.files() if path.is_relative_to(root)]
print(json.dumps(sorted(path.relative_to(root).as_posix() for path in below)))
"""


def test_what_is_opened_to_be_read_is_known_from_then_on(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    for name in ("before.txt", "data.json", "bytes.bin", "low.txt", "target.txt", "both.txt", "by_number.txt"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    (tmp_path / "link.txt").symlink_to(tmp_path / "target.txt")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path.resolve())]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["by_number.txt", "bytes.bin", "data.json", "low.txt", "target.txt"]
