"""Session: where the parts meet. Coordinates and nothing more; each step is a function elsewhere.

A session is a thread with a policy: say something, prepare a request that fits, send it yourself, say what came back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from contextfold.configuration import configure
from contextfold.domain import Attacher, View
from contextfold.errors import NotFound
from contextfold.folding import FoldDecision, Offload, Policy, Report, rates_of
from contextfold.models import Model, Paid, limit_in
from contextfold.preferences import Chosen, policy_for
from contextfold.store import Store, one_look, unhurried
from contextfold.store import open as open_store
from contextfold.thread import FoldInfo, PastRequest, Thread

from . import answer, follow, hidden, preparation, previews, telemetry
from .answer import Piece, StreamRecording
from .desk import Desk
from .drivers import drive, drive_write
from .follow import FollowReport
from .previews import Preview
from .recall_calls import AutoRecall
from .request import Request
from .telemetry import Hook, Hooks
from .turn import Surroundings, System, Tools
from .verbs import Layered, Recalls, Travels


class Stats(Struct, frozen=True):
    """A session in numbers."""

    messages: int  # ever appended
    shown: int  # in the view now
    tokens: int  # of the view now
    hidden: int  # raw tokens that folds keep out of it
    folds: int
    requests: int
    billed: int  # input tokens over all requests, as far as providers said
    spent: float = 0.0  # on the input of all requests, in `unit`: as billed, else as counted
    full_history: float = 0.0  # what they would have cost without folding; 0 where the policy keeps no account
    unit: str = "tokens"  # USD where the model's prices are known
    paid: Paid = Paid()
    beside: int = 0  # tokens of system, tools and what else every request holds beside the view

    @property
    def saved(self) -> float:
        """The share of full history's cost that folding saved so far; below 0 where it has not paid yet."""
        return 1 - self.spent / self.full_history if self.full_history else 0.0


class Session(Travels, Layered, Recalls):
    """A thread, a model and a policy. Open one with `Session.open`; `contextfold.aio.Session` is its awaited twin."""

    def __init__(self, store: Store, desk: Desk, *, owns_store: bool = False) -> None:
        self.store, self.desk, self._owns_store = store, desk, owns_store

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        thread: str | None = None,
        model: str | None = None,
        dialect: str | None = None,
        policy: Policy | str | None = None,
        profile: Chosen = None,
        window: int | None = None,
        limit: int | None = None,
        system: System = None,
        tools: Tools = None,
        artifacts: str | os.PathLike[str] | None = None,
        workspace: str | os.PathLike[str] | None = None,
        attachers: Iterable[Attacher] = (),
        memory: str | None = None,
        on_fold: Hook = None,
        on_unfold: Hook = None,
        on_cannot_fit: Hook = None,
        on_drift: Hook = None,
        on_warning: Hook = None,
        on_progress: Hook = None,
    ) -> Self:
        """Open a store and a thread in it, created or continued. Without a path everything is in memory.

        With a `workspace`, checkpoints keep its files, and the model is told of them: see `contextfold.workspace`.
        `attachers` are asked once per turn for more that it should know; a `memory` (a user's name, or `project:…` and
        `agent:…`) is shown in layer L3. `dialect` names the wire format of messages and requests; without it a message
        is read by its shape, a request written as the model wants it. `policy` is a recipe by name, or one that you
        build; `profile` says how to fold, by name or by its fields. What is left out is taken from the settings: file,
        environment, defaults. `window` is how many input tokens the model takes, `limit` how many a request may use.
        """
        settings = configure()
        hooks = Hooks(on_fold, on_unfold, on_cannot_fit, on_drift, on_warning, on_progress)
        store = open_store(path)
        try:
            session = cls.on(
                store,
                thread or settings["thread"] or "main",
                model or settings["model"] or None,
                policy,
                hooks,
                artifacts or settings["artifacts"] or None,
                dialect=dialect,
                profile=profile,
                window=window,
                limit=limit,
                owns_store=True,
            )
            preparation.surround(session.desk, Surroundings(system, tools))
            session.desk.attachers.plug(workspace, attachers)
            session.desk.check()
            if memory:
                scope, _, name = memory.rpartition(":")
                session.show_memory(store.memory(name, scope=scope or "user"))  # type: ignore[arg-type]  # checked there
            return session
        except BaseException:
            store.close()
            raise

    @classmethod
    def on(
        cls,
        store: Store,
        thread: str,
        model: str | None = None,
        policy: Policy | str | None = None,
        hooks: Hooks | None = None,
        artifacts: str | os.PathLike[str] | None = None,
        *,
        dialect: str | None = None,
        profile: Chosen = None,
        window: int | None = None,
        limit: int | None = None,
        owns_store: bool = False,
    ) -> Self:
        """A session on a store that is open already."""
        with one_look(store.distant):
            opened = store.thread(thread, model=model)
            if window is not None:
                opened.lens.assume(opened.model.with_window(window))
            chosen = policy_for(configure(), opened.model.name, policy, profile)
            if limit is not None:
                chosen = chosen.with_(limit=limit)
            if artifacts is not None:
                chosen = chosen.with_(door=replace(chosen.door or Offload(), artifacts=str(artifacts)))
            directory = None if artifacts is None else Path(artifacts)
            if dialect is not None:
                opened.lens.speak(dialect)
            desk = Desk(opened, chosen, hooks or Hooks(), directory)
            preparation.surround(desk, Surroundings())
            desk.resume()
            preparation.remember(desk)
            desk.books.resume(opened, desk.turn.frame.tokens)
        if chosen.auto_recall:
            desk.attachers.put_first(AutoRecall(store, desk))
        return cls(store, desk, owns_store=owns_store)

    def __repr__(self) -> str:
        view = self.view
        return (
            f"<Session {self.thread.name!r}: {self.model.name or 'no model'}, {self.policy.name}, "
            f"{view.length} messages shown, {view.count.tokens:,} of {self.model.window:,} tokens>"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store, if this session opened it, and of what is being written in the background.

        A request that got no answer is written down before.
        """
        self.desk.background.close()
        self.desk.leave()
        if self._owns_store:
            self.store.close()

    # -- the turn -------------------------------------------------------------------------------------------------

    def append(
        self,
        message: object,
        *,
        dialect: str | None = None,
        key: str | None = None,
        usage: answer.Usage | None = None,
        durable: bool = True,
    ) -> int:
        """Say something, or say what came back. An answer is written with what was sent and what it cost.

        It is read in the `dialect` that is named, here or when the session was opened, else in the one its shape tells.
        `usage` is what an answer was billed, where it does not say so itself: input (all of the prompt), of that read
        and written (by the cache), and output, in tokens; or a provider's own usage. With `durable=False` it does not
        wait for the disk: what was said outlives the process at once, and a power cut after `store.flush()`.
        """
        steps = answer.append(self.desk, message, key, dialect, usage)
        if durable:
            return drive_write(steps, self.desk, look=self.desk.looks_before_writing)
        with unhurried(self.store.deferring):
            return drive_write(steps, self.desk, look=self.desk.looks_before_writing)

    def extend(
        self, messages: Iterable[object], *, dialect: str | None = None, durable: bool = True
    ) -> tuple[int, ...]:
        """Say many things, one after another, and wait for the disk once; if one is refused, those before it stay."""
        seqs = tuple([self.append(message, dialect=dialect, durable=False) for message in messages])
        if durable:
            self.store.flush()
        return seqs

    def follow(self, messages: Iterable[object], *, usage: answer.Usage | None = None) -> FollowReport:
        """Bring the thread to what a list says that you own: append what is new, go back where it differs.

        The list may hold everything that was ever said, or what was handed back: the messages of the last request, with
        what came since. Only what is new costs; after a restart nothing is written twice. A message that was given is
        compared by identity first: put another one in its place instead of changing it. `usage` is what the first new
        answer was billed.
        """

        def bring() -> FollowReport:
            listed = follow.listed(self.desk, messages)
            steps = follow.written(self.desk, listed, usage)
            if listed.is_short:
                return drive(steps, self.desk, look=False)
            with self.store.batch():  # what is written shares a commit
                return drive(steps, self.desk, look=False)

        return self.desk.alone(bring, look=True)

    def record(self, stream: Iterable[Piece], *, key: str | None = None) -> StreamRecording[Piece]:
        """Hand a streamed answer on piece by piece, and append it when it ends: `for event in session.record(stream)`.

        The stream is an SDK's, its events as dicts, or the raw bytes of server-sent events.
        """
        return StreamRecording(self.desk, stream, key)

    def prepare(
        self,
        *,
        system: System = None,
        tools: Tools = None,
        max_tokens: int | None = None,
        dialect: str | None = None,
        cache: bool | None = None,
        **settings: object,
    ) -> Request:
        """A request that fits and is valid; folds if it must. Raises `CannotFit`, with the size of each part.

        Where the provider wants its cache marked, the request is, at places where the view is stable; `cache` says
        otherwise. An answer as long as the model can give is asked for with `max_tokens` or `stream=True`.
        """
        frame = Surroundings(system, tools, max_tokens)
        steps = preparation.prepare(self.desk, frame, dialect, settings, cache)
        if not telemetry.is_heard():
            return drive(steps, self.desk)
        with telemetry.operation("prepare", self.desk.thread) as observed:
            request = drive(steps, self.desk)
            observed.reported(request.report)
        return request

    def overflowed(self, told: int | str | BaseException | None = None) -> None:
        """The provider refused the last request as too long: fold on the next `prepare`.

        `told` is what it said: its error, the error's text, or the number of tokens it takes.
        """
        self.desk.overflowed(told if isinstance(told, int) else limit_in(told))

    # -- folding by hand --------------------------------------------------------------------------------------------

    def fold(self, *, instructions: str = "", to: int | None = None) -> Report:
        """Fold now: the manual compaction. `instructions` are added to the summary's; `to` aims at a size."""
        with telemetry.operation("fold", self.desk.thread) as observed:
            report = drive(preparation.fold_now(self.desk, instructions, to), self.desk)
            observed.reported(report)
        return report

    def preview(self) -> FoldDecision:
        """What `prepare` would decide now, and why; nothing happens."""
        self.desk.look()
        return self.desk.decide()

    def preview_fold(self, *, instructions: str = "", to: int | None = None) -> Preview:
        """What `fold` would change; nothing happens, and no model is asked: a summary's size is that of the digest."""
        self.desk.look()
        return self.desk.alone(lambda: previews.of_fold(self.desk, instructions, to))

    @property
    def will_fold(self) -> bool:
        """Whether the next `prepare` will fold. The same decision, without doing anything."""
        return self.preview().will_fold

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def thread(self) -> Thread:
        """The log behind this session; what it is told to do, `prepare` takes account of."""
        return self.desk.thread

    @property
    def model(self) -> Model:
        """The model that requests are made for."""
        return self.desk.model

    @property
    def policy(self) -> Policy:
        """What decides when to fold and how."""
        return self.desk.policy

    @property
    def view(self) -> View:
        """What the model would see now, messages only; folds nothing."""
        return self.thread.view

    @property
    def folds(self) -> tuple[FoldInfo, ...]:
        """The folds that shape the view now, oldest first."""
        return self.desk.thread.folds

    @property
    def stats(self) -> Stats:
        """Numbers for people and dashboards: messages, folds, tokens, money."""
        view, account, told = self.view, self.desk.books.account, self.desk.books.told(self.thread)
        paid = told.paid
        unit = rates_of(self.model, 0).unit
        return Stats(
            told.messages,
            view.length,
            view.count.tokens,
            max(0, told.said - view.tokens()),
            self.thread.branch.folds.live,
            told.requests,
            told.billed,
            paid.input if told.bills and unit == "USD" else account.bill,
            account.full_bill,
            unit,
            paid,
            self.desk.budget().fixed,
        )

    def request_at(self, seq: int) -> PastRequest:
        """A request that was sent, byte for byte, and where each of its messages came from.

        `seq` is that of the answer it got, or of its `Sent` event, which it leaves also without an answer.
        """
        return self.thread.request(seq)

    def child(self, name: str, *, model: str | None = None, policy: Policy | str | None = None) -> Session:
        """A sub-agent's session: its own window and thread in the same store, linked to this one."""
        thread = self.store.thread(
            f"{self.thread.name}/{name}", model=model or self.model.name, parent=self.thread.name
        )
        artifacts = self.desk.artifacts
        return Session.on(self.store, thread.name, model or self.model.name, policy or self.policy, artifacts=artifacts)

    def _beside(self, thread: str) -> Self:
        desk, frame = self.desk, self.desk.turn.frame
        beside = type(self).on(self.store, thread, self.model.name, self.policy, desk.hooks, desk.artifacts)
        preparation.surround(beside.desk, Surroundings(frame.system, frame.tools, frame.output))
        beside.desk.attachers.plug(desk.attachers.workspace, desk.attachers.given)
        return beside

    def result(self, max_tokens: int = 2_000) -> str:
        """What a sub-agent hands back: its last words, cut to size at both ends and marked where they are cut."""
        words = hidden.last_words(self.view)
        if words is None:
            raise NotFound(f"Nothing was answered yet in thread {self.thread.name!r}. Run the sub-agent first.")
        return hidden.shortened(words, max_tokens, self.desk.count_text, self.thread.name)
