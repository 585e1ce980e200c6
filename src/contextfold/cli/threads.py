"""The threads of a store: listed, called by another name, put away and listed again, and tried another way."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import contextfold as cf
from contextfold.domain import Appended, ListedThread, ThreadOrder
from contextfold.shell import quoted
from contextfold.store import Store

from .arguments import UsageError, add_thread, seq
from .commands import DONE
from .invocation import Invocation

PAGE = 100


class ThreadsCommand:
    """List the threads of a store, the newest activity first: their model, how much was said, how much the model sees.

    A page at a time; --after goes on where the last page ended. Threads that were put away are left out, unless --all
    asks for them; one that was forgotten is listed as such. A gateway keeps the conversations of each key in a space of
    its own: where there are several, --space says which, and --spaces lists them.

    Examples:
      contextfold threads
      contextfold threads --order name --prefix refactor- --limit 20
      contextfold threads --store agent.db --json
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        parser.add_argument("--spaces", action="store_true", help="only the names of the spaces that hold threads")
        parser.add_argument("--names", action="store_true", help="only the names, one a line")
        parser.add_argument("--limit", type=int, metavar="N", help=f"at most so many (default: {PAGE}; all names)")
        parser.add_argument(
            "--order", choices=("activity", "name", "created"), help="what comes first (default: activity, the newest)"
        )
        parser.add_argument("--prefix", default="", metavar="TEXT", help="only threads whose names begin with this")
        parser.add_argument("--after", metavar="WHERE", help="go on after this: what the page before said, or a name")
        parser.add_argument("--all", action="store_true", help="also threads that were put away")

    @staticmethod
    def run(call: Invocation) -> int:
        if call.args.spaces:
            call.refuse_missing_store()
            return call.answer(list(call.spaces), lambda: call.out.lines(call.spaces))
        with call.store() as store:
            rows = _page(call, store)
            if call.args.names:
                return call.answer([row.title for row in rows], lambda: call.out.lines(row.title for row in rows))
            progress = call.progress("threads")
            found = []
            for at, row in enumerate(rows):
                progress.at(at, len(rows), row.title)
                found.append(_facts(store, row))
            progress.done()
            if not call.is_told_as_json(found):
                _show_list(call, rows, found)
            return DONE


def _page(call: Invocation, store: cf.Store) -> Sequence[ListedThread]:
    args = call.args
    order: ThreadOrder = args.order or "activity"
    after: str | int | None = args.after
    if after is not None and order == "activity":
        if not str(after).isdecimal():
            raise UsageError(f"By activity a page goes on after a number, not after {after!r}. Say --order name.")
        after = int(after)
    limit = args.limit if args.limit is not None or args.names else PAGE
    return store.threads(
        after=after, limit=limit, order=order, prefix=args.prefix, archived=None if args.all else False
    )


def _facts(store: cf.Store, row: ListedThread) -> dict[str, object]:
    # What was said and is shown, its origin's share included; of what was forgotten there is nothing to say.
    sizes = {"messages": 0, "shown": 0, "tokens": 0, "folds": 0}
    if not row.is_forgotten:
        thread = store.thread(row.title)
        thread.catch_up()
        thread.lens.learn_again()  # so that a list and `stats` say the same
        view = thread.view
        sizes = {
            "messages": sum(isinstance(logged.event, Appended) for logged in thread.events),
            "shown": view.length,
            "tokens": view.count.tokens,
            "folds": len(thread.folds),
        }
    return {
        "name": row.title,
        "model": row.model,
        **sizes,
        "events": row.last,
        "bytes": row.size,
        "created": _time(row.created),
        "active": _time(row.at),
        "changed": row.changed,
        "archived": row.is_archived,
        "forgotten": row.is_forgotten,
        "origin": None if row.origin is None else {"thread": row.origin.thread, "seq": row.origin.seq},
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _show_list(call: Invocation, rows: Sequence[ListedThread], found: list[dict[str, object]]) -> None:
    if not call.note_other_spaces() and not found:
        call.out.line(call.say("threads.none", store=call.store_path))
    table = []
    for row, each in zip(rows, found, strict=True):
        remarks = [
            call.say("threads.forgotten") if row.is_forgotten else "",
            call.say("threads.archived") if row.is_archived else "",
            call.out.label(f"from {row.origin.thread} at {row.origin.seq}") if row.origin else "",
        ]
        cells = (
            str(each["name"]),
            str(each["model"]) or "-",
            f"{each['messages']:,}",
            f"{each['shown']:,}",
            f"{each['tokens']:,}",
            str(each["folds"]),
            str(each["active"])[:16].replace("T", " "),
            ", ".join(filter(None, remarks)),
        )
        table.append(cells)
    head = [call.say(f"threads.{name}") for name in ("thread", "model", "said", "shown", "tokens", "folds", "active")]
    call.out.table(table, [*head, ""], right=(2, 3, 4, 5), wraps=True)
    if len(rows) == (call.args.limit or PAGE) and call.args.order != "created":
        last = rows[-1].title if call.args.order == "name" else rows[-1].changed
        call.err.line(call.say("threads.more", after=quoted(last)))


class RenameCommand:
    """Call a thread by another name. The names it had before still lead to it, so scripts that know them go on.

    Examples:
      contextfold rename refactor-42 cache-rewrite
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        add_thread(parser)
        parser.add_argument("to", metavar="NAME", help="what to call it from now on")

    @staticmethod
    def run(call: Invocation) -> int:
        with call.store() as store:
            name = call.thread_name(store)
            store.rename(name, call.args.to)
        value = {"thread": call.args.to, "before": name}
        return call.answer(value, lambda: call.out.line(call.say("renamed", thread=call.args.to, before=name)))


class ArchiveCommand:
    """Put a thread away: `threads` leaves it out from now on. Nothing is erased, and it can be used as before.

    Examples:
      contextfold archive refactor-42
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        add_thread(parser)

    @staticmethod
    def run(call: Invocation) -> int:
        return moved(call, Store.archive, is_archived=True)


def moved(call: Invocation, move: Callable[[Store, str], None], *, is_archived: bool) -> int:
    """Put the thread that was named away, or back, and say so."""
    with call.store() as store:
        name = call.thread_name(store)
        move(store, name)
    said = "archived" if is_archived else "unarchived"
    return call.answer({"thread": name, "archived": is_archived}, lambda: call.out.line(call.say(said, thread=name)))


class UnarchiveCommand:
    """List a thread that was put away among the others again.

    Examples:
      contextfold unarchive refactor-42
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        add_thread(parser)

    @staticmethod
    def run(call: Invocation) -> int:
        return moved(call, Store.unarchive, is_archived=False)


class ForkCommand:
    """Try another way: a new thread that shares this one's past up to a place. Both go on.

    Examples:
      contextfold fork
      contextfold fork refactor-42 --at 88 --as refactor-without-cache
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        add_thread(parser)
        parser.add_argument(
            "--at", type=seq, metavar="SEQ", help="share everything up to and including this (default: now)"
        )
        parser.add_argument(
            "--as", dest="new_name", metavar="NAME", help="the new thread's name (default: THREAD/fork-1, …)"
        )

    @staticmethod
    def run(call: Invocation) -> int:
        with call.thread() as thread:
            branch = thread.fork(at=call.args.at, name=call.args.new_name)
            head = branch.view.head
            value = {"thread": branch.name, "origin": thread.name, "at": head}
            return call.answer(
                value, lambda: call.out.line(call.say("fork.done", name=branch.name, head=head, thread=thread.name))
            )
