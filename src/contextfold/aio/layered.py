"""The verbs of layered state, awaited: the same steps, driven by the other driver."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable
from typing import TypeVar

from contextfold import session as plain
from contextfold.domain import Environment, Phase
from contextfold.folding import Steps
from contextfold.layers import Item, Layout, State, System, Task
from contextfold.session import Desk, gating, noting
from contextfold.toolbox import Ruling

from .worker import Worker

T = TypeVar("T")


class Layered:
    """What a session knows beside what was said."""

    desk: Desk
    _session: plain.Session
    _worker: Worker

    @abstractmethod
    async def _drive(self, steps: Steps[T]) -> T: ...

    @property
    def state(self) -> Awaitable[State]:
        """The layers at the head of the thread: a projection of its notes."""
        return self._worker.run(lambda: self._session.state)

    async def define(
        self, *, system: System | None = None, task: Task | None = None, layout: Layout | None = None
    ) -> None:
        """Say who the model is (L0), what it is to reach (L1), and how layers are shown."""
        await self._drive(noting.define(self.desk, system, task, layout))

    async def enter(self, where: Phase | Environment | str) -> None:
        """Begin another phase (also by its name), or act in another environment."""
        await self._drive(noting.enter(self.desk, where))

    async def grant(self, permission: str) -> None:
        """Give a permission. `fs:*` covers `fs:write`, `*` everything; no other sign means anything."""
        await self._drive(noting.grant(self.desk, permission))

    async def revoke(self, permission: str) -> None:
        """Take back a permission, as it was granted."""
        await self._drive(noting.revoke(self.desk, permission))

    async def failed(self, text: str) -> int:
        """Write a failure down, so that the model does not try the same again unchanged; its seq."""
        return await self._drive(noting.failed(self.desk, text))

    async def note(self, item: Item) -> int:
        """Write an item of a layer down; its seq. `Retracted(seq)` takes one back."""
        return await self._drive(noting.note(self.desk, item))

    async def refuse(self, ruling: Ruling) -> None:
        """Put on record that `toolbox.enforce` refused a call when it was about to be carried out."""
        await self._drive(gating.refuse(self.desk, ruling))
