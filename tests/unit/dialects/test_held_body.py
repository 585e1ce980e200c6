"""A body that shares the bytes of its messages is the same bytes as before."""

from __future__ import annotations

import json
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfold.dialects.held_body import CutList, HeldBody
from contextfold.thread import body_digest
from contextfold.thread.sent_pieces import split, split_held

pytestmark = pytest.mark.finding("K13")

SPACES = st.sampled_from(["", " ", "\n ", "\t"])
MESSAGES = st.lists(
    st.fixed_dictionaries({"content": st.text(max_size=5) | st.lists(st.integers(), max_size=2)}), max_size=4
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A body with spaces wherever JSON allows them; its list may stand in it a second time."""
    around, between = draw(SPACES), f"{draw(SPACES)},{draw(SPACES)}"
    written = [json.dumps(each) for each in draw(MESSAGES)]
    listed = between.join(written[:2]) + "".join(f"{draw(SPACES)},{each}" for each in written[2:])
    whole = f"[{draw(SPACES)}{listed}{draw(SPACES)}]"
    before = f'"before":{draw(st.sampled_from(["1", whole]))},' if draw(st.booleans()) else ""
    return f'{{{before}"messages":{around}{whole}{around},"after":2}}'.encode()


def held(body: bytes) -> HeldBody:
    listed = memoryview(msgspec.json.decode(body, type=dict[str, msgspec.Raw])["messages"])
    elements = [bytes(each) for each in msgspec.json.decode(listed, type=list[msgspec.Raw])]
    shared = HeldBody(body)
    cut = CutList.of(listed, elements)
    assert bytes(cut) == listed
    shared.share(cut)
    assert shared.cut is not None
    assert all(one is other for one, other in zip(shared.cut[1].elements, elements, strict=True))
    return shared


@given(body=bodies(), sign=st.binary(min_size=1, max_size=3))
def test_a_body_cut_around_its_messages_is_the_same_bytes(body: bytes, sign: bytes) -> None:
    cut = held(body)
    assert cut.whole == body == b"".join(cut.stretches())
    assert len(cut) == len(body)
    assert cut == body == HeldBody(body)
    assert (sign in cut) == (sign in body)
    assert all(body[at : at + 3] in cut for at in range(len(body)))
    assert body_digest(cut) == sha256(body).hexdigest()


@given(body=bodies())
def test_a_cut_body_is_recorded_as_a_whole_one(body: bytes) -> None:
    whole, cut = split(body, "messages"), split_held(held(body), "messages")
    assert whole is not None
    assert cut is not None
    assert (cut.before, list(cut.wires), cut.glue, cut.after) == (
        whole.before,
        list(whole.wires),
        whole.glue,
        whole.after,
    )


def test_a_long_body_is_handed_on_in_stretches_without_a_copy() -> None:
    message = b'"' + b"x" * (1 << 20) + b'"'
    cut = held(b'{"messages":[' + message + b",1,2]}")
    stretches = list(cut.stretches())
    assert max(map(len, stretches)) <= 1 << 18
    assert sum(isinstance(each, memoryview) for each in stretches) == 5
