"""Another process that appends to the same store, one line of JSON for each wish. Started by the tests."""

import json
import sys
from contextlib import ExitStack

import contextfold as cf


def main() -> None:
    with ExitStack() as opened:
        stores: dict[str, cf.Store] = {}
        for line in sys.stdin:
            wish = json.loads(line)
            if wish["path"] not in stores:
                stores[wish["path"]] = opened.enter_context(cf.open(wish["path"]))
            seq = stores[wish["path"]].thread(wish["thread"]).append(wish["raw"].encode())
            sys.stdout.write(f"{seq}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
