"""A long body that is held once, though its messages stand beside it one by one.

A request's messages are most of its bytes. Once they are taken out of it, the body is the same bytes objects again,
with what stands around and between them; whoever wants it in one piece has it joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_BETWEEN = frozenset(b" \t\r\n,")
_SIGN = 48  # bytes by which the list of messages is looked for in its body
_MOST_SENT = 1 << 18  # bytes that are handed on at once


class CutList:
    """A JSON array as what stands before, between and behind its elements, and the elements themselves."""

    __slots__ = ("elements", "glue")

    def __init__(self, elements: Sequence[bytes], glue: Sequence[bytes]) -> None:
        self.elements, self.glue = elements, glue  # one more piece of glue than elements

    @classmethod
    def of(cls, listed: memoryview, elements: Sequence[bytes]) -> CutList:
        """The array of these elements, which stand in it one behind the other."""
        glue: list[bytes] = []
        known: dict[bytes, bytes] = {}  # mostly a comma, a hundred thousand times
        end, at = 0, 1
        for element in elements:
            while listed[at] in _BETWEEN:
                at += 1
            between = bytes(listed[end:at])
            glue.append(known.setdefault(between, between) if at - end < _SIGN else between)
            end = at = at + len(element)
        return cls(elements, [*glue, bytes(listed[end:])])

    @property
    def pieces(self) -> Iterator[bytes]:
        for glue, element in zip(self.glue, self.elements, strict=False):
            yield glue
            yield element
        yield self.glue[-1]

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces)


class HeldBody:
    """A request's bytes: whole as they came, or cut around a list that stands in them."""

    __slots__ = ("_held", "_size")

    def __init__(self, whole: bytes) -> None:
        self._held: bytes | tuple[bytes, CutList, bytes] = whole
        self._size = len(whole)

    def __len__(self) -> int:
        return self._size

    @property
    def whole(self) -> bytes:
        """All of it; joined where it is cut."""
        return self._held if isinstance(self._held, bytes) else b"".join(self._pieces())

    @property
    def cut(self) -> tuple[bytes, CutList, bytes] | None:
        """What stands before the list, the list, and what stands behind it; None where it is in one piece."""
        return None if isinstance(self._held, bytes) else self._held

    def share(self, listed: CutList) -> None:
        """Hold the elements of a list that stands in it as the very objects of the list."""
        whole = self._held
        if not isinstance(whole, bytes):
            return
        sign = b"".join(piece[:_SIGN] for piece in (listed.glue[0], *listed.elements[:1]))[:_SIGN]
        at = whole.find(sign)
        while at >= 0:
            end = _end(whole, at, listed)
            if end:
                self._held = whole[:at], listed, whole[end:]
                return
            at = whole.find(sign, at + 1)

    def __contains__(self, sign: bytes) -> bool:
        before = b""
        for piece in self._pieces():
            if sign in piece or sign in before + piece[: len(sign)]:
                return True
            before = (before + piece[-len(sign) :])[-len(sign) :]
        return False

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bytes):
            return len(other) == self._size and self.whole == other
        return isinstance(other, HeldBody) and len(other) == self._size and self.whole == other.whole

    __hash__ = None  # type: ignore[assignment]  # compared by its bytes, and never looked up

    def stretches(self) -> Iterator[bytes | memoryview]:
        """All of it in stretches that are neither long nor many, with no copy of what is long."""
        few: list[bytes] = []
        size = 0
        for piece in self._pieces():
            if size + len(piece) > _MOST_SENT and few:
                yield b"".join(few)
                few, size = [], 0
            if len(piece) > _MOST_SENT:
                view = memoryview(piece)
                yield from (view[at : at + _MOST_SENT] for at in range(0, len(piece), _MOST_SENT))
                continue
            few.append(piece)
            size += len(piece)
        if few:
            yield b"".join(few)

    def _pieces(self) -> Iterator[bytes]:
        held = self._held  # it may be cut meanwhile
        if isinstance(held, bytes):
            yield held
            return
        before, listed, after = held
        yield before
        yield from listed.pieces
        yield after


def _end(whole: bytes, at: int, listed: CutList) -> int:
    """Where a list ends that begins there; 0 where it does not."""
    for piece in listed.pieces:
        if not whole.startswith(piece, at):
            return 0
        at += len(piece)
    return at
