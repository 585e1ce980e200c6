"""Fail when the last test run left too much untried.

Lines and branches are each held to the threshold, because one figure for both lets many lines hide few branches.
Measures nothing itself: it reads the .coverage file that `make test` wrote.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# The least share in percent, for every source file whose path starts so.
THRESHOLDS = {"src/contextfold/": 90.0, "src/contextfold/domain/": 100.0}


def measured() -> dict[str, dict[str, Any]]:
    """What coverage knows of each source file."""
    report = ROOT / "coverage.json"
    command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(report)]
    subprocess.run(command, cwd=ROOT, check=True)
    files: dict[str, dict[str, Any]] = json.loads(report.read_text())["files"]
    report.unlink()
    return files


def share(files: dict[str, dict[str, Any]], covered: str, all_of_them: str) -> float:
    total = sum(file["summary"][all_of_them] for file in files.values())
    return 100.0 * sum(file["summary"][covered] for file in files.values()) / total if total else 100.0


def gaps(files: dict[str, dict[str, Any]]) -> list[str]:
    """Where a reader should look, one line a file."""
    lines = []
    for path, file in sorted(files.items()):
        missing = [str(line) for line in file["missing_lines"]]
        missing += [f"{start}->{'exit' if end < 0 else end}" for start, end in file["missing_branches"]]
        if missing:
            lines.append(f"    {path}: {', '.join(missing)}")
    return lines


def main() -> int:
    files, missed = measured(), False
    for prefix, least in THRESHOLDS.items():
        part = {path: file for path, file in files.items() if path.startswith(prefix)}
        lines = share(part, "covered_lines", "num_statements")
        branches = share(part, "covered_branches", "num_branches")
        print(f"coverage {prefix}: lines {lines:.1f} %, branches {branches:.1f} %, at least {least:.0f} %")
        if min(lines, branches) < least:
            missed = True
            print("\n".join(gaps(part)))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
