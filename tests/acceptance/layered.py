"""A session with a little of every layer, for scenarios of layered state."""

from __future__ import annotations

from typing import Any

import contextfold as cf
from contextfold import layers as L
from tests.acceptance.scenario import got

ROLE = L.System(role="an engineer", policies=["no secrets"], constraints=["two hours"], audit="every write")
TASK = L.Task(goal="move the port", success=["tests pass"], output={"type": "object"})


async def layered(session: Any) -> None:
    """A little of every layer."""
    await got(session.define(system=ROLE, task=TASK))
    await got(session.enter(L.Phase.EXECUTING))
    await got(session.enter(L.Environment.DEV))
    await got(session.grant("write"))
    await got(session.revoke("deploy"))
    await got(session.failed("tests red"))
    await got(session.note(L.Variable("port", 8443)))
    await got(session.note(L.Decision("use a migration", why="it can be undone")))
    await got(session.note(L.Fact("the port is 8443", source=1)))
    await got(session.note(L.Procedure("release", ("build", "ship"))))
    await got(session.note(L.Observation("3 failed", tool="bash")))
    await got(session.note(L.Retrieved("ports above 1024", source="manual")))
    await got(session.note(L.Step("write the migration", status="doing")))


def messages(request: cf.Request) -> list[Any]:
    body: list[Any] = request.body["messages"]
    return body


async def events(session: Any, kind: type) -> list[Any]:
    return [entry.event for entry in await got(session.thread.events) if isinstance(entry.event, kind)]
