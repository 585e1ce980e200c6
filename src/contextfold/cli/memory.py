"""See and change what is remembered across threads about a user, a project or an agent.

`list` shows what holds, with --history also what was replaced or is over, and without a name whom there are memories
about; `add` remembers; `forget` erases one memory, or all of them with --yes, for good; `export` prints every memory
with its history as JSON. `harvest` remembers what people said in a thread that holds beyond it: standing orders,
preferences, decisions, found by rules.

Examples:
  contextfold memory list
  contextfold memory list user-17
  contextfold memory add user-17 "Prefers tabs" --kind preference --about indent
  contextfold memory forget user-17 3
  contextfold memory export user-17
  contextfold memory harvest user-17 refactor-42
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import get_args

import contextfold as cf
from contextfold.store import MEMORIES, Kind, MemoryEntry, Scope, as_plain

from .arguments import NotConfirmed, UsageError, seq
from .commands import DONE
from .invocation import Invocation
from .paper import Ink


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "add", "forget", "export", "harvest"), help="what to do")
    parser.add_argument("who", nargs="?", metavar="NAME", help="whom or what the memories are about")
    parser.add_argument(
        "what",
        nargs="?",
        metavar="TEXT|ID|THREAD",
        help="what to remember, which memory to forget, which thread to harvest",
    )
    parser.add_argument("--scope", choices=get_args(Scope), default="user", help="user, project or agent")
    parser.add_argument("--kind", choices=get_args(Kind), default="fact", help="what kind of memory (default: fact)")
    parser.add_argument("--about", default="", metavar="WORD", help="a newer memory about the same takes its place")
    parser.add_argument("--history", action="store_true", help="list what was replaced or is over as well")
    parser.add_argument("--yes", action="store_true", help="forget all of them without asking")


def run(call: Invocation) -> int:
    if call.args.who is None and call.args.action != "list":
        raise UsageError("Whose memory? Name whom it is about. See `contextfold memory --help`.")
    with call.store(create=call.args.action == "add") as store:
        if call.args.who is None:
            return _list_names(call, store)
        memory = store.memory(call.args.who, scope=call.args.scope)
        match call.args.action:
            case "add":
                if not call.args.what:
                    raise UsageError("What is to be remembered? See `contextfold memory --help`.")
                entry = memory.remember(call.args.what, call.args.kind, about=call.args.about)
                return call.answer(as_plain(entry), lambda: call.out.line(call.say("memory.added", id=entry.id)))
            case "forget":
                if call.args.what is None and not call.args.yes:
                    raise NotConfirmed("This would erase every memory here for good. Name one by its id, or say --yes.")
                erased = memory.forget(None if call.args.what is None else seq(call.args.what))
                return call.answer({"erased": erased}, lambda: call.out.line(call.say("forget.done", count=erased)))
            case "harvest":
                if not call.args.what:
                    raise UsageError("Which thread? See `contextfold memory --help`.")
                return _list(call, memory.harvest(call.args.what))
            case "export":
                call.out.json(memory.export())
                return DONE
            case _:
                return _list(call, memory.entries(history=call.args.history))


def _list_names(call: Invocation, store: cf.Store) -> int:
    """Whom there are memories about, and how many hold, so that nobody has to guess a name."""
    threads = [row.name.removeprefix(MEMORIES) for row in store.threads(prefix=MEMORIES, order="name")]
    known = [(scope, name) for scope, _, name in (thread.partition(":") for thread in threads)]
    counted = [(scope, name, len(store.memory(name, scope=scope).entries())) for scope, name in known]  # type: ignore[arg-type]  # checked there
    held = [(scope, name, count) for scope, name, count in counted if count]

    def show() -> None:
        for scope, name, count in held:
            call.out.line(f"{count:>6}  {name}  ", Ink(call.out.label(scope), "dim"))
        if not held:
            call.out.line(call.say("memory.none"))

    return call.answer([{"scope": scope, "name": name, "memories": count} for scope, name, count in held], show)


def _list(call: Invocation, entries: tuple[MemoryEntry, ...]) -> int:
    def show() -> None:
        for entry in entries:
            mark = "" if entry.replaced_by is None else f" → {entry.replaced_by}"
            about = f" ({entry.about})" if entry.about else ""
            call.out.line(f"{entry.id:>6}  ", Ink(f"{call.out.label(entry.kind)}{about}{mark}", "dim"))
            call.out.text(entry.text, indent=8)
        if not entries:
            call.out.line(call.say("memory.none"))

    return call.answer([as_plain(entry) for entry in entries], show)
