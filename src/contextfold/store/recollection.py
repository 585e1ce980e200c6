"""What one thread can be asked about its past: by a question, by a file, or message by message. It writes nothing.

Only what is on the branch is told, unless everything is asked for; the same history gives the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from contextfold import recall
from contextfold.domain import Message, ToolResult, touches_of
from contextfold.thread import LogStretch, Thread

from .library import Library, Places, counted

_SPARE = 200  # passages that are looked at beyond what a budget can show
_LONGEST_QUESTION = 20_000  # characters; a question that pastes a whole file is asked by its beginning


class Recollection:
    """The past of one thread, as it stands now."""

    def __init__(self, library: Library, thread: Thread, lineage: Sequence[LogStretch]) -> None:
        self._library, self._thread, self._lineage = library, thread, lineage
        self.places = Places(thread)

    def about(
        self,
        question: str,
        *,
        budget: int,
        only_folded: bool = False,
        everywhere: bool = False,
        among: Collection[int] | None = None,
        is_known: Callable[[str], bool] | None = None,
        fill: bool = True,
        header: int = recall.HEADER,
    ) -> tuple[recall.Passage, ...]:
        """What answers a question, within a budget of tokens; `among` some messages, without what `is_known`.

        When nothing more answers it, the newest passages `fill` the budget.
        """

        question = question[:_LONGEST_QUESTION]

        def may_show(hit: recall.Hit) -> bool:
            if among is not None and hit.seq not in among:
                return False
            if not self.places.is_on_branch(hit.seq):
                return everywhere
            return not only_folded or self.places.fold(hit.seq, hit.block) is not None

        most = _SPARE + 2 * budget // header  # no more can be shown; some are too long, or known
        found = self._library.hits(self._lineage, question, may_show, most, read=self._words)
        hits = [hit for hit in found if fill or hit.score > 0]
        return self._packed(hits, question, budget, header, is_known)

    def of_file(self, path: str, *, budget: int, header: int = recall.HEADER) -> tuple[recall.Passage, ...]:
        """What was done with a file: the newest calls that touch it and their results, then where it is named."""
        hits = self._library.hits(self._lineage, path, lambda hit: self.places.is_on_branch(hit.seq))
        naming = [hit for hit in hits if hit.score > 0]
        calls = self._calls_on(path, {hit.seq for hit in naming})
        touching = [
            hit
            for seq in sorted({*calls.values(), *self._answering(calls)}, reverse=True)
            for hit in self._hits_of(seq, calls)
        ]
        return self._packed([*touching, *(hit for hit in naming if self._names(hit, path))], path, budget, header, None)

    def pages(
        self,
        seqs: Iterable[int],
        *,
        budget: int,
        blocks: Collection[tuple[int, int]] = (),
        header: int = recall.HEADER,
    ) -> tuple[tuple[recall.Passage, ...], ...]:
        """Messages whole, or only these `blocks` of them, in order, in parts that each fit into a budget of tokens."""
        only = {seq for seq, _ in blocks}
        count = counted(self._thread)
        pages: list[list[recall.Hit]] = [[]]
        left = budget
        for hit, text in ((hit, text) for seq in seqs for hit, text in self._pieces(seq)):
            if hit.seq in only and (hit.seq, hit.block) not in blocks:
                continue
            cost = count(text) + header
            if cost > left and pages[-1]:
                pages.append([])
                left = budget
            pages[-1].append(hit)
            left -= cost
        return tuple(self._packed(page, "", 1 << 60, header, None) for page in pages)

    def around(self, seq: int, around: int) -> tuple[int, ...]:
        """A message and so many before and after it, on the same branch."""
        self._thread.message(seq)  # there is one, or the error says so
        seqs = [item.seq for item in self._thread.branch.items.items if item.kind == "message"]
        if seq not in seqs:
            return (seq,)
        place = seqs.index(seq)
        return tuple(seqs[max(0, place - around) : place + around + 1])

    def _packed(
        self,
        hits: Iterable[recall.Hit],
        question: str,
        budget: int,
        header: int,
        is_known: Callable[[str], bool] | None,
    ) -> tuple[recall.Passage, ...]:
        wanted = hits if is_known is None else (hit for hit in hits if not is_known(self._words(hit).strip()))
        count = counted(self._thread)
        return recall.packed(wanted, question, budget=budget, read=self.places.source, count=count, header=header)

    def _words(self, hit: recall.Hit) -> str:
        return recall.passage_text(self._thread.message(hit.seq), hit.block, hit.start)

    def _pieces(self, seq: int) -> Iterator[tuple[recall.Hit, str]]:
        shown, logged = self._thread.message(seq), self._thread.branch.events[seq - 1]
        for block, start, speaker, text in recall.passages(shown, recall.spoken_by(logged)):
            yield recall.Hit(seq, block, start, speaker, 1.0), text

    # -- files --------------------------------------------------------------------------------------------------------

    def _calls_on(self, path: str, seqs: Collection[int]) -> dict[str, int]:
        """The calls among these messages that touch a file, each with the message it stands in."""
        found: dict[str, int] = {}
        for seq in sorted(seqs):
            for call in self._thread.message(seq).calls:
                if any(_is_same(touch.path, path) for touch in touches_of(call)):
                    found[call.id] = seq
        return found

    def _answering(self, calls: Collection[str]) -> Iterator[int]:
        for item in self._thread.branch.items.items:
            if item.kind == "message" and any(each in calls for each in item.shape.results):
                yield item.seq

    def _hits_of(self, seq: int, calls: Collection[str]) -> Iterator[recall.Hit]:
        message = self._thread.message(seq)
        for hit, _ in self._pieces(seq):
            if _belongs(message, hit.block, calls):
                yield hit

    def _names(self, hit: recall.Hit, path: str) -> bool:
        return path in self._words(hit)


def _belongs(message: Message, block: int, calls: Collection[str]) -> bool:
    """Whether a block is one of these calls, or the result of one."""
    found = message.blocks[block]
    about = found.call if isinstance(found, ToolResult) else getattr(found, "id", "")
    return about in calls


def _is_same(touched: str, path: str) -> bool:
    """Agents name one file from several directories: the shorter name ends the longer one."""
    one, other = touched.replace("\\", "/"), path.replace("\\", "/")
    return bool(one) and (one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}"))


_ANYWHERE = 400  # passages of all threads together that are looked at


def recalled_anywhere(
    library: Library,
    threads: Sequence[str],
    hold: Callable[[str], Thread],
    question: str,
    budget: int,
    *,
    everywhere: bool,
) -> tuple[recall.Passage, ...]:
    """What answers a question in any of these threads, within a budget of tokens; nothing that only fills it."""
    question = question[:_LONGEST_QUESTION]
    found = library.hits_anywhere(threads, question, _ANYWHERE)
    if not found:
        return ()
    places = {name: Places(hold(name)) for name in dict.fromkeys(name for name, _ in found)}
    names = {hit.number: name for name, hit in found}
    hits = [hit for name, hit in found if everywhere or places[name].is_on_branch(hit.seq)]

    def source(hit: recall.Hit) -> recall.PassageSource | None:
        return places[names[hit.number]].source(hit)

    count = counted(hold(found[0][0]))
    return recall.packed(hits, question, budget=budget, read=source, count=count)
