"""Prove that a store is what was written: every event's hash chain, every body, the file itself.

Exit code 0 when sound, 1 when something does not verify.

Examples:
  contextfold verify
  contextfold verify --store agent.db --json
"""

from __future__ import annotations

from argparse import ArgumentParser

from .commands import DONE, PROBLEMS
from .invocation import Invocation
from .paper import Ink
from .translation import advice_in


def arguments(parser: ArgumentParser) -> None:
    del parser  # the store is all it needs


def run(call: Invocation) -> int:
    with call.store() as store:
        problems = store.verify()
        rows = store.threads()
        numbers = {"threads": len(rows), "events": sum(row.last for row in rows)}

        def show() -> None:
            if not problems:
                call.out.line(Ink(call.say("verify.sound", store=call.store_path, **numbers), "good"))
                return
            call.out.line(Ink(call.say("verify.problems", store=call.store_path, count=len(problems)), "bad"))
            for problem in problems:
                call.out.line(f"{problem.path}: {problem.rule}. {advice_in(call.language, problem.advice)}", indent=2)

        value = {"store": str(call.store_path), "sound": not problems, **numbers, "problems": problems}
        return call.answer(value, show, PROBLEMS if problems else DONE)
