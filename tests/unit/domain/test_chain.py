"""The chain: every part of every event is under the next link, and a forgotten body leaves it whole."""

import pytest

from contextfold.domain import (
    BRANCH_EVENTS,
    GENESIS,
    Appended,
    Attached,
    Checkpointed,
    Cover,
    Event,
    Folded,
    Measured,
    Noted,
    Pinned,
    Rewound,
    Sent,
    ToolsProjected,
    Unfolded,
    Unpinned,
    blobs_of,
    commitment,
    decode_event,
    digest,
    encode_event,
    link,
)
from tests.written import assistant, call, thought, user

EVENTS: list[Event] = [
    Appended(assistant(thought(), call("a")), "anthropic"),
    Folded("window", Cover(((1, 3), (5, 5)), ((7, 0),), (9,)), user(), 10, 5, 1.5, {"trigger": "full", "cost": 0.25}),
    Unfolded(2),
    Pinned(1),
    Unpinned(1),
    Noted("L2", user(), {"kind": "goal"}),
    Attached("reminder", user(), {"file": None}),
    Rewound(1, 7, "edit"),
    Sent(7, "model", "anthropic", 100, 1.1, "aa", "bb", {"max_tokens": 5}),
    Measured(9, "model", 90, 100, {"cached": 3}),
    Checkpointed("before", 7, "tree", {"files": 2}),
    ToolsProjected(("read", "write"), {"phase": "plan"}),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_read_back_as_it_was_written(event: Event) -> None:
    stored = encode_event(event)
    assert decode_event(stored) == event
    assert encode_event(decode_event(stored)) == stored


def test_every_kind_of_event_is_tried_here() -> None:
    assert {type(event) for event in EVENTS} == set(Event.__args__)
    assert sum(isinstance(event, BRANCH_EVENTS) for event in EVENTS) == len(BRANCH_EVENTS)


def test_changing_any_part_changes_the_link() -> None:
    sealed = (GENESIS, 2, 1, 0.5, "key", b"event", commitment(b"salt", b"body"))
    others = [
        (bytes(31) + b"\x01", *sealed[1:]),
        (*sealed[:1], 3, *sealed[2:]),
        (*sealed[:2], 0, *sealed[3:]),
        (*sealed[:3], 0.25, *sealed[4:]),
        (*sealed[:4], "kez", *sealed[5:]),
        (*sealed[:5], b"evenu", *sealed[6:]),
        (*sealed[:6], commitment(b"salt", b"bodz")),
        (*sealed[:4], "ke", b"y\nevent", sealed[6]),
    ]
    assert len({link(*sealed), *(link(*other) for other in others)}) == len(others) + 1
    assert link(*sealed) == link(*sealed)


def test_a_key_with_a_lone_surrogate_can_be_sealed() -> None:
    assert link(GENESIS, 1, 0, 0.0, "\ud800", b"", GENESIS) != link(GENESIS, 1, 0, 0.0, "", b"", GENESIS)


def test_a_commitment_does_not_tell_the_body() -> None:
    assert commitment(b"one", b"body") != commitment(b"two", b"body")
    assert len(commitment(b"", b"")) == 32


def test_blobs_are_named_by_what_they_hold_and_found_in_what_was_sent() -> None:
    assert digest(b"system") == digest(b"system") != digest(b"tools")
    assert blobs_of(Sent(1, "m", "anthropic", 1, system="aa", tools="bb")) == ("aa", "bb")
    assert blobs_of(Sent(1, "m", "anthropic", 1, tools="bb")) == ("bb",)
    assert blobs_of(Pinned(1)) == ()
