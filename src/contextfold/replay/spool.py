"""What a long session is read into: values that move to disk once there are many, and are read back one by one.

So memory does not grow with a recording. Short ones stay in memory as they are, which is quicker. Values here never
change, and are gone with the process: their file has no name, so nobody else can open it.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from os import SEEK_END
from tempfile import TemporaryFile
from typing import IO, Generic, TypeVar, overload
from weakref import finalize

import msgspec

T = TypeVar("T")

IN_MEMORY = 8 * 2**20  # bytes, as they are written to disk
RECENT = 64  # values read last, which are likely to be asked for again
AHEAD = 16  # values that are read in one go, since mostly the next one is asked for next


class Spool(Sequence[T], Generic[T]):
    """A list that only grows, on disk from some size on."""

    def __init__(self, kind: type[T], most: int = IN_MEMORY) -> None:
        self._decoder, self._most = msgspec.msgpack.Decoder(kind), most
        self._near: list[T] = []  # all values, as long as they are in memory
        self._file: IO[bytes] | None = None
        self._ends = array("Q", [0])
        self._recent: OrderedDict[int, T] = OrderedDict()

    @property
    def is_on_disk(self) -> bool:
        return self._file is not None

    def append(self, value: T) -> None:
        packed = msgspec.msgpack.encode(value)
        self._ends.append(self._ends[-1] + len(packed))
        if self._file is not None:
            self._file.seek(0, SEEK_END)
            self._file.write(packed)
            return
        self._near.append(value)
        if self._ends[-1] > self._most:
            self._file = TemporaryFile()  # noqa: SIM115  # closed with this object
            finalize(self, self._file.close)
            self._file.writelines(map(msgspec.msgpack.encode, self._near))
            self._near.clear()

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...

    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if self._file is None:
            return self._near[place]
        if isinstance(place, slice):
            places = range(len(self))[place]
            if not places:
                return []
            first, last = min(places[0], places[-1]), max(places[0], places[-1])
            return self._read(self._file, first, last + 1)[:: places.step]
        at = range(len(self))[place]
        if at not in self._recent:
            self._recent.update(enumerate(self._read(self._file, at, min(at + AHEAD, len(self))), at))
            while len(self._recent) > RECENT:
                self._recent.popitem(last=False)
        return self._recent[at]

    def __iter__(self) -> Iterator[T]:
        for start in range(0, len(self), AHEAD):
            yield from self[start : start + AHEAD]

    def _read(self, file: IO[bytes], start: int, stop: int) -> list[T]:
        """The values from one place to another, in one look at the file."""
        first = self._ends[start]
        file.seek(first)
        whole = memoryview(file.read(self._ends[stop] - first))
        return [
            self._decoder.decode(whole[self._ends[at] - first : self._ends[at + 1] - first])
            for at in range(start, stop)
        ]
