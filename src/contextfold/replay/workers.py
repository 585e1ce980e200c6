"""Files through every policy, one by one or spread over processes: rows as they are finished, and how far it is.

A file that cannot be read, or a policy that fails on a session, becomes a `Failure` with its reason; the rest goes on.
Each process has a pipe of its own: what it finds comes over it as JSON, as soon as it is found. A process that dies
takes only its file with it, as a failure too. Nothing is shared, and nothing is pickled but paths and settings on the
way in.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from contextfold.domain.harmless import short_line as harmless
from contextfold.errors import BadConfiguration, ContextFoldError
from contextfold.folding import Policy
from contextfold.folding.recipes import RECIPES
from contextfold.models.config import nearest
from contextfold.transcripts import read

from .products import full, recorded
from .recorded_session import RecordedSession, sittings
from .values import FULL, RECORDED, ReplayFailure, Row, Settings
from .walk import Step, Walk, walk

Done = Collection[tuple[int, str]]  # sessions of the file and policies that need not be replayed again
Make = Callable[[RecordedSession, Settings, Step], Row]


class Advance(Struct, frozen=True):
    """A session under way."""

    session: str
    policy: str
    turn: int
    of_turns: int


Found = Row | ReplayFailure | Advance
Emit = Callable[[Found], None]


def named(policies: Collection[str]) -> dict[str, Policy]:
    """Recipes by name; an unknown name is refused with the known ones."""
    unknown = [name for name in policies if name not in RECIPES]
    if unknown:
        raise BadConfiguration(f"There is no policy {unknown[0]!r}{nearest(unknown[0], list(RECIPES))}")
    if len(set(policies)) < len(policies):
        raise BadConfiguration("A policy is named twice. Name each one once.")
    return {name: RECIPES[name]() for name in policies}


def replay_file(
    path: Path, name: str, policies: Mapping[str, Policy], settings: Settings, done: Done, emit: Emit
) -> None:
    """Every session of a file through every policy that is still to do. `name` is what the report calls the file."""
    try:
        for sitting in sittings(name, read(path, strict=settings.strict)):
            making = {name: _through(policy.with_(name=name)) for name, policy in policies.items()}
            making |= {FULL: full, RECORDED: recorded} if settings.reference else {}
            for policy, make in making.items():
                if (sitting.number, policy) not in done:
                    _replay(sitting, policy, make, settings, emit)
    except (ContextFoldError, OSError) as error:
        emit(ReplayFailure(name, harmless(str(error), 1_000)))


def _through(policy: Policy) -> Make:
    return lambda sitting, settings, after: walk(sitting, policy, settings, after=after)


def _replay(sitting: RecordedSession, policy: str, make: Make, settings: Settings, emit: Emit) -> None:
    if "assistant" not in sitting.roles[1:]:
        return  # nothing was ever asked of a model

    def tell(state: Walk, place: int) -> None:
        emit(Advance(sitting.name, policy, place + 1, len(state.sitting.turns)))

    try:
        emit(make(sitting, settings, tell))
    except ContextFoldError as error:
        emit(ReplayFailure(sitting.file, harmless(str(error), 1_000), sitting.name, policy))


TELL_EVERY = 16  # turns; a message for each would cost more than the turn


class FoundRow(Struct, frozen=True, tag="row"):
    row: Row


class FoundFailure(Struct, frozen=True, tag="failure"):
    failure: ReplayFailure


class FoundMove(Struct, frozen=True, tag="move"):
    session: str
    policy: str
    turn: int
    of_turns: int


class Ended(Struct, frozen=True, tag="ended"):
    """The file is done."""


class FileTask(Struct, frozen=True):
    """A file, what the report calls it, and the sessions and policies that are done."""

    path: str
    name: str
    done: frozenset[tuple[int, str]] = frozenset()


News: TypeAlias = FoundRow | FoundFailure | FoundMove | Ended

_NEWS: msgspec.json.Decoder[News] = msgspec.json.Decoder(News)
_TASK = msgspec.json.Decoder(FileTask)


class Crew(Struct):
    """The processes at work, what each is doing, and what is still to be done."""

    settings: Settings
    tasks: Mapping[Path, FileTask]
    waiting: list[Path]  # the next one last
    processes: dict[Connection, SpawnProcess] = field(default_factory=dict)
    busy: dict[Connection, Path] = field(default_factory=dict)

    def employ(self) -> None:
        """Start a process and give it a file."""
        context = get_context("spawn")  # a process of its own beginning: a fork would copy the caller's threads
        connection, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, msgspec.json.encode(self.settings)), daemon=True)
        process.start()
        theirs.close()
        self.processes[connection] = process
        self.hand_out(connection)

    def hand_out(self, connection: Connection) -> None:
        if self.waiting:
            path = self.waiting.pop()
            connection.send_bytes(msgspec.json.encode(self.tasks[path]))
            self.busy[connection] = path

    def replace(self, connection: Connection) -> None:
        """A process died: somebody else goes on with the files that are left."""
        self.dismiss(connection)
        if self.waiting:
            self.employ()

    def dismiss(self, connection: Connection) -> None:
        process = self.processes.pop(connection)
        connection.close()
        process.terminate()
        process.join()


def work_in_processes(
    tasks: Mapping[Path, FileTask],
    settings: Settings,
    jobs: int,
    take: Callable[[Path, Found], None],
    end: Callable[[Path], None],
) -> None:
    """Replay the files, the largest first so that the last one to finish is small."""
    crew = Crew(settings, tasks, sorted(tasks, key=_size))
    try:
        for _ in range(min(jobs, len(tasks))):
            crew.employ()
        while crew.busy:
            for connection in [each for each in wait(list(crew.busy)) if isinstance(each, Connection)]:
                _hear(crew, connection, take, end)
    finally:
        for connection in list(crew.processes):
            crew.dismiss(connection)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _hear(crew: Crew, connection: Connection, take: Callable[[Path, Found], None], end: Callable[[Path], None]) -> None:
    path = crew.busy[connection]
    try:
        news = _NEWS.decode(connection.recv_bytes())
    except (EOFError, OSError):
        del crew.busy[connection]
        name = crew.tasks[path].name
        take(path, ReplayFailure(name, "The process that replayed this file ended before it was done."))
        end(path)
        crew.replace(connection)
        return
    if isinstance(news, Ended):
        del crew.busy[connection]
        end(path)
        crew.hand_out(connection)
        return
    match news:
        case FoundRow():
            take(path, news.row)
        case FoundFailure():
            take(path, news.failure)
        case FoundMove():
            take(path, Advance(news.session, news.policy, news.turn, news.of_turns))


def _work(connection: Connection, settings: bytes) -> None:
    """The life of a process: file after file until the pipe closes. Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    chosen = msgspec.json.decode(settings, type=Settings)
    policies = named(chosen.policies)
    while True:
        try:
            task = _TASK.decode(connection.recv_bytes())
        except EOFError:
            return
        replay_file(Path(task.path), task.name, policies, chosen, task.done, partial(_send, connection))
        connection.send_bytes(msgspec.json.encode(Ended()))


def _send(connection: Connection, found: Found) -> None:
    match found:
        case Row():
            connection.send_bytes(msgspec.json.encode(FoundRow(found)))
        case ReplayFailure():
            connection.send_bytes(msgspec.json.encode(FoundFailure(found)))
        case Advance() if found.turn % TELL_EVERY == 0:
            news = FoundMove(found.session, found.policy, found.turn, found.of_turns)
            connection.send_bytes(msgspec.json.encode(news))
