"""A writer that is killed at any time: appends with keys, and notes each one that was acknowledged."""

import json
import os
import sys
from contextlib import closing

from contextfold.domain import Appended, NewEvent, Shape
from contextfold.errors import Conflict, StoreError
from contextfold.logs.postgres import PostgresLog, open_postgres


def main(address: str, space: str, thread: str, writer: str, notes: str) -> None:
    number = 0
    if os.path.exists(notes):  # noqa: PTH110  # nothing more than this is imported
        with open(notes) as file:  # noqa: PTH123
            number = sum(line.endswith("\n") for line in file)
    while True:
        try:
            with closing(open_postgres(address, space=space)) as log:
                write(log, thread, writer, notes, number)
        except StoreError:
            with open(notes, "a+") as file:  # noqa: PTH123
                file.seek(0)
                number = sum(line.endswith("\n") for line in file)


def write(log: PostgresLog, thread: str, writer: str, notes: str, number: int) -> None:
    while True:
        key = f"{writer}-{number}"
        row = log.row(thread)
        assert row is not None
        try:
            said = NewEvent(Appended(Shape("user"), "anthropic"), row.last, 1.5, key.encode() * 20, key)
            log.append(thread, [said], expected=row.last)
        except Conflict:
            continue
        with open(notes, "a") as file:  # noqa: PTH123
            file.write(json.dumps([thread, key]) + "\n")
        number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
