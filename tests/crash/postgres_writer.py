"""A writer that is killed at any time: appends with keys, and notes each one that was acknowledged.

Half of them speak to the log, half to a store as a gateway does.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import contextfold as cf
from contextfold.domain import Appended, NewEvent, Shape
from contextfold.errors import Conflict, StoreError
from contextfold.logs.postgres import PostgresLog, open_postgres


def main(address: str, space: str, thread: str, writer: str, notes: str) -> None:
    while True:
        try:
            if int(writer) < 2:
                with closing(open_postgres(address, space=space)) as log:
                    write(log, thread, keys(writer, thread, notes))
            else:
                with cf.open(address, space=space) as store:
                    speak(store.thread(thread), keys(writer, thread, notes))
        except StoreError:
            continue


def keys(writer: str, thread: str, notes: str) -> Iterator[str]:
    """The next key each time, from the first that was not noted; whoever asks for another got this one acknowledged."""
    file = Path(notes)
    number = sum(line.endswith("\n") for line in file.read_text().splitlines(keepends=True)) if file.exists() else 0
    while True:
        yield f"{writer}-{number}"
        with file.open("a") as noted:
            noted.write(json.dumps([thread, f"{writer}-{number}"]) + "\n")
        number += 1


def write(log: PostgresLog, thread: str, names: Iterator[str]) -> None:
    for key in names:
        while not append(log, thread, key):
            continue


def append(log: PostgresLog, thread: str, key: str) -> bool:
    row = log.row(thread)
    assert row is not None
    try:
        said = NewEvent(Appended(Shape("user"), "anthropic"), row.last, 1.5, key.encode() * 20, key)
        log.append(thread, [said], expected=row.last)
    except Conflict:
        return False
    return True


def speak(thread: cf.Thread, names: Iterator[str]) -> None:
    for key in names:
        thread.append({"role": "user", "content": key * 20}, key=key)


if __name__ == "__main__":
    main(*sys.argv[1:])
