"""Requests in pieces: what is pointed to, what stands there, and pieces that nobody of ours wrote."""

from collections.abc import Sequence

import pytest

from contextfold.domain import encode
from contextfold.thread.sent_pieces import (
    BarePiece,
    EarlierPiece,
    KnownRequest,
    LogPiece,
    MessagePieces,
    OwnPiece,
    Piece,
    PieceGone,
    PieceReader,
    in_pieces,
    split,
)


def reader(bodies: dict[int, bytes]) -> PieceReader:
    return PieceReader(bodies.get, lambda raw: raw.replace(b"!", b""))


def kept(*pieces: Piece, glue: str = ",") -> bytes:
    return encode(MessagePieces(glue, pieces))


def read(bodies: dict[int, bytes], seq: int) -> list[bytes]:
    return [each.wire for each in reader(bodies).messages(seq)]


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","messages":["0","1","2"],"x":1}',
        b'{ "messages" : [\n "0" ,\n "1" ,\n "2"\n ] }',
        b'{"messages":["0"]}',
        b'{"messages":["0","1",  "2"],"stream":true}',  # uneven: all of them are one
        b'{"messages":[]}',
        b'{"messages":"only words"}',
        b'{"x":["0","1"],"messages":["0","1"],"messages":["0","1"]}',
    ],
)
def test_a_body_is_put_together_as_it_was(body: bytes) -> None:
    parts = split(body, "messages")
    assert parts is not None
    pieces = [OwnPiece(wire.decode()) for wire in parts.wires]
    bodies = {1: kept(*pieces, glue=parts.glue.decode())}
    assert reader(bodies).body(1, parts.frame(b"", b""), {})[0] == body


def test_a_body_without_messages_is_not_taken_apart() -> None:
    assert split(b'{"model":"m"}', "messages") is None


def test_long_blobs_have_a_place_in_the_frame_and_stand_there_again() -> None:
    system, tools = encode("s" * 100), encode(["t" * 100])
    body = b'{"system":%b,"messages":[1],"tools":%b,"again":%b}' % (system, tools, system)
    parts = split(body, "messages")
    assert parts is not None
    frame = parts.frame(system, tools)
    assert len(frame) < 80
    assert reader({1: kept(OwnPiece("1"))}).body(1, frame, {0: system, 1: tools})[0] == body


def pieces_of(wires: Sequence[bytes], known: Sequence[bytes]) -> list[Piece]:
    earlier = KnownRequest(7, [hash(wire) for wire in known])
    return list(in_pieces(wires, earlier, lambda new: [OwnPiece(wire.decode()) for wire in new]))


def test_only_what_no_earlier_request_has_stands_there() -> None:
    known = [b"a", b"b", b"c", b"d"]
    assert pieces_of([*known, b"e"], known) == [EarlierPiece(7, 0, 4), OwnPiece("e")]
    changed = [b"a", b"B", b"c", b"d"]
    assert pieces_of(changed, known) == [EarlierPiece(7, 0, 1), OwnPiece("B"), EarlierPiece(7, 2, 4)]
    folded = [b"x", b"c", b"d", b"e"]
    assert pieces_of(folded, known) == [OwnPiece("x"), EarlierPiece(7, 2, 4), OwnPiece("e")]
    repeated = [b"a", b"a", b"a"]
    assert pieces_of(repeated, repeated) == [EarlierPiece(7, 0, 3)]


def test_stretches_of_earlier_requests_are_followed_to_what_they_point_to() -> None:
    bodies = {
        1: b'"one!"',
        2: b'"two"',
        3: b'["three","four"]',
        4: kept(LogPiece(1, 2), LogPiece(3, 3, 2), OwnPiece('"five"')),
        5: kept(EarlierPiece(4, 1, 4), BarePiece(1), OwnPiece('"six"', 2)),
        6: kept(EarlierPiece(5, 1, 5)),
    }
    assert read(bodies, 5) == [b'"two"', b'"three"', b'"four"', b'"one"', b'"six"']
    assert reader(bodies).messages(6) == [(b'"three"', 3), (b'"four"', 3), (b'"one"', 1), (b'"six"', 2)]


def test_a_chain_of_many_requests_is_followed_without_end_of_the_stack() -> None:
    bodies = {1: kept(OwnPiece("1"))}
    for seq in range(2, 5_000):
        bodies[seq] = kept(EarlierPiece(seq - 1, 0, seq - 1), OwnPiece(str(seq)))
    assert read(bodies, 4_999) == [str(seq).encode() for seq in range(1, 5_000)]


@pytest.mark.parametrize(
    "pieces",
    [
        kept(EarlierPiece(9, 0, 1)),  # itself
        kept(EarlierPiece(12, 0, 1)),  # what comes later
        kept(EarlierPiece(3, 0, 1)),  # a forgotten one
        kept(EarlierPiece(8, 0, 1)),  # what is no request
        kept(LogPiece(3, 3)),
        kept(LogPiece(5, 2)),
        kept(LogPiece(1, 1 << 60)),
        kept(BarePiece(3)),
        b"",
        b"{}",
        b'[",",[["else",1]]]',
    ],
)
def test_pieces_that_lead_nowhere_are_told(pieces: bytes) -> None:
    with pytest.raises(PieceGone):
        read({1: b'"one"', 8: b'"eight"', 9: pieces}, 9)


def test_a_frame_that_is_none_is_told() -> None:
    with pytest.raises(PieceGone):
        reader({1: kept(OwnPiece("1"))}).body(1, b"[1", {})


def test_pieces_that_double_at_every_step_end_soon() -> None:
    bodies = {1: kept(OwnPiece('"one"'))}
    for seq in range(2, 80):
        size = 2 ** (seq - 2)
        bodies[seq] = kept(EarlierPiece(seq - 1, 0, size), EarlierPiece(seq - 1, 0, size))
    with pytest.raises(PieceGone):
        read(bodies, 79)
