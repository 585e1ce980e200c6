"""Look every package of the lock up among known vulnerabilities, with pip-audit.

Ends with 0 only when every package was looked up and none has a hole: 1 where one has, 3 where some could not be looked
up, which says nothing about them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "dev.txt"
SOUND, HOLES, UNCHECKED = 0, 1, 3
OPTIONS = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json", "--requirement")
_SHOWN = 5  # names of packages that were not looked up


class Hole(Struct):
    """A known vulnerability."""

    id: str
    fix_versions: list[str] = []


class Package(Struct):
    """What pip-audit says of one package: its holes, or why it was not looked up."""

    name: str
    version: str = ""
    vulns: list[Hole] = []
    skip_reason: str = ""


class Report(Struct):
    """What `pip-audit --format json` prints."""

    dependencies: list[Package]


def wanted_here(lock: str) -> set[str]:
    """The packages of a lock that are installed on this system, by their canonical names."""
    lines = (line.removesuffix("\\") for line in lock.splitlines() if line and line[0] not in " #-")
    required = (Requirement(line.strip()) for line in lines)
    return {canonicalize_name(each.name) for each in required if each.marker is None or each.marker.evaluate()}


def verdict(report: Report, wanted: set[str]) -> tuple[int, list[str]]:
    """The exit code, and what to print."""
    lines = [
        f"{package.name} {package.version}: {hole.id}, mended in {', '.join(hole.fix_versions) or 'no version yet'}"
        for package in report.dependencies
        for hole in package.vulns
    ]
    has_holes = bool(lines)
    checked = {canonicalize_name(package.name) for package in report.dependencies if not package.skip_reason}
    if unchecked := sorted(wanted - checked):
        names = ", ".join(unchecked[:_SHOWN]) + (", …" if len(unchecked) > _SHOWN else "")
        lines.append(f"NOT CHECKED: {len(unchecked)} of {len(wanted)} packages were not looked up ({names}).")
    if lines:
        return HOLES if has_holes else UNCHECKED, lines
    return SOUND, [f"All {len(wanted)} packages were looked up: no known vulnerabilities."]


def main() -> int:
    program = shutil.which("pip-audit", path=f"{ROOT / '.venv' / 'bin'}") or shutil.which("pip-audit")
    if program is None:
        print("NOT CHECKED: pip-audit is not installed. Install it (pipx install pip-audit) and run this again.")
        return UNCHECKED
    # A program that was found by its name, with arguments of ours.
    ran = subprocess.run([program, *OPTIONS, str(LOCK)], capture_output=True, text=True, check=False)
    try:
        report = msgspec.json.decode(ran.stdout, type=Report)
    except msgspec.DecodeError:
        why = ran.stderr.strip().splitlines()[-1:] if ran.returncode else ()
        print("NOT CHECKED: pip-audit gave no report.", *why)
        return UNCHECKED
    code, lines = verdict(report, wanted_here(LOCK.read_text("utf-8")))
    print(*lines, sep="\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
