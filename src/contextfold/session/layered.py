"""The verbs of layered state, for whoever holds a session: define, enter, grant, revoke, failed, note, refuse.

Each is one step that is defined elsewhere and writes an event, so all of it rewinds, forks and survives restarts.
"""

from __future__ import annotations

from contextfold.domain import Environment, Phase
from contextfold.layers import Item, Layout, State, System, Task
from contextfold.toolbox import Ruling

from . import gating, noting
from .desk import Desk
from .drivers import drive


class Layered:
    """What a session knows beside what was said."""

    desk: Desk

    @property
    def state(self) -> State:
        """The layers at the head of the thread: a projection of its notes."""
        self.desk.look()
        return noting.state_of(self.desk)

    def define(self, *, system: System | None = None, task: Task | None = None, layout: Layout | None = None) -> None:
        """Say who the model is (L0), what it is to reach (L1), and how layers are shown.

        What is left out stays as it was. Raises `CannotFit` where L0 and L1 could never be shown whole. The layout is
        code, not history: give it again when the session is opened again.
        """
        drive(noting.define(self.desk, system, task, layout), self.desk)

    def enter(self, where: Phase | Environment | str) -> None:
        """Begin another phase (also by its name), or act in another environment."""
        drive(noting.enter(self.desk, where), self.desk)

    def grant(self, permission: str) -> None:
        """Give a permission. `fs:*` covers `fs:write`, `*` everything; no other sign means anything."""
        drive(noting.grant(self.desk, permission), self.desk)

    def revoke(self, permission: str) -> None:
        """Take back a permission, as it was granted."""
        drive(noting.revoke(self.desk, permission), self.desk)

    def failed(self, text: str) -> int:
        """Write a failure down, so that the model does not try the same again unchanged; its seq."""
        return drive(noting.failed(self.desk, text), self.desk)

    def note(self, item: Item) -> int:
        """Write an item of a layer down; its seq. `Retracted(seq)` takes one back."""
        return drive(noting.note(self.desk, item), self.desk)

    def refuse(self, ruling: Ruling) -> None:
        """Put on record that `toolbox.enforce` refused a call when it was about to be carried out."""
        drive(gating.refuse(self.desk, ruling), self.desk)
