"""Questions whose answers are known, made of the data beside the repository: people's, Japanese, of recorded runs."""

from __future__ import annotations

import gzip
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import apsw

from benchmarks.evidence import counted
from benchmarks.frame import SHARED
from contextfold import transcripts
from contextfold.dialects import understand
from contextfold.domain import Logged, Message, Text, ToolCall, ToolResult
from contextfold.errors import ContextFoldError
from contextfold.recall import index, passages
from contextfold.recall.search import Hit, Inquiry, Stretch, search
from contextfold.replay.notes import literals_in

DATA = SHARED / "data"
FOLDED, RECALLED = 20_000, 2_000  # tokens after which a result counts as folded; tokens of a recall
LEAST = 60  # messages of a run that is asked
_NOUN = re.compile("[一-龥]{2,6}|[ァ-ヶー]{3,10}")
_FORMS = ("{}はどうなりましたか?", "{}について何と言っていましたか", "さっき話していた{}のことを教えてください")
_SENTENCE = re.compile(r"(?<=[.!?。])\s|\\n|\n")


class MemoryQuestion(NamedTuple):
    """A question to a conversation of many sessions, and the ids of the turns that answer it."""

    question: str
    turns: list[dict[str, Any]]
    wanted: set[str]


def memory_questions() -> Iterator[MemoryQuestion]:
    """LongMemEval's."""
    for path in sorted((DATA / "longmemeval").glob("*.gz")):
        with gzip.open(path) as file:
            loaded = json.load(file)
        for asked in loaded if isinstance(loaded, list) else [loaded]:
            yield _memory_question(asked)


def _memory_question(asked: Any) -> MemoryQuestion:
    turns: list[dict[str, Any]] = []
    wanted: set[str] = set()
    dated = zip(asked["haystack_dates"], asked["haystack_sessions"], strict=True)
    for number, (date, session) in enumerate(dated):
        for place, turn in enumerate(session):
            name = f"{number}:{place}"
            said = {"text": turn["content"], "speaker": turn["role"]}
            turns.append({"id": name, **said, "session": number, "date": date})
            if turn.get("has_answer"):
                wanted.add(name)
    return MemoryQuestion(asked["question"], turns, wanted)


def longest() -> list[dict[str, Any]]:
    """The turns of the longest conversation of LongMemEval."""
    return max((asked.turns for asked in memory_questions()), key=len, default=[])


def dialogue_questions() -> Iterator[tuple[list[dict[str, Any]], list[tuple[str, list[int]]]]]:
    """Japanese dialogues: questions for nouns that few utterances of one hold, and the places of those."""
    for turns in _dialogues():
        seen: dict[str, list[int]] = {}
        for place, turn in enumerate(turns):
            for noun in set(_NOUN.findall(turn["text"])):
                seen.setdefault(noun, []).append(place)
        rare = {noun: where for noun, where in seen.items() if len(where) <= 3}
        yield turns, [(form.format(noun), where) for noun, where in rare.items() for form in _FORMS]


def _dialogues() -> Iterator[list[dict[str, Any]]]:
    for archive in sorted((DATA / "ja-asdc").glob("*.tar.gz")):
        with tarfile.open(archive) as tar:
            for member in islice(tar.getmembers(), 120):
                file = tar.extractfile(member)
                said = json.load(file)["utterances"] if file is not None else []
                yield [{"id": str(n), "text": each["text"], "speaker": each["name"]} for n, each in enumerate(said)]


class OnePlace:
    """The only thread of an index."""

    space = thread = 1


class IndexedRun:
    """A recorded run with the places of its passages, and what each costs to show."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.connection = apsw.Connection(":memory:")
        built = index.RecallIndex(lambda *_: None)
        built.install(self.connection)
        now = index.sitting_of(self.connection, OnePlace())
        self.number = now.number
        self.pieces: list[tuple[int, str]] = []
        self.places: dict[tuple[int, int, int], int] = {}
        self.starts: list[int] = []  # tokens said before each message
        used = 0
        self.sizes: list[int] = []
        for seq, message in enumerate(messages):
            self.starts.append(used)
            now = index.add(self.connection, 1, now, Logged(seq + 1, 0, 0.0, None), message)  # type: ignore[arg-type]
            for piece in passages(message):
                self.places[seq + 1, piece.block, piece.start] = len(self.pieces)
                self.pieces.append((seq, piece.text))
                self.sizes.append(counted(piece.text) + 12)
                used += self.sizes[-1]

    def recalled(self, question: str, edge: int) -> dict[int, float]:
        """Places of passages up to a message, best first, with their scores."""
        inquiry = Inquiry(question, 1, [Stretch(self.number, edge + 1)], read=lambda hit: self._piece(hit)[1])
        hits = search(index.IndexReader(self.connection), inquiry)
        return {self.places[hit.seq, hit.block, hit.start]: hit.score for hit in hits if hit.score > 0}

    def _piece(self, hit: Hit) -> tuple[int, str]:
        return self.pieces[self.places[hit.seq, hit.block, hit.start]]

    def holds(self, order: Iterable[int], edge: int, literal: object) -> bool:
        """Whether what fits into a recall, taken in this order, shows the literal."""
        left = RECALLED
        for place in order:
            seq, text = self.pieces[place]
            if seq <= edge and self.sizes[place] <= left:
                left -= self.sizes[place]
                if literal in literals_in(text):
                    return True
            if left < RECALLED // 20:
                break
        return False


class RunQuestion(NamedTuple):
    """A line of a run that uses a literal again, and the last message that is folded away by then."""

    line: str
    edge: int
    literal: Any


def run_questions(run: IndexedRun, chance: Random, most: int) -> Iterator[RunQuestion]:
    """Literals of early results, used again when those are out of view: the sentences that use them."""
    asked = list(_uses(run))
    chance.shuffle(asked)
    for seq, line, literal in asked[:most]:
        edge = max((n for n in range(seq) if run.starts[seq] - run.starts[n] > FOLDED), default=0)
        if any(literal in literals_in(text) for at, text in run.pieces if at <= edge):
            yield RunQuestion(line, edge, literal)


def long_runs() -> Iterator[list[Message]]:
    """Recorded runs of many messages."""
    for path in [file for name in ("claude-code", "codex", "pi") for file in sorted((DATA / name).glob("*"))]:
        for recorded in transcripts.read(path):
            messages = []
            for turn in recorded.turns:
                try:
                    messages.append(understand(turn.raw, "anthropic").message)
                except ContextFoldError:
                    continue
            if len(messages) >= LEAST:
                yield messages


def _uses(run: IndexedRun) -> Iterator[tuple[int, str, Any]]:
    """Sentences and calls of the model that name something last seen before what is in view."""
    last: dict[Any, int] = {}
    for seq, message in enumerate(run.messages):
        for block in message.blocks:
            if isinstance(block, ToolResult):
                for inner in block.blocks:
                    if isinstance(inner, Text):
                        last |= dict.fromkeys(literals_in(inner.text[:20_000]), seq)
            elif message.role == "assistant" and isinstance(block, Text | ToolCall):
                text = block.text if isinstance(block, Text) else block.arguments
                for line in (line[:300] for line in _SENTENCE.split(text) if len(line) > 15):
                    for literal in literals_in(line):
                        at = last.get(literal, seq)
                        if literal.kind != "number" and run.starts[seq] - run.starts[at] > FOLDED:
                            yield seq, line, literal
                last |= {literal: seq for literal in literals_in(text) if literal in last}
