"""Another process that appends to the same store, one line of JSON for each wish. Started by the tests."""

import json
import sys
from contextlib import ExitStack

import contextfold as cf
from contextfold import logs


def main() -> None:
    path, opened = "", ExitStack()
    store = cf.open()
    with opened:
        for line in sys.stdin:
            wish = json.loads(line)
            if wish["path"] != path:
                opened.close()  # one at a time: there are more of them than a process may have files open
                path, log = wish["path"], logs.open_sqlite(wish["path"])
                log.connection.pragma("synchronous", "off")  # a process dies here, no power is cut
                store = opened.enter_context(cf.Store(log))
            seq = store.thread(wish["thread"]).append(wish["raw"].encode())
            sys.stdout.write(f"{seq}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
