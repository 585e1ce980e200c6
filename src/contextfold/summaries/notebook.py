"""What a digest is made of: the lines worth weighing, how names were used, what people said, the files, the plan.

A notebook is carried from fold to fold. The next digest reads what is new and weighs that beside what the notebook
holds, so that it costs the same however much is hidden. While everything fits into the notebook, its digests are those
of one that read the whole past; beyond, lines that bring the least are let go, never all at once. Like the projection
of a thread it is an object that changes, because copying it would cost its size each time; whatever it reads only to
learn what matters, or for a fold that may not be made, can be taken back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .chances import Chances, TermUses, plain_words
from .coverage import SIZE_POWER, DigestLine, Rest, manner_of, no_rest
from .journal import Journal, put
from .lines import Count, Term, split, terms_in
from .passages import HistoryPassage, PassageReader, SourceMessage, Topic
from .request import SummaryRequest
from .sayings import Manner, Saying, lasting, sayings

LEAST_LINES, LINES = 800, 2_000  # that a notebook holds for a small digest, and for one of as many tokens
_MOST_OVER = 1.5  # times that many before lines are let go
_NAMED_AGAIN = 3  # lines of one name that are held before others
_MOST_TERMS = 40_000
_MOST_NAMELESS = 5_000
_MOST_PRICES = 10_000
_LINES_A_LOOK = 16
_MOST_COMMANDS, _MOST_FILES, _MOST_CALLS = 400, 1_000, 1_000


class _Prices:
    """Tokens of short texts that are weighed for each digest, counted once by one counter."""

    def __init__(self) -> None:
        self._count: Count | None = None
        self._known: dict[str, int] = {}

    def change(self, count: Count) -> bool:
        """Count by this from now on; False if that is so already."""
        if self._count == count:
            return False
        self._count, self._known = count, {}
        return True

    def of(self, text: str) -> int:
        price = self._known.get(text)
        if price is None and self._count is not None:
            price = self._known[text] = self._count(text)
        return price or 0

    def let_go(self) -> None:
        """Forget them once they are too many; they are soon counted again."""
        if len(self._known) > _MOST_PRICES:
            self._known.clear()


class _KnownLines:
    """Lines by their text, so that one that comes again is not read again."""

    def __init__(self) -> None:
        self.lines: dict[str, DigestLine] = {}
        self.nameless: dict[str, DigestLine] = {}  # which bring nothing, and come again and again
        self.seen: dict[str, DigestLine] = {}  # of the last reading that was taken back, which soon comes again
        self.manners: dict[str, Manner] = {}  # of what people typed
        self.places = 0

    def read(self, text: str, passage: HistoryPassage) -> DigestLine:
        """The next line of the history."""
        self.places += 1
        known = self.lines.get(text) or self.nameless.get(text) or self.seen.get(text)
        if known is not None:
            return DigestLine(self.places, text, passage, known.terms, known.words, known.manner, known.price)
        words = tuple(sorted(set(plain_words(text))))
        return DigestLine(self.places, text, passage, tuple(sorted(terms_in(text))), words, manner_of(text))


class Notebook:
    """Everything read so far that may matter again. Of lines that say the same it holds the newest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prices = _Prices()
        self._pending: tuple[SummaryRequest, Journal | None] | None = None
        self._known = _KnownLines()
        self._blank()

    def _blank(self) -> None:
        seen, self._known = self._known.seen, _KnownLines()
        self._known.seen = seen
        self.reader, self.uses = PassageReader(), TermUses()
        self.said: dict[int, list[Saying]] = {}  # what people typed, by passage
        self.asked: tuple[str, ...] = ()  # their last two messages
        self.spoken: HistoryPassage | None = None  # the assistant's last words
        self.in_view: list[DigestLine] = []  # lines that stay there, read to learn what matters
        self.folded = 0  # how many of the passages are folded; those after them stay in view

    @property
    def lines(self) -> dict[str, DigestLine]:
        """The lines worth weighing, by their text."""
        return self._known.lines

    def state(self) -> tuple[Any, ...]:
        return self.asked, self.spoken, self.folded, self._known.places

    def restore(self, state: tuple[Any, ...]) -> None:
        self.asked, self.spoken, self.folded, self._known.places = state

    @contextmanager
    def opened(self, request: SummaryRequest, count: Count, look: Rest) -> Iterator[None]:
        """Read what the request adds; at the end what stays in view is taken back, after a failure all of it."""
        with self._lock:
            self._take_back()
            self._pending = request, Journal() if self.reader.passages else None
            if self._prices.change(count):
                for line in self.lines.values():
                    line.weigh(None)
            aside = Journal()
            try:
                self._read_new(request, self._pending[1], look)
                self._read(request.sources[len(request.sources) - request.staying :], aside, look)
                self.folded = self.reader.passages
                self._read(request.kept, aside, look)
                read = [self.lines[text] for text in aside.changed(self.lines)]
                self.in_view = [line for line in read if line.passage.order >= self.folded]
                yield
                self._known.seen = {line.text: line for line in self.in_view}
                aside.undo()
            except BaseException:
                aside.undo()
                self._take_back()
                raise

    def keep(self, request: SummaryRequest) -> bool:
        """The fold of this request was made: what was read for it stays. False if another was read since."""
        with self._lock:
            if self._pending is None or self._pending[0].sources is not request.sources:
                return False
            self._pending = None
            return True

    def tidy(self, budget: int, rest: Rest) -> None:
        """Hold no more than digests of this size need, unless the next one is being made: that one tidies up then."""
        with self._lock:
            if self._pending is not None:
                return
            # Weighing lines is what a fold costs, and a small digest can show few.
            most = max(LEAST_LINES, min(budget, LINES), budget // 2)
            if len(self.lines) > most * _MOST_OVER:
                kept = self._best(most, rest)
                self._known.lines = {line.text: line for line in sorted(kept, key=lambda line: line.place)}
            needed = {line.passage.topic for line in self.lines.values()}
            commands, files = self.reader.commands, self.reader.files
            for number in [number for number in list(commands)[:-_MOST_COMMANDS] if commands[number] not in needed]:
                del commands[number]
            oldest = sorted(files.values(), key=lambda topic: topic.order)
            for topic in [topic for topic in oldest[:-_MOST_FILES] if topic not in needed]:
                del files[topic.name]
            self.reader.forget_calls(_MOST_CALLS)
            if len(self._known.nameless) > _MOST_NAMELESS:
                self._known.nameless.clear()
            if len(self._known.manners) > _MOST_NAMELESS:
                self._known.manners.clear()
            if max(len(self.uses.terms), len(self.uses.words)) > _MOST_TERMS:
                self.uses.forget(_MOST_TERMS * 3 // 4, {term for line in self.lines.values() for term in line.terms})
            self._prices.let_go()
            lasting(self.said)

    def _take_back(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None and pending[1] is None:
            self._blank()  # as it was; nothing was written down before
        elif pending is not None and pending[1] is not None:
            pending[1].undo()

    # -- reading ------------------------------------------------------------------------------------------------

    def _read_new(self, request: SummaryRequest, journal: Journal | None, look: Rest) -> None:
        """What was folded before, as far as it has to be read again, and what is to be folded now."""
        is_blank, sources = not self.reader.passages, request.sources
        if is_blank and (request.is_part or not request.earlier):
            self._write_down(journal, self.reader.read_earlier, [request.previous], look)
        # What is read again is not counted twice.
        told = {topic: topic.take_actions() for topic in self.reader.files.values()} if request.is_part else {}
        self._read(request.earlier, journal, look)
        for topic, actions in told.items():
            topic.done_at_least(actions)
        self._read(sources[: len(sources) - request.staying], journal, look)

    def _read(self, sources: Iterable[SourceMessage], journal: Journal | None, look: Rest) -> None:
        self._write_down(journal, self.reader.read, sources, look)

    def _write_down(
        self,
        journal: Journal | None,
        read: Callable[[Any], list[HistoryPassage]],
        sources: Iterable[Any],
        look: Rest,
    ) -> None:
        self.reader.write_to(journal)
        self.uses.write_to(journal)
        if journal is not None:
            journal.changes(self)
        for source in sources:
            for passage in read(source):
                self.note(passage, journal, look)

    def note(self, passage: HistoryPassage, journal: Journal | None, look: Rest) -> None:
        """One more passage: its lines, and what they say of names and words."""
        terms: set[Term] = set()
        words: set[str] = set()
        known, held = self._known, passage.without_text
        places, lines = known.places, known.lines
        before = None if journal is None else journal.before(lines)
        look()
        for text in split(passage.text):
            line = known.read(text, held)
            if known.places % _LINES_A_LOOK == 0:
                look()
            if line.terms or line.talk or passage.is_doubtful:
                if before is not None and text not in before:
                    before[text] = lines.get(text)
                lines[text] = line
            else:
                known.nameless[text] = line
            terms.update(line.terms)
            words.update(line.words)
        if known.places > places:
            self.uses.read(passage, terms, words)
        if passage.speaker.is_person:
            put(journal, self.said, passage.order, sayings(passage.text, held, known.manners))
            self.asked = (*self.asked[-1:], passage.text)
        elif passage.is_models_speech:
            self.spoken = passage

    def price(self, text: str) -> int:
        """Tokens of a text, counted once."""
        return self._prices.of(text)

    # -- what it says ---------------------------------------------------------------------------------------------

    @property
    def wanted(self) -> str:
        """What people asked for last."""
        return "\n".join(self.asked)

    def chances(self) -> Chances:
        """How likely each name is needed again."""
        last = {term for text in split(self.spoken.text) for term in self.terms_of(text)} if self.spoken else set()
        return Chances(self.uses, self.wanted, last)

    def topics(self) -> Iterator[Topic]:
        yield from self.reader.files.values()
        yield from self.reader.commands.values()

    def is_in_view(self, passage: HistoryPassage) -> bool:
        return passage.order >= self.folded

    def terms_of(self, text: str) -> Sequence[Term]:
        """The names in a line, looked up where it is held."""
        line = self.lines.get(text)
        return line.terms if line is not None else tuple(terms_in(text))

    # -- letting go -----------------------------------------------------------------------------------------------

    def _best(self, most: int, rest: Rest) -> list[DigestLine]:
        """The lines that name most for their size; of one name a few, before more of the same."""
        chances = self.chances()

        def worth(line: DigestLine) -> float:
            rest()
            named = sum([chances[term] for term in line.terms]) + 0.02 * len(line.talk)
            price: float = (line.price or 1 + len(line.text) // 4) ** SIZE_POWER
            return named * line.factor / price

        ranked = sorted(self.lines.values(), key=lambda line: (-worth(line), line.place))
        times: dict[Term, int] = {}
        best: list[DigestLine] = []
        others: list[DigestLine] = []
        for line in ranked:
            if line.terms and all(times.get(term, 0) >= _NAMED_AGAIN for term in line.terms):
                others.append(line)
                continue
            best.append(line)
            for term in line.terms:
                times[term] = times.get(term, 0) + 1
        return (best + others)[:most]


class NotebookShelf:
    """Where the notebook of the newest digest lies until the next one, with the fold whose text was made of it."""

    def __init__(self, lent: NotebookShelf | None = None) -> None:
        self._is_lent = lent is not None
        self._newest: tuple[int, int, Notebook] | None = lent.newest if lent is not None else None

    @property
    def newest(self) -> tuple[int, int, Notebook] | None:
        """The fold, how many events were forgotten by then, and the notebook."""
        return self._newest

    def find(self, folds: Sequence[int], erasures: int) -> Notebook | None:
        """The notebook of just these folds; none where words were forgotten since: it may hold some of them."""
        if self._newest is None or [*folds] != [self._newest[0]] or self._newest[1] != erasures:
            return None
        return self._newest[2]

    def keep(self, notebook: Notebook, request: SummaryRequest, fold: int, erasures: int) -> None:
        """A fold was written with the text that this notebook gave for a request.

        On a shelf that was lent, for a trial, nothing is kept: the owner's next digest takes the trial's reading back.
        """
        is_kept = not self._is_lent and notebook.keep(request)
        self._newest = (fold, erasures, notebook) if is_kept else None


# -- whole messages ---------------------------------------------------------------------------------------------------

_HALF = 0.001  # expected uses for each character at which a message is worth half of the most


def reuse(sources: Iterable[SourceMessage]) -> dict[int, float]:
    """What messages hold of what will be needed again: for each seq from 0 to 1; what says nothing has no entry."""
    notebook, sizes, newest = Notebook(), dict[int, int](), dict[Term, int]()
    for source in sources:
        for passage in notebook.reader.read(source):
            notebook.note(passage, None, no_rest)
            for text in split(passage.text):
                sizes[source.seq] = sizes.get(source.seq, 0) + len(text)
                newest.update(dict.fromkeys(notebook.terms_of(text), source.seq))
    chances, gains = notebook.chances(), dict[int, float]()
    for term, seq in newest.items():
        gains[seq] = gains.get(seq, 0.0) + chances[term]
    return {
        seq: density / (density + _HALF) for seq, size in sizes.items() for density in (gains.get(seq, 0.0) / size,)
    }
