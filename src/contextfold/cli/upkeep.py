"""Upkeep of a store: proven sound, copied, backed up, its tables and its index made anew."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path

import contextfold as cf
from contextfold import logs
from contextfold.errors import BadConfiguration
from contextfold.logs.copy import copy_threads
from contextfold.store import postgres_logs

from .commands import DONE, PROBLEMS
from .invocation import Invocation
from .paper import Ink
from .translation import advice_in


class VerifyCommand:
    """Prove that a store is what was written: every event's hash chain, every body, the file itself.

    Exit code 0 when sound, 1 when something does not verify.

    Examples:
      contextfold verify
      contextfold verify --store agent.db --json
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        del parser  # the store is all it needs

    @staticmethod
    def run(call: Invocation) -> int:
        with call.store() as store:
            problems = store.verify()
            rows = [row for each in call.stores() for row in each.threads()]
            numbers = {"threads": len(rows), "events": sum(row.last for row in rows)}

            def show() -> None:
                if not problems:
                    call.out.line(Ink(call.say("verify.sound", store=call.store_path, **numbers), "good"))
                    return
                call.out.line(Ink(call.say("verify.problems", store=call.store_path, count=len(problems)), "bad"))
                for problem in problems:
                    call.out.line(
                        f"{problem.path}: {problem.rule}. {advice_in(call.language, problem.advice)}", indent=2
                    )

            value = {"store": str(call.store_path), "sound": not problems, **numbers, "problems": problems}
            return call.answer(value, show, PROBLEMS if problems else DONE)


class BackupCommand:
    """Copy a live store consistently, while others write to it, and verify the copy.

    Examples:
      contextfold backup agent-monday.db
      contextfold backup /mnt/backup/agent.db --store agent.db
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        parser.add_argument("target", metavar="FILE", help="the copy; must not exist yet")

    @staticmethod
    def run(call: Invocation) -> int:
        target = Path(call.args.target)
        with call.store() as store:
            store.backup(target)
        said = call.say("backup.done", target=target, store=call.store_path)
        value = {"store": str(call.store_path), "backup": str(target), "bytes": target.stat().st_size, "verified": True}
        return call.answer(value, lambda: call.out.line(Ink(said, "good")))


class CopyCommand:
    """Copy every thread of a store into another one, file or PostgreSQL, each verified as it arrives.

    Run it again after an interruption, or when conversations went on: what is there already, link for link, is left as
    it is, and only what is new is written. What was forgotten since is forgotten there too. --space copies one space
    alone.

    Examples:
      contextfold copy postgresql://db.example/agents --store agent.db
      contextfold copy agent.db --store postgresql://db.example/agents
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        parser.add_argument("target", metavar="STORE", help="the store to copy into: a file, or an address")

    @staticmethod
    def run(call: Invocation) -> int:
        call.refuse_missing_store()
        copied = []
        progress = call.progress(call.say("copy.progress"))
        for space in call.spaces:
            with (
                closing(_opened(call.store_address, space, read_only=True)) as source,
                closing(_opened(call.args.target, space)) as target,
            ):
                for each in copy_threads(source, target):
                    copied.append(each)
                    progress.at(len(copied), what=each.thread)
        progress.done()
        shown = logs.shown_address(call.args.target) if logs.is_postgres(call.args.target) else call.args.target
        new = sum(each.is_new for each in copied)
        events = sum(each.events for each in copied)
        value = {"store": str(call.store_path), "target": shown, "threads": len(copied), "new": new, "events": events}
        said = call.say("copy.done", count=len(copied), new=new, events=events, target=shown)
        return call.answer(value | {"verified": True}, lambda: call.out.line(Ink(said, "good")))


def _opened(path: str, space: str, *, read_only: bool = False) -> logs.SealedLog:
    if logs.is_postgres(path):
        opened: logs.SealedLog = postgres_logs().open_postgres(path, space=space, read_only=read_only)
        return opened
    return logs.open_sqlite(path, space=space, read_only=read_only)


class MigrateCommand:
    """Make the tables of a store in PostgreSQL, or bring them up to this version. Nothing else ever does.

    Runs under a lock, all of it or nothing; several at once are one. --check changes nothing: exit code 0 if the tables
    are as this version wants them, 1 if not. --grant lets a role that is neither superuser nor owner use the space that
    --space names, and see nothing of any other.

    Examples:
      contextfold migrate --store postgresql://owner@db.example/agents
      contextfold migrate --check --store postgresql://owner@db.example/agents
      contextfold migrate --grant team_a --space team-a --store postgresql://owner@db.example/agents
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only tell whether a migration is needed")
        parser.add_argument("--grant", metavar="ROLE", help="let this role use the space, and no other")

    @staticmethod
    def run(call: Invocation) -> int:
        address = call.store_address
        if not logs.is_postgres(address):
            raise BadConfiguration(
                f"{address} is a file, and files need no migration. Name postgresql://… with --store."
            )
        postgres = postgres_logs()
        done = postgres.migrate(address, check=call.args.check)
        if call.args.grant and not call.args.check:
            postgres.grant(address, role=call.args.grant, space=call.settings["space"])
        is_needed = call.args.check and done.is_needed
        key = "migrate.needed" if is_needed else "migrate.done" if done.is_needed else "migrate.nothing"
        value = {"store": str(call.store_path), "found": done.found, "wanted": done.wanted, "needed": is_needed}
        value |= {"granted": call.args.grant}
        said = call.say(key, store=call.store_path, found=done.found, wanted=done.wanted)
        return call.answer(value, lambda: call.out.line(said), PROBLEMS if is_needed else DONE)


class ReindexCommand:
    """Make the index of everything said anew, by which `contextfold recall` finds it.

    The index is kept in step with what is written and catches up by itself; this is for a file that something else
    changed.

    Examples:
      contextfold reindex
      contextfold reindex --store agent.db --json
    """

    @staticmethod
    def arguments(parser: ArgumentParser) -> None:  # it takes none of its own
        del parser

    @staticmethod
    def run(call: Invocation) -> int:
        threads = 0
        call.refuse_missing_store()
        for space in call.spaces:
            with cf.open(call.store_address, space=space) as store:
                store.reindex()
                threads += len(store.threads())
        value = {"store": str(call.store_path), "threads": threads}
        return call.answer(value, lambda: call.out.line(call.say("reindexed", store=call.store_path, threads=threads)))
