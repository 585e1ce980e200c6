"""Where to go: five ways to name a place in a thread, and one place that each of them means.

Time never decides by itself: it chooses among the messages of this branch, and the place is then named by its seq. What
cannot be found is refused with its nearest neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from contextfold.domain import Appended, Checkpointed, Logged
from contextfold.errors import NotFound
from contextfold.thread.moving import head_at, on_path

from . import checkpointing
from .checkpointing import Checkpoint, CheckpointName
from .desk import Desk

TO_WHERE = ("before", "after", "to_time", "to_index", "to")


@dataclass(frozen=True, slots=True)
class Where:
    """A place to go to, named in one of five ways."""

    before: int | None = None
    after: int | None = None
    to_time: float | datetime | None = None
    to_index: int | None = None
    to: CheckpointName | None = None

    def check(self) -> None:
        """Exactly one way, please."""
        given = [name for name in TO_WHERE if getattr(self, name) is not None]
        if len(given) != 1:
            listing = ", ".join(f"{name}=" for name in TO_WHERE)
            raise TypeError(f"rewind() takes one of {listing}; {' and '.join(given) or 'none'} given")


def place(desk: Desk, where: Where) -> tuple[int, Checkpoint | None]:
    branch = desk.thread.branch
    if where.before is not None:
        return on_path(branch, where.before).parent, None
    if where.after is not None:
        return on_path(branch, where.after).seq, None
    if where.to_time is not None:
        return _at_time(desk, where.to_time).parent, None
    if where.to_index is not None:
        return _at_index(desk, where.to_index).parent, None
    return _at_checkpoint(desk, where.to)


def _at_checkpoint(desk: Desk, named: CheckpointName | None) -> tuple[int, Checkpoint | None]:
    """A checkpoint, or any other event of the thread by its seq, on whatever branch it is."""
    events = desk.thread.branch.events
    if isinstance(named, int) and 0 < named <= len(events):
        entry = events[named - 1]
        if not isinstance(entry.event, Checkpointed):
            return head_at(entry), None
    checkpoint = checkpointing.found(desk, named if named is not None else 0)
    return checkpoint.head, checkpoint


def with_files(checkpoint: Checkpoint | None) -> Checkpoint:
    if checkpoint is None:
        raise NotFound("Files can be rewound only to a checkpoint that kept them: rewind(to=checkpoint, files=True).")
    return checkpointing.kept_by(checkpoint)


def _messages(desk: Desk) -> list[Logged]:
    """Everything that was said on this branch, hidden or not, in order."""
    projection = desk.thread.branch
    return [projection.events[item.seq - 1] for item in projection.items.items if item.kind == "message"]


def message_at(desk: Desk, seq: int) -> Logged:
    entry = on_path(desk.thread.branch, seq)
    if isinstance(entry.event, Appended):
        return entry
    said = _messages(desk)
    nearest = _nearest([each.seq for each in said], seq)
    kind = type(entry.event).__name__.lower()
    raise NotFound(f"{seq} is no message (something was {kind} there). The nearest messages are {nearest}.")


def _at_index(desk: Desk, index: int) -> Logged:
    """By place among the messages of this branch, as in a list."""
    said = _messages(desk)
    if not -len(said) <= index < len(said):
        raise NotFound(f"There is no message at {index}: this branch has {len(said)}, counted from 0.")
    return said[index]


def _at_time(desk: Desk, time: float | datetime) -> Logged:
    """The message that was meant by a time: the one of exactly then, else the first from the user's side since.

    An answer may be written down after the words that interrupted it (seed 001's race), so an answer that is a little
    late is not what was meant, unless nobody said anything else.
    """
    moment = time.timestamp() if isinstance(time, datetime) else float(time)
    said = _messages(desk)
    exact = next((entry for entry in said if entry.at == moment), None)
    since = [entry for entry in said if entry.at >= moment]
    asked = next((entry for entry in since if _is_from_the_user(entry)), None)
    chosen = exact or asked or next(iter(since), None)
    if chosen is None:
        raise NotFound(f"Nothing was said at {_shown(moment)} or later. {_last(said)}")
    return chosen


def _is_from_the_user(entry: Logged) -> bool:
    return isinstance(entry.event, Appended) and entry.event.shape.role == "user"


def _last(said: Sequence[Logged]) -> str:
    if not said:
        return "Nothing was said at all."
    return f"The nearest earlier message is {said[-1].seq}, at {_shown(said[-1].at)}; there is none later."


def _shown(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")


def _nearest(seqs: Sequence[int], seq: int) -> str:
    earlier = max((each for each in seqs if each < seq), default=None)
    later = min((each for each in seqs if each > seq), default=None)
    return f"{earlier or 'none'} before and {later or 'none'} after it"
