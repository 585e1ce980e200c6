"""`python -m benchmarks [--json] [NAME ...]`: run benchmarks and fail when a gate is missed."""

from __future__ import annotations

import argparse
import sys

from benchmarks.frame import Row, as_json, benchmarks, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="run only these")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name, module in benchmarks(arguments.names):
        found = module.run()
        rows += found
        if not arguments.json:
            print(f"{name}\n{table(found)}\n", flush=True)
    if arguments.json:
        print(as_json(rows))
    return int(any(row.passed is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
