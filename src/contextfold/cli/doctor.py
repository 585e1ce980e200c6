"""Check what people ask about first: installation, plugins of others, settings, store, models, leaked keys.

With --rescue, save what verifies of a damaged store into a new one instead, and list what did not. The damaged file is
only read; keep it.

Exit code 0 when all is well or there is only something to look at, 1 when something is wrong.

Examples:
  contextfold doctor
  contextfold doctor --store agent.db --json
  contextfold doctor --lang ja
  contextfold doctor --store damaged.db --rescue new.db
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import contextfold as cf
from contextfold.errors import StoreError
from contextfold.logs import Rescued, open_sqlite, rescue

from .checks import (
    Area,
    Check,
    check_installation,
    check_keys,
    check_models,
    check_plugins,
    check_settings,
    check_store,
)
from .commands import DONE, PROBLEMS
from .invocation import Invocation
from .paper import Ink
from .translation import advice_in, error_in

_MARKS = {"ok": ("ok  ", "good"), "absent": ("-   ", "dim"), "look": ("look", "warn"), "wrong": ("BAD ", "bad")}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--model", action="append", dest="models", metavar="MODEL", help="look at this model as well")
    parser.add_argument("--rescue", metavar="NEW", help="save what verifies of the store into this new file")
    parser.add_argument("--no-keys", action="store_true", help="do not search the log for keys")


def run(call: Invocation) -> int:
    if call.args.rescue:
        return _rescue(call, Path(call.args.rescue))
    with _store(call) as (store, broken):
        checks = [
            *check_installation(call),
            *check_plugins(call),
            *check_settings(call),
            *(broken or _read("store", check_store(call, store))),
            *_read("models", check_models(call, store)),
            *([] if call.args.no_keys or store is None else _read("keys", check_keys(call))),
        ]
    wrong = sum(check.state == "wrong" for check in checks)
    look = sum(check.state == "look" for check in checks)
    value = {"well": not wrong, "problems": wrong, "look": look, "checks": checks}
    return call.answer(value, lambda: _show(call, checks, wrong, look), PROBLEMS if wrong else DONE)


def _read(area: Area, checks: Iterator[Check]) -> Iterator[Check]:
    """Checks of a store; damage that ends one is what it found."""
    try:
        yield from checks
    except StoreError as error:
        yield Check(area, "reading", "wrong", str(error))


def _rescue(call: Invocation, path: Path) -> int:
    if path.exists():
        raise StoreError(f"{path} exists. What is saved goes into a new file: choose another name.")
    saved: list[Rescued] = []
    with closing(open_sqlite(call.store_address, create=False)) as damaged:
        problems, spaces = damaged.verify(), damaged.spaces()
    for space in spaces or [call.settings["space"]]:
        with (
            closing(open_sqlite(call.store_address, space=space, create=False)) as source,
            closing(open_sqlite(path, space=space)) as target,
        ):
            saved += rescue(source, target)
    value = {"file": str(path), "threads": saved, "problems": problems}
    is_whole = not problems and not any(each.ended_at or each.without_words for each in saved)
    if not call.is_told_as_json(value):
        for each in saved:
            words = len(each.without_words)
            call.out.line(call.say("doctor.rescued", thread=each.thread, count=each.saved, words=words))
            if each.ended_at:
                call.out.line(Ink(call.say("doctor.rescue.ended", seq=each.ended_at), "bad"), indent=2)
        for problem in problems:
            call.out.line(Ink(f"{problem.path}: {problem.rule}. {advice_in(call.language, problem.advice)}", "warn"))
        call.out.line(call.say("written", file=path))
    return DONE if is_whole else PROBLEMS


@contextmanager
def _store(call: Invocation) -> Iterator[tuple[cf.Store | None, list[Check]]]:
    """The store, if it is there and opens; else what is wrong with it."""
    if isinstance(call.store_path, Path) and not call.store_path.exists():
        yield None, []
        return
    try:
        store = cf.open(call.store_address, space=call.settings["space"])
    except StoreError as error:
        yield None, [Check("store", "opening", "wrong", str(error))]
        return
    with store:
        yield store, []


def _show(call: Invocation, checks: list[Check], wrong: int, look: int) -> None:
    area = ""
    for check in checks:
        if check.area != area:
            area = check.area
            call.out.line(Ink(call.say(f"doctor.{area}"), "bold"))
        mark, style = _MARKS[check.state]
        told = f"{call.out.label(check.name)}: {error_in(call.language, check.told)}"
        call.out.item(Ink(call.out.label(mark), style), told, indent=2)
    call.out.line()
    if wrong:
        call.out.line(Ink(call.say("doctor.ill", count=wrong), "bad"))
    if look:
        call.out.line(Ink(call.say("doctor.look", count=look), "warn"))
    if not wrong and not look:
        call.out.line(Ink(call.say("doctor.well"), "good"))
