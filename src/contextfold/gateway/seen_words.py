"""What the writer of a summary saw beside what the summary stands for, and where its words may be shown.

A model that is asked at the end of a conversation reads all of it: the system prompt, the tools, and messages behind
those it summarises. Words of these may be in what it writes. So such a fold keeps digests of system prompt and tools,
and of words that a client may leave out of messages, such as reasoning; it stands only where these are sent again, and
is made again only where every message that stood before it is still there. Once one had to go, because a client renews
what the model sees, summaries of that thread are written from what they cover alone: they stand wherever that stands,
and a client does not pay for a summary with every request. Decides only, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from contextfold.dialects.endpoint import Envelope
from contextfold.dialects.own_words import MARK
from contextfold.domain import Folded, LiveBranch, decode, encode
from contextfold.folding import Policy

from .client_shapes import ClientShapes
from .recognition import Normaliser

SEEN = "seen"  # the detail of a fold: digests of what its writer saw
COVERED = "covered"  # its value where the writer saw nothing but what the fold covers
_WRITER, _DIGEST = "writer", "extractive"
# Fields of a request in which nobody says anything: its messages stand for themselves, the rest are settings.
_NO_WORDS = frozenset(
    """
    messages input contents model stream stream_options max_tokens max_completion_tokens max_output_tokens temperature
    top_p top_k n seed stop stop_sequences store user metadata service_tier parallel_tool_calls toolConfig
    tool_config reasoning reasoning_effort thinking verbosity prompt_cache_key prompt_cache_retention safety_identifier
    truncation include previous_response_id context_management cache_control logprobs top_logprobs logit_bias
    presence_penalty frequency_penalty betas anthropic_version safetySettings safety_settings
    """.split()  # noqa: SIM905  # one name a line would be a page
)
_MOST_LOOSE = 256  # words that may be left out; a writer is not shown more of them
_LETTERS = 16  # of the digest of each
_COUNTED = "x-anthropic-billing-header:"  # a line of Claude Code's that is another in every request and is no word


class SeenWords(NamedTuple):
    """What a model reads of a request, as digests: all beside its messages, and what may be left out of these."""

    beside: str
    loose: frozenset[str]

    @classmethod
    def of(cls, envelope: Envelope, normaliser: Normaliser) -> SeenWords:
        """What is read of a request; what a known client renews is left out."""
        given = {name: bytes(envelope.fields[name]) for name in sorted(envelope.fields) if name not in _NO_WORDS}
        if b'"name"' not in given.get("tool_choice", b""):
            given.pop("tool_choice", None)
        words = [[name, *_words(decode(raw), normaliser.shapes)] for name, raw in given.items()]
        loose = {each for found in normaliser.numbered(envelope.messages).loose for each in found}
        digests = frozenset(blake2b(each, digest_size=_LETTERS // 2).hexdigest() for each in loose)
        return cls(blake2b(encode(words), digest_size=12).hexdigest(), digests)

    @property
    def can_be_kept(self) -> bool:
        """Whether there is little enough to keep it with a fold."""
        return len(self.loose) <= _MOST_LOOSE

    @property
    def mark(self) -> str:
        """The detail of a fold whose writer saw this."""
        return ".".join([self.beside, *sorted(self.loose)])

    def holds(self, mark: object) -> bool:
        """Whether all that a fold's writer saw is here too."""
        if not isinstance(mark, str) or mark == COVERED:
            return True  # it saw no more than what is covered, or nobody kept what it saw
        beside, *loose = mark.split(".")
        return beside == self.beside and self.loose.issuperset(loose)


def _words(value: object, shapes: ClientShapes) -> Iterator[str]:
    if isinstance(value, str):
        if not value.startswith(_COUNTED):
            yield shapes.undated(value)
    elif isinstance(value, Mapping):
        for name in sorted(value):
            if name != MARK:
                yield name
                yield from _words(value[name], shapes)
    elif isinstance(value, Sequence):
        yield "["
        for each in value:
            yield from _words(each, shapes)
        yield "]"
    elif value is not None:
        yield repr(value)


def are_read(branch: LiveBranch, policy: Policy) -> bool:
    """Whether a model writes summaries in this thread, or one did on this branch."""
    writers = (policy.summarizer or _DIGEST, *policy.fallback)
    return any(each != _DIGEST for each in writers) or any(SEEN in fold.event.details for fold in branch.folds)


def folds_of_others(branch: LiveBranch, seen: SeenWords) -> list[int]:
    """The live folds with words of a writer that saw something that is not in this request; the outermost first."""
    live = [fold for fold in branch.folds if fold.is_live]
    marks = {fold.seq: [each.details.get(SEEN) for each in _within(branch, fold.event)] for fold in live}
    return sorted((seq for seq, found in marks.items() if not all(map(seen.holds, found))), reverse=True)


def may_stand(branch: LiveBranch, seq: int, messages: Sequence[int], there: Collection[int]) -> bool:
    """Whether a fold may be made again where only these messages of its path are `there`."""
    event = branch.events[seq - 1].event
    if not isinstance(event, Folded) or not is_of_a_reader(branch, event):
        return True
    return all(message in there for message in messages if message < seq)


def is_of_a_reader(branch: LiveBranch, event: Folded) -> bool:
    """Whether a fold holds words of a model that read more than what they stand for."""
    return any(each.details.get(_WRITER) and each.details.get(SEEN) != COVERED for each in _within(branch, event))


def shares(branch: LiveBranch) -> bool:
    """Whether a thread's newest summary was asked for at the end of the conversation, or none was written yet."""
    events = (entry.event for entry in reversed(branch.events))
    marks = (event.details[SEEN] for event in events if isinstance(event, Folded) and SEEN in event.details)
    return next(marks, "") != COVERED


def _within(branch: LiveBranch, event: Folded) -> Iterator[Folded]:
    """A fold and the folds whose stand-ins it took over."""
    yield event
    for seq in event.cover.folds:
        inner = branch.events[seq - 1].event
        if isinstance(inner, Folded):
            yield from _within(branch, inner)
