"""Fail when the wheel is anything but the source.

A stolen release is most often a wheel that differs from its repository, or one with a `.pth` file, which runs at every
start of the interpreter. Builds with the locked backend, offline; installs nothing.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "contextfold"
SUFFIXES = {".json", ".md", ".py", ".sql", ".toml", ".txt", ".typed"}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def source() -> dict[str, bytes]:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes() for path in files}


def wheel(directory: Path) -> dict[str, bytes]:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(directory), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"The wheel does not build:\n{done.stdout}{done.stderr}")
    with zipfile.ZipFile(next(directory.glob("*.whl"))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def problems(built: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    inside = {name: body for name, body in built.items() if ".dist-info/" not in name}
    beside = {name.partition(".dist-info/")[2] for name in built if ".dist-info/" in name}
    found = [f"not in the source: {name}" for name in inside.keys() - wanted.keys()]
    found += [f"not in the wheel: {name}" for name in wanted.keys() - inside.keys()]
    found += [
        f"differs from the source: {name}" for name in inside.keys() & wanted.keys() if inside[name] != wanted[name]
    ]
    found += [f"unexpected metadata: {name}" for name in beside - METADATA]
    found += [f"unexpected kind of file: {name}" for name in inside if Path(name).suffix not in SUFFIXES]
    return sorted(found)


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        found = problems(wheel(Path(directory)), source())
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
