"""What is likely to be needed again is told by the user's last two messages, and by none before them."""

from __future__ import annotations

import pytest

from contextfold.domain import Message, Text
from contextfold.summaries import SourceMessage, SummaryRequest, digest, reuse

from .counting import count

PARSER, SOCKET = "Please look at the parser.", "Please look at the socket."
LINES = {"parser": "parser_state_alpha was found to be set", "socket": "socket_state_alpha was found to be set"}


def history(*requests: str) -> tuple[SourceMessage, ...]:
    """Two findings that differ in one word, then what the user asked for."""
    found = [Message("assistant", (Text(line),)) for line in LINES.values()]
    asked = [Message("user", (Text(text),)) for text in requests]
    return tuple(SourceMessage(seq, message) for seq, message in enumerate([*found, *asked], 1))


@pytest.mark.finding("H9")
def test_a_message_is_worth_more_if_one_of_the_last_two_requests_is_about_it() -> None:
    last = "Now go on with it, please."
    about_parser, about_socket = reuse(history(SOCKET, PARSER, last)), reuse(history(PARSER, SOCKET, last))
    assert about_parser[1] > about_socket[1]
    assert about_parser[2] < about_socket[2]


@pytest.mark.finding("H9")
@pytest.mark.parametrize(("requests", "expected"), [((SOCKET, PARSER), "parser"), ((PARSER, SOCKET), "socket")])
def test_a_digest_with_room_for_one_line_shows_what_one_of_the_last_two_requests_is_about(
    requests: tuple[str, ...], expected: str
) -> None:
    findings = (
        Message("user", (Text("Here is what I have:"),)),
        Message("assistant", (Text("\n".join(LINES.values())),)),
    )
    said = [*findings, *(Message("user", (Text(text),)) for text in (*requests, "Now go on with it, please."))]
    sources = tuple(SourceMessage(seq, message) for seq, message in enumerate(said, 1))
    kept = [
        name
        for budget in range(40, 140)
        if sum(line in (text := digest(SummaryRequest(sources, budget=budget), count)) for line in LINES.values()) == 1
        for name, line in LINES.items()
        if line in text
    ]
    assert kept
    assert set(kept) == {expected}
