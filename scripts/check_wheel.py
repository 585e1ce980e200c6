"""Fail when the wheel is anything but the source, or when two builds of one source differ.

A stolen release is most often a wheel that differs from its repository, or one with a `.pth` file, which runs at every
start of the interpreter; and a release that anybody can build again, byte for byte, can be checked by anybody. Builds
with the locked backend, offline; installs nothing.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "contextfold"
SUFFIXES = {".css", ".html", ".js", ".json", ".md", ".py", ".sql", ".svg", ".toml", ".txt", ".typed"}
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def source() -> dict[str, bytes]:
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes() for path in files}


# What may differ between two machines and must not show: the place on earth, the language, the mode of new files.
SURROUNDINGS: tuple[tuple[int, Mapping[str, str]], ...] = (
    (0o022, {"TZ": "UTC", "LC_ALL": "C.UTF-8"}),
    (0o077, {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}),
)


def built(directory: Path, umask: int, environment: Mapping[str, str]) -> dict[str, bytes]:
    """The release files, by name, as a machine with these surroundings builds them."""
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--wheel",
        "--sdist",
        "--outdir",
        str(directory),
        str(ROOT),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, umask=umask, env={**os.environ, **environment}
    )
    if done.returncode:
        sys.exit(f"The release does not build:\n{done.stdout}{done.stderr}")
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def differences(first: Mapping[str, bytes], second: Mapping[str, bytes]) -> list[str]:
    names = sorted(first.keys() | second.keys())
    return [f"two builds differ: {name}" for name in names if first.get(name) != second.get(name)]


def inside(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def problems(wheel: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    package = {name: body for name, body in wheel.items() if ".dist-info/" not in name}
    beside = {name.partition(".dist-info/")[2] for name in wheel if ".dist-info/" in name}
    found = [f"not in the source: {name}" for name in package.keys() - wanted.keys()]
    found += [f"not in the wheel: {name}" for name in wanted.keys() - package.keys()]
    found += [
        f"differs from the source: {name}" for name in package.keys() & wanted.keys() if package[name] != wanted[name]
    ]
    found += [f"unexpected metadata: {name}" for name in beside - METADATA]
    found += [f"unexpected kind of file: {name}" for name in package if Path(name).suffix not in SUFFIXES]
    return sorted(found)


def main() -> int:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        builds = [built(Path(place), *how) for place, how in zip((one, other), SURROUNDINGS, strict=True)]
        found = differences(*builds) + problems(inside(next(Path(one).glob("*.whl"))), source())
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
