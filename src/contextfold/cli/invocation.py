"""One run of one command: what was asked, what is set, where the answer goes, and the store it is about.

Opens nothing that is not there: a misspelled path must not become an empty store.

A session for a command: the thread that was named, with the recipe in force.

Apart from `invocation`, because folding takes longest to import and many commands only look.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from msgspec import Struct

import contextfold as cf
from contextfold.configuration import DEFAULT, Configuration
from contextfold.errors import NotFound, ReadOnly
from contextfold.folding import Policy, Summarizer
from contextfold.logs import is_postgres, shown_address
from contextfold.models import nearest
from contextfold.preferences import policy_for

from . import words
from .commands import DONE
from .paper import Ink, Paper, ProgressLine
from .translation import error_in

_MOST_NAMES = 1_000  # among which a misspelled one is looked for
_MOST_SPACES = 5  # that are named


class Invocation(Struct, dict=True):
    """What a command works with."""

    args: Namespace
    settings: Configuration
    out: Paper
    err: Paper
    language: words.Language

    @property
    def is_json(self) -> bool:
        return bool(self.args.json)

    def is_told_as_json(self, value: object) -> bool:
        """Give the answer to a program, if it is one that asks; else it is still to be shown to a person."""
        if self.is_json:
            self.out.json(value)
        return self.is_json

    def answer(self, value: object, show: Callable[[], None], code: int = DONE) -> int:
        """Give the answer: to a program as JSON, to a person as shown."""
        if not self.is_told_as_json(value):
            show()
        return code

    def say(self, key: str, **values: object) -> str:
        """Words for people, in their language."""
        return words.say(key, self.language, **values)

    def note(self, text: str) -> None:
        """Something worth knowing that is no part of the answer."""
        if not self.args.quiet:
            self.err.line(Ink(self.say("note"), "dim"), f" {text}")

    def progress(self, label: str) -> ProgressLine:
        """Signs of life for long work."""
        return ProgressLine(sys.stderr, self.out.label(label), quiet=self.args.quiet)

    # -- the store --------------------------------------------------------------------------------------------------

    @cached_property
    def store_address(self) -> str:
        """What opens the store: a path, or an address that may hold a password."""
        return str(self.settings["store"])

    @cached_property
    def store_path(self) -> Path | str:
        """The store as people may see it."""
        address = self.store_address
        return shown_address(address) if is_postgres(address) else Path(address)

    def refuse_missing_store(self) -> None:
        """A misspelled path must not become an empty store."""
        if isinstance(self.store_path, Path) and not self.store_path.exists():
            raise NotFound(
                f"There is no store {self.store_path} ({self.settings.settings['store'].source}). "
                f"Name one with --store, or make it with `contextfold import`."
            )

    @cached_property
    def spaces(self) -> Sequence[str]:
        """The spaces of a command about a whole store: the one that was said, else all that hold threads."""
        usual = self.settings["space"]
        if self.settings.settings["space"].source != DEFAULT:
            return (usual,)
        with self._opened(usual) as store:
            return store.spaces() or (usual,)

    @property
    def space(self) -> str:
        """The space of a command about one thread: as said, else the usual one, else the only one with threads.

        A gateway keeps each credential's conversations in a space of its own, which nobody has heard of.
        """
        return self.spaces[0] if len(self.spaces) == 1 else self.settings["space"]

    @contextmanager
    def store(self, *, create: bool = False) -> Iterator[cf.Store]:
        """The store in force; something new is made in the space that is set."""
        if create:
            with cf.open(self.store_address, space=self.settings["space"]) as store:
                yield store
            return
        self.refuse_missing_store()
        with self._opened(self.space) as store:
            yield store

    def stores(self) -> Iterator[cf.Store]:
        """The store once for each of its spaces, one after the other."""
        self.refuse_missing_store()
        for space in self.spaces:
            with self._opened(space) as store:
                yield store

    @contextmanager
    def _opened(self, space: str) -> Iterator[cf.Store]:
        """A space of the store; one that may not be written to can still be looked at."""
        refused: ReadOnly | None = None
        try:
            store = cf.open(self.store_address, space=space)
        except ReadOnly as error:
            refused, store = error, cf.open(self.store_address, space=space, read_only=True)
        with store:
            try:
                yield store
            except ReadOnly as error:
                raise (refused or error) from error

    @property
    def other_spaces(self) -> str:
        """The spaces beside this one in which threads are, named; nothing where there are none."""
        others = [space for space in self.spaces if space != self.space]
        return ", ".join(others[:_MOST_SPACES]) + (", …" if len(others) > _MOST_SPACES else "")

    def note_other_spaces(self) -> bool:
        """Say where else in the store threads are; False where they are nowhere else."""
        if self.other_spaces:
            told = f"There are threads in other spaces: {self.other_spaces}. Name one with --space."
            self.note(error_in(self.language, told))
        return bool(self.other_spaces)

    @contextmanager
    def thread(self) -> Iterator[cf.Thread]:
        """The thread that was named, in its store."""
        with self.store() as store:
            yield store.thread(self.thread_name(store), model=self.model)

    @property
    def model(self) -> str | None:
        return self.settings["model"] or None

    def thread_name(self, store: cf.Store) -> str:
        """The thread that was named, set, or is the only one; never a new one."""
        wanted = getattr(self.args, "name", None) or self.settings["thread"]
        if wanted and wanted in store:
            return str(wanted)
        rows = store.threads(order="activity", limit=_MOST_NAMES, archived=False)  # memories are put away as well
        names = [row.title for row in rows]
        if not names and self.other_spaces:
            raise NotFound(
                f"{self.store_path} has no thread in the space {self.space!r}. There are threads in other spaces: "
                f"{self.other_spaces}. Name one with --space."
            )
        if wanted:
            known = nearest(wanted, names) if names else ". The store is empty."
            raise NotFound(f"There is no thread {wanted!r} in {self.store_path}{known}")
        if len(names) != 1:
            many = f"{len(names)} threads" if len(names) < _MOST_NAMES else "very many threads"
            listed = f"{self.store_path} has {many}" if names else f"{self.store_path} has no thread yet"
            raise NotFound(f"{listed}. Name one, as `contextfold threads` lists them, or set `thread`.")
        return names[0]


@contextmanager
def session_of(call: Invocation, summarizer: Summarizer | None = None) -> Iterator[cf.Session]:
    """The thread that was named, with the policy in force; `summarizer` writes its summaries."""
    with call.store() as store:
        artifacts = call.settings["artifacts"] or None
        name = call.thread_name(store)
        policy = policy_of(call, store.thread(name, model=call.model).model.name, summarizer)
        yield cf.Session.on(store, name, call.model, policy, artifacts=artifacts)


def policy_of(call: Invocation, model: str = "", summarizer: Summarizer | None = None) -> Policy:
    """The recipe in force, under everything that is set about folding."""
    return policy_for(call.settings, model or call.settings["model"], summarizer=summarizer)
