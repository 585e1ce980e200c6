"""Drafts for tests of a log: as small as events can be, with whatever body a test needs."""

from __future__ import annotations

from contextfold.domain import Appended, EventLog, Logged, NewEvent, Sent, Shape, digest

NASTY_TEXTS = ("", "plain", "名前", "a\x00b", "lone \ud800 surrogate", "\udfff", "' OR 1=1 --", "x" * 5000, "\r\n\t")
NASTY_BODIES = (
    b"{}",
    bytes(range(256)),
    b"\x00" * 40,
    b"\xff\xfe not text",
    '{"text": "日本語 🙂"}'.encode(),
    b'{"lone": "\\ud800"}',
    b"x" * 4096,
    b"y" * 4097,
    b"z" * 1_000_000,
)


def message(body: bytes = b"{}", *, parent: int = 0, key: str = "", at: float = 1.5) -> NewEvent:
    """Somebody spoke."""
    return NewEvent(Appended(Shape("user", (), len(body)), "anthropic"), parent, at, body, key)


def blob_sent(*, system: bytes, parent: int = 0) -> NewEvent:
    """A request that names a blob and has no body of its own."""
    return NewEvent(Sent(parent, "model", "anthropic", 7, system=digest(system)), parent, 1.5)


def appended(log: EventLog, thread: str, *bodies: bytes, key: str = "") -> tuple[Logged, ...]:
    """Messages added at the end of the thread, whatever its end is."""
    row = log.row(thread)
    last = 0 if row is None else row.last
    drafts = [message(body, parent=last + step, key=key) for step, body in enumerate(bodies)]
    return log.append(thread, drafts, expected=last)
