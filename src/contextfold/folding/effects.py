"""What steps ask of the outside. A step is a generator that yields effects; a driver carries them out and answers.

The driver throws an effect's error into the generator where it was yielded; closing the generator is cancellation.
Steps never yield while cleaning up, so that a cancelled step leaves the thread as it was, or the fold complete.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from contextfold.domain import Attacher, Attachment, Logged, NewEvent, Projection, Turn
from contextfold.loggers import logger
from contextfold.summaries import Prompt, Rest

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
