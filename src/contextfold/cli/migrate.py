"""Make the tables of a store in PostgreSQL, or bring them up to this version. Nothing else ever does.

Runs under a lock, all of it or nothing; several at once are one. --check changes nothing: exit code 0 if the tables are
as this version wants them, 1 if not. --grant lets a role that is neither superuser nor owner use the space that --space
names, and see nothing of any other.

Examples:
  contextfold migrate --store postgresql://owner@db.example/agents
  contextfold migrate --check --store postgresql://owner@db.example/agents
  contextfold migrate --grant team_a --space team-a --store postgresql://owner@db.example/agents
"""

from __future__ import annotations

from argparse import ArgumentParser

from contextfold import logs
from contextfold.errors import BadConfiguration

from .commands import DONE, PROBLEMS
from .invocation import Invocation


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="only tell whether a migration is needed")
    parser.add_argument("--grant", metavar="ROLE", help="let this role use the space, and no other")


def run(call: Invocation) -> int:
    address = call.store_address
    if not logs.is_postgres(address):
        raise BadConfiguration(f"{address} is a file, and files need no migration. Name postgresql://… with --store.")
    postgres = logs.postgres_logs()
    done = postgres.migrate(address, check=call.args.check)
    if call.args.grant and not call.args.check:
        postgres.grant(address, role=call.args.grant, space=call.settings["space"])
    is_needed = call.args.check and done.is_needed
    key = "migrate.needed" if is_needed else "migrate.done" if done.is_needed else "migrate.nothing"
    value = {"store": str(call.store_path), "found": done.found, "wanted": done.wanted, "needed": is_needed}
    value |= {"granted": call.args.grant}
    said = call.say(key, store=call.store_path, found=done.found, wanted=done.wanted)
    return call.answer(value, lambda: call.out.line(said), PROBLEMS if is_needed else DONE)
