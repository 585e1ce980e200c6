"""Following a list of messages that somebody else owns: what is new is appended, where it differs the thread goes back.

Every message is written with a key that depends on all that the list says up to it, so the log itself knows how much of
a list it has, also after a restart, also on a branch that was left. What others appended meanwhile, such as an answer,
is compared by what it says. An owner may keep everything, or what it was handed back: the view, with its stand-ins.
The list is the truth; nothing of it is changed, and nothing of the thread is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from contextfold import dialects
from contextfold.dialects import together, understand
from contextfold.domain import NO_PREFIX, Appended, Folded, Message, Reply, ViewItem, form_of, prefix_numbers
from contextfold.folding import Steps
from contextfold.thread import RewindReport, parts_of
from contextfold.thread.request_bytes import UNMARKED, is_bound

from . import answer, rewind
from .answer import Usage
from .desk import Desk
from .rewind import Where

SILENT = b"\0"  # the form of a message that says nothing which is compared, such as reasoning alone


class FollowReport(Struct, frozen=True):
    """What following a list came to."""

    known: int  # messages of the list that the thread had already
    new: tuple[int, ...]  # the seqs of those that were appended
    rewound: RewindReport | None = None  # where the thread went back, because the list differs


class _Match(NamedTuple):
    """How much of a list the thread has, and where to go back to before the rest is appended."""

    known: int
    where: Where | None = None


class Listed(NamedTuple):
    """A list beside the thread: what of it is new, and where the thread has to go back to first."""

    given: list[object]
    since: int  # messages at its front that are those of the last time
    found: _Match
    new: Sequence[tuple[Reply, int]]  # each with the place in the list behind it

    @property
    def is_short(self) -> bool:
        """Whether one message at most is all that has to be written, as in most turns."""
        return len(self.new) <= 1 and self.found.where is None


def follow(desk: Desk, messages: Iterable[object], usage: Usage | None) -> Steps[FollowReport]:
    """Bring the thread to what a list says. `usage` is what the first new answer was billed."""
    return (yield from written(desk, listed(desk, messages), usage))


def listed(desk: Desk, messages: Iterable[object]) -> Listed:
    """Compare a list with the thread; the list counts as unknown until what is new of it is written."""
    given = messages if isinstance(messages, list) else list(messages)
    owned, lens = desk.owned, desk.lens
    since = owned.same(given)
    place = desk.thread.branch.items.place(owned.end) if owned.is_whole else None
    ahead = [] if place is None else _said_ahead(desk, given, since, place)
    same, place = since + len(ahead), ahead[-1].place if ahead else place
    fresh = [understand(each, lens.dialect, lens.named) for each in given[same:]]
    said = [each.message for each in ahead] + [each.message for each in fresh]
    owned.go_on(since, [form_of(message) or SILENT for message in said])
    found = _matched(desk, same, place)
    if found.known >= same:
        rest = fresh[found.known - same :]
    else:
        rest = [understand(each, lens.dialect, lens.named) for each in given[found.known :]]
    return Listed(given, since, found, _grouped(desk, given, rest, found.known))


def written(desk: Desk, compared: Listed, usage: Usage | None) -> Steps[FollowReport]:
    """Go back where a list differs, and append what is new of it."""
    given, since, found, groups = compared
    report = None
    if found.where is not None:
        report = yield from rewind.rewind(desk, found.where, chat=True, files=False, preview=False)
    owned, new = desk.owned, list[int]()
    for reply, end in groups:
        is_billed = usage is not None and desk.requests.newest is not None and reply.message.role == "assistant"
        key = owned.numbers[end - 1].hex()
        new.append((yield from answer.append(desk, reply, key, None, usage if is_billed else None)))
        usage = None if is_billed else usage
    newest = next((item.seq for item in reversed(desk.thread.branch.items.items) if item.kind == "message"), 0)
    owned.keep(given, since, newest)
    return FollowReport(found.known, tuple(new), report)


def _grouped(desk: Desk, given: Sequence[object], fresh: Sequence[Reply], known: int) -> Sequence[tuple[Reply, int]]:
    """The new messages, each with the place in the list behind it; items that are one answer come as one."""
    if not any(dialects.find(each.message.dialect).is_written_in_items for each in fresh):
        return list(zip(fresh, range(known + 1, len(given) + 1), strict=True))
    named, at, groups = desk.lens.named, known, list[tuple[Reply, int]]()
    for group in together(given[known:], named):
        size = len(group) if isinstance(group, list) and not isinstance(given[at], list) else 1
        reply = fresh[at - known] if size == 1 else understand(group, desk.dialect, named)
        at += size
        groups.append((reply, at))
    return groups


# -- how much is there ------------------------------------------------------------------------------------------------


class _Ahead(NamedTuple):
    """A message that stands in the thread before it comes in the list."""

    message: Message
    place: int


def _said_ahead(desk: Desk, given: Sequence[object], same: int, place: int) -> list[_Ahead]:
    """What was said ahead of the list behind a place, such as an answer, and comes there now as it was said.

    Byte for byte, so nothing is read twice; whatever differs is left to be compared by what it says.
    """
    owned, items, found = desk.owned, desk.thread.branch.items.items, list[_Ahead]()
    for at in range(place + 1, len(items)):
        if items[at].kind != "message":
            continue
        said = owned.heard(items[at].seq, desk.lens.times_forgotten) or desk.lens.read(items[at])
        if same + len(found) == len(given) or given[same + len(found)] != said.raw or said.raw[:1] == b"[":
            break
        found.append(_Ahead(said, at))
    return found


def _matched(desk: Desk, same: int, place: int | None) -> _Match:
    """How much of the list is known, where its first messages are those of last time and end at a place, if any."""
    branch = desk.thread.branch
    known = same if place is not None else 0
    if place is None or branch.has_others:
        found = _looked_up(desk, same, place is not None)
        if found > ((known, branch.items.items[place].seq) if place is not None else (0, 0)):
            known, place = found[0], branch.items.place(found[1])
            if place is None:
                return _Match(known, Where(to=found[1]))
    known, differs = _walked(desk, known, -1 if place is None else place)
    if differs is None:
        return _Match(known)
    return _matched_by_view(desk, known) or _Match(known, Where(before=differs.seq))


def _looked_up(desk: Desk, same: int, is_there: bool) -> tuple[int, int]:
    """The longest prefix of the list that was followed before, on whatever branch, and the seq of its last message.

    Longer ones than are there already, then the one that ends where the list was left as it is, then all. Where there
    is one branch and the list is there, nobody has to be asked: whatever else was followed stands behind it.
    """
    found = _known(desk, same)
    if found == (0, 0) and same and not is_there:
        found = _known(desk, same - 1)
    return _known(desk, 0) if found == (0, 0) and same and not is_there else found


def _known(desk: Desk, since: int) -> tuple[int, int]:
    keys = {number.hex(): place for place, number in enumerate(desk.owned.numbers[since:], since + 1)}
    events = desk.thread.branch.events
    found = desk.lens.keyed(list(keys)) if keys else {}
    said = ((keys[key], seq) for key, seq in found.items() if isinstance(events[seq - 1].event, Appended))
    return max(said, default=(0, 0))


def _walked(desk: Desk, known: int, place: int) -> tuple[int, ViewItem | None]:
    """How much more of the list stands on the branch behind a place, and the first message there that differs."""
    numbers, lens = desk.owned.numbers, desk.lens
    items = desk.thread.branch.items.items
    for at in range(place + 1, len(items)):
        if items[at].kind != "message":
            continue
        before = numbers[known - 1] if known else NO_PREFIX
        said = list(prefix_numbers(_forms(lens.read(items[at])), before))
        if numbers[known : known + len(said)] != said:
            return known, items[at]
        known += len(said)
    return known, None


def _forms(message: Message) -> Iterator[bytes]:
    """One for each wire message that it consists of: most formats write it as one."""
    if message.raw.lstrip()[:1] != b"[":
        yield form_of(message) or SILENT
        return
    dialect = dialects.find(message.dialect)
    for each in dialects.elements(message.raw):
        yield form_of(dialect.parse(bytes(each))) or SILENT


def _matched_by_view(desk: Desk, known: int) -> _Match | None:
    """The list as what was handed back: the messages of the view. None where that explains no more of it."""
    numbers, view, lens, frame = desk.owned.numbers, desk.view(), desk.lens, desk.turn.frame
    spoken = desk.turn.dialect or desk.dialect
    dialect, rendering = dialects.find(spoken), desk.thread.rendering(spoken, binds=is_bound(desk.model)).twin()
    settings = {"model": desk.model.name, **({"system": frame.system} if frame.system else {})}
    parts = parts_of(rendering, view, lens, rendering.body(view, lens, settings), UNMARKED)
    for shown in (parts, [part for part in parts if part.kind != "frame"]):
        forms = (form_of(dialect.parse(part.wire)) or SILENT for part in shown)
        alike = 0
        for ours, theirs in zip(prefix_numbers(forms), numbers, strict=False):
            if ours != theirs:
                break
            alike += 1
        if alike > known:
            rest = [part for part in shown[alike:] if part.kind not in ("frame", "completion")]
            return _Match(alike, Where(before=_first(desk, rest[0].seq)) if rest else None)
    return None


def _first(desk: Desk, seq: int) -> int:
    """The first message or attachment behind a part of the view; of a stand-in, the first that its fold covers."""
    while isinstance(folded := desk.thread.branch.events[seq - 1].event, Folded):
        ranges, inner = folded.cover.ranges, folded.cover.folds
        seq = min([first for first, _ in ranges] + [_first(desk, fold) for fold in inner])
    return seq
