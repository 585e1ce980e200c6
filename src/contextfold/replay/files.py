"""One file through every policy: rows as they are finished, and a word on how far it is.

A file that cannot be read, or a policy that fails on a session, becomes a `Failure` with its reason; the rest goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Advance:
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
            for policy, make in _making(policies, settings):
                if (sitting.number, policy) not in done:
                    _replay(sitting, policy, make, settings, emit)
    except (ContextFoldError, OSError) as error:
        emit(ReplayFailure(name, harmless(str(error), 1_000)))


def _making(policies: Mapping[str, Policy], settings: Settings) -> Iterator[tuple[str, Make]]:
    for name, policy in policies.items():
        yield name, _through(policy.with_(name=name))
    if settings.reference:
        yield FULL, full
        yield RECORDED, recorded


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
