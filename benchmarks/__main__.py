"""`python -m benchmarks [--json] [NAME ...]`: run benchmarks and fail when a gate is missed."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

import apsw

from benchmarks.frame import Row, as_json, benchmarks, page, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="run only these")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write what was measured as a page")
    arguments = parser.parse_args()
    rows: list[Row] = []
    told: list[tuple[str, str, list[Row]]] = []
    for name, module in benchmarks(arguments.names):
        found = module.run()
        rows += found
        told.append((name, module.__doc__ or "", found))
        if not arguments.json:
            print(f"{name}\n{table(found)}\n", flush=True)
    if arguments.json:
        print(as_json(rows))
    if arguments.page is not None:
        arguments.page.write_text(page(told, _facts()), "utf-8")
    return int(any(row.passed is False for row in rows))


def _facts() -> dict[str, str]:
    """When this was measured, and with what."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("apsw", "msgspec", "langchain-core"))
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "versions": f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, {versions}",
        "processors": str(os.cpu_count()),
    }


if __name__ == "__main__":
    sys.exit(main())
