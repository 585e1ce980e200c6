"""What steps ask of the outside, and what they tell of what they did.

A step is a generator that yields effects; a driver carries them out and answers. The driver throws an effect's error
into the generator where it was yielded; closing the generator is cancellation. Steps never yield while cleaning up, so
that a cancelled step leaves the thread as it was, or the fold complete.

Whatever happens on the way to a request ends in its report: folds made, attempts that failed and why, sizes before and
after.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from contextfold.domain import Attacher, Attachment, Count, FoldKind, Logged, NewEvent, Projection, Turn, View
from contextfold.layers import LayerUse
from contextfold.loggers import logger
from contextfold.models import Model
from contextfold.summaries import Prompt, Refusal, Rest
from contextfold.toolbox import ToolUse

from .economics import Prediction
from .policy import Answer, Writer

log = logger("folding")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Record(Struct, frozen=True):
    """Write what `drafting` makes of the thread as it is, in one transaction."""

    drafting: Callable[[Projection], Sequence[NewEvent]]
    blobs: tuple[bytes, ...] = ()


class Summarize(Struct, frozen=True):
    """Ask a summarizer, or a model by its name, for at most so many seconds."""

    summarizer: Writer
    prompt: Prompt
    timeout: float | None = None


class Wait(Struct, frozen=True):
    """Let some time pass before asking again."""

    seconds: float


class Save(Struct, frozen=True):
    """Write a file for the agent's own tools to read."""

    name: str
    content: bytes


class Tell(Struct, frozen=True):
    """Call somebody: a hook, or somebody whose answer counts."""

    hook: Callable[..., object]
    arguments: tuple[object, ...]


class Work(Struct, frozen=True):
    """Have something worked out aside that takes its time and touches nothing outside.

    It calls what it is given as often as it can, so that others who compute in this process have their turn.
    """

    work: Callable[[Rest], object]


class Running(Protocol[T_co]):
    """Steps that are carried out while others go on."""

    def done(self) -> bool: ...

    def result(self) -> T_co: ...

    def cancel(self) -> object: ...


class Begin(Struct, frozen=True):
    """Have steps carried out while others go on. They may ask and tell, never write: the thread is not theirs."""

    steps: Steps[Any]


Effect: TypeAlias = Record | Summarize | Wait | Save | Tell | Work | Begin
Steps: TypeAlias = Generator[Effect, Any, T]


def record(
    drafting: Callable[[Projection], Sequence[NewEvent]], blobs: tuple[bytes, ...] = ()
) -> Steps[tuple[Logged, ...]]:
    logged: tuple[Logged, ...] = yield Record(drafting, blobs)
    return logged


def summarize(summarizer: Writer, prompt: Prompt, timeout: float | None = None) -> Steps[Answer]:
    answer: object = yield Summarize(summarizer, prompt, timeout)
    if isinstance(answer, str):
        return Answer(answer)
    if not isinstance(answer, Answer):
        raise TypeError(f"A summarizer answers with a text or an Answer, not with a {type(answer).__name__}.")
    return answer


def wait(seconds: float) -> Steps[None]:
    """Nothing is asked for when there is nothing to wait for."""
    if seconds > 0:
        yield Wait(seconds)


def save(name: str, content: bytes) -> Steps[str]:
    path: str = yield Save(name, content)
    return path


def call(function: Callable[..., T], *arguments: object) -> Steps[T]:
    """Have something done outside that takes its time: files read, a snapshot taken."""
    answer: T = yield Tell(function, arguments)
    return answer


def worked_out(work: Callable[[Rest], T]) -> Steps[T]:
    """What this gives; while it is worked out, others have the thread."""
    result: T = yield Work(work)
    return result


def begin(steps: Steps[T]) -> Steps[Running[T]]:
    """Go on without waiting for these steps."""
    running: Running[T] = yield Begin(steps)
    return running


def ask(attacher: Attacher, turn: Turn) -> Steps[Iterable[Attachment]]:
    """Ask somebody what to attach; unlike a hook, whoever is asked answers."""
    attachments: Iterable[Attachment] = yield Tell(attacher, (turn,))
    return attachments


def tell(hook: Callable[..., object] | None, *arguments: object) -> Steps[None]:
    """Whoever listens is told and never asked: an error there is logged, without its words, and goes no further."""
    if hook is None:
        return
    try:
        yield Tell(hook, arguments)
    except Exception as error:  # noqa: BLE001  # somebody else's code, which must not end the conversation
        log.warning("The hook %s raised %s.", getattr(hook, "__qualname__", type(hook).__name__), type(error).__name__)


# -- what happened ----------------------------------------------------------------------------------------------------


class MadeFold(Struct, frozen=True):
    """A fold that was written: its id, how much it hides, and the raw tokens it changed."""

    id: int
    kind: FoldKind
    messages: int
    blocks: int
    before: int
    after: int
    text: str = ""  # of a summary
    predicted: Prediction | None = None  # what the edit it belongs to costs and saves


class Attempt(Struct, frozen=True):
    """One strategy's turn: what came of it, and what it cost."""

    strategy: str
    folds: tuple[int, ...] = ()
    refusal: Refusal | None = None
    error: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0  # of the input
    cost: float = 0.0  # USD


class Made(Struct):
    """What the stages have done so far."""

    folds: list[MadeFold] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    reasoning_dropped: int = 0
    reasoning_left: int = 0  # to the provider, which was asked to drop it

    def __iadd__(self, other: Made) -> Made:
        self.folds += other.folds
        self.attempts += other.attempts
        self.reasoning_dropped += other.reasoning_dropped
        self.reasoning_left += other.reasoning_left
        return self

    def count_reasoning(self, *, dropped: int = 0, left: int = 0) -> None:
        """So many blocks of reasoning went, or were left to the provider to drop."""
        self.reasoning_dropped += dropped
        self.reasoning_left += left


class CacheEffect(Struct, frozen=True):
    """What a change does to the provider's cache and to reasoning bound to the unchanged prefix."""

    kept: int  # raw tokens at the front that stay as they were
    rewritten: int  # raw tokens behind the first change
    reasoning_dropped: int = 0  # blocks that left with the change, because they were bound to what stood there
    reasoning_left: int = 0  # such blocks that the provider was asked to drop itself


class Report(Struct, frozen=True):
    """Everything a person or a log may ask about one `prepare` or `fold`."""

    trigger: str
    reason: str
    before: int  # tokens of the request when it began
    after: int
    usable: int
    folds: tuple[MadeFold, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cache: CacheEffect | None = None
    count: Count | None = None
    losses: tuple[str, ...] = ()  # what another dialect could not carry
    layers: tuple[LayerUse, ...] = ()  # what was used, cut and left out of each layer, and why
    tools: ToolUse | None = None  # what was visible, and what each way of showing tools costs
    recalled: int = 0  # folded passages that auto-recall attached
    recalled_tokens: int = 0  # and what they cost

    @property
    def summary(self) -> str:
        """The text of the newest summary that was made, if one was."""
        return next((fold.text for fold in reversed(self.folds) if fold.kind == "summary"), "")


def cache_effect(before: View, after: View, reasoning_dropped: int, reasoning_left: int = 0) -> CacheEffect:
    """Compare two views of one thread from the front."""
    same = 0
    for old, new in zip(before.items, after.items, strict=False):
        if old is not new and old != new:
            break
        same += 1
    kept = after.tokens(0, same)
    return CacheEffect(kept, after.tokens() - kept, reasoning_dropped, reasoning_left)


def bound_reasoning(view: View, model: Model, first_changed: int) -> Sequence[tuple[int, int]]:
    """Reasoning blocks from here on that the model would reject once something before them changed."""
    if model.binding not in ("prefix", "account"):
        return ()
    return [
        (item.seq, index)
        for item in view.items[first_changed:]
        if item.kind == "message"
        for index, block in enumerate(item.shape.blocks)
        if block.kind == "reasoning"
    ]
