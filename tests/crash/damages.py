"""Ways a store file gets damaged, and everything that can be asked of the store afterwards."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from logging import WARNING, Handler, LogRecord, getLogger
from pathlib import Path
from random import Random
from typing import Any

import contextfold as cf
from contextfold.logs import open_sqlite
from contextfold.logs.sqlite.schema import PAGE_SIZE
from contextfold.store import Store
from tests.crash.disk import UNSYNCED

PAGE = PAGE_SIZE
MODEL = "claude-sonnet-5-5"
SYSTEM = "You are careful. " * 300
Ask = Callable[[Store], Any]
NAMES = ("long", "tools", "other", "fork")


def opened(path: Path, at: float = 1.0) -> Store:
    return Store(open_sqlite(path, vfs=UNSYNCED.name), clock=lambda: at)


def make(path: Path, seed: str = "") -> None:
    """A store of every kind of event, several pages of each table."""
    with opened(path, 1.0 + len(seed)) as store:
        with store.batch():
            long = store.thread("long", model=MODEL)
            for turn in range(120):
                text = f"{seed} turn {turn} " + "of many words " * (turn % 40 * 10)
                long.append({"role": ("user", "assistant")[turn % 2], "content": text}, key=f"{seed} {turn}")
            long.pin(1)
            long.fold(range(21, 31), "ten messages, put away")
            _tools(store, seed)
            other = store.thread("other")
            for turn in range(40):
                other.append({"role": ("user", "assistant")[turn % 2], "content": f"{seed} other {turn} " * 9})
            other.rewind(after=30)
            other.append({"role": "user", "content": "another way"})
            fork = long.fork(at=60, name="fork")
            fork.append({"role": "user", "content": "from here on"})
        session = cf.Session.on(store, "tools", MODEL)
        session.prepare(system=SYSTEM)


def _tools(store: Store, seed: str) -> None:
    thread = store.thread("tools", model=MODEL)
    for turn in range(30):
        call, output = f"call_{turn}", f"{seed} output {turn} " * (turn * 40)
        thread.append({"role": "user", "content": f"read {turn}"})
        use = {"type": "tool_use", "id": call, "name": "read", "input": {"path": f"{turn}.py"}}
        thread.append({"role": "assistant", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": call, "content": output}
        thread.append({"role": "user", "content": [result]})
        thread.append({"role": "assistant", "content": "done"})
    thread.append({"role": "user", "content": "the end?"})


class Told(Handler):
    """Hears whether a thread was left out."""

    def __init__(self) -> None:
        super().__init__(WARNING)
        self.count = 0

    def emit(self, record: LogRecord) -> None:  # noqa: ARG002  # logging calls it so
        self.count += 1


@contextmanager
def hearing() -> Iterator[Told]:
    told, log = Told(), getLogger("contextfold")
    log.addHandler(told)
    try:
        yield told
    finally:
        log.removeHandler(told)


def verbs(folder: Path) -> Mapping[str, Ask]:
    """Everything that reads, then what writes; each answer is a plain value to be compared."""
    asked: dict[str, Ask] = {"threads": lambda store: [str(row) for row in store.threads()]}
    for name in NAMES:
        asked |= {f"{name} {verb}": partial(ask, name) for verb, ask in READS.items()}
        asked[f"{name} export"] = partial(_exported, folder, name)
    asked["prepare"] = lambda store: cf.Session.on(store, "long", MODEL).prepare(system=SYSTEM).body
    asked["retry"] = lambda store: store.thread("long").append({"role": "user", "content": " turn 0 "}, key=" 0")
    for name in NAMES:
        asked[f"{name} append"] = partial(_append, name)
    asked["forget a message"] = lambda store: store.forget("other", 3)
    asked["forget"] = lambda store: store.forget("other") > 0
    return asked


def _append(name: str, store: Store) -> object:
    thread = store.thread(name)
    last = len(thread.events)
    seq = thread.append({"role": "user", "content": "is it there?"})
    return seq - last, thread.message(seq).raw


def _messages(name: str, store: Store) -> list[object]:
    thread = store.thread(name)
    said = [each.seq for each in thread.events if type(each.event).__name__ == "Appended"]
    return [(seq, thread.message(seq).raw) for seq in said]


def _exported(folder: Path, name: str, store: Store) -> bytes:
    target = folder / f"{name}.jsonl"
    target.unlink(missing_ok=True)
    store.export(name, target)
    return target.read_bytes()


READS: Mapping[str, Callable[[str, Store], Any]] = {
    "messages": _messages,
    "view": lambda name, store: [str(item) for item in store.thread(name).view.items],
    "body": lambda name, store: store.thread(name).body(),
    "count": lambda name, store: str(store.thread(name).view.count),
    "folds": lambda name, store: [str(fold) for fold in store.thread(name).folds],
    "stats": lambda name, store: str(cf.Session.on(store, name, MODEL).stats),
}


def flip(content: bytearray, chance: Random) -> str:
    used = [place for place in (chance.randrange(len(content)) for _ in range(40)) if content[place]]
    place = used[0] if used else 0
    content[place] ^= 1 << chance.randrange(8)
    return f"byte {place} flipped"


def flip_many(content: bytearray, chance: Random) -> str:
    place, length = chance.randrange(len(content)), chance.randrange(2, 600)
    content[place : place + length] = chance.randbytes(len(content[place : place + length]))
    return f"{length} bytes from {place} on are noise"


def copy_page(content: bytearray, chance: Random) -> str:
    source, target = chance.sample(range(len(content) // PAGE), 2)
    copy_over(content, source, target)
    return f"page {source + 1} copied over {target + 1}"


def copy_over(content: bytearray, source: int, target: int) -> None:
    content[target * PAGE : (target + 1) * PAGE] = content[source * PAGE : (source + 1) * PAGE]


def zero_page(content: bytearray, chance: Random) -> str:
    page = chance.randrange(len(content) // PAGE)
    content[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
    return f"page {page + 1} zeroed"


def cut(content: bytearray, chance: Random) -> str:
    length = chance.choice((chance.randrange(1, len(content)), chance.randrange(1, len(content) // PAGE) * PAGE))
    del content[length:]
    return f"cut to {length} bytes"


DAMAGES = (flip, flip_many, copy_page, zero_page, cut)
FOREIGN, CUT_FOREIGN = len(DAMAGES), len(DAMAGES) + 1
KINDS = len(DAMAGES) + 2  # a foreign WAL besides, whole and cut


def _cut_wal(wal: Path, chance: Random) -> str:
    """Mostly so short that the page is not in it by which a WAL of another file is known."""
    frames = (wal.stat().st_size - 32) // (24 + PAGE)
    kept = chance.choice((chance.randrange(1, frames), chance.randrange(1, 12)))
    os.truncate(wal, 32 + kept * (24 + PAGE))
    return f"the first {kept} pages of a foreign WAL"


def damaged(sound: Path, path: Path, foreign: Path, number: int, seed: int = 0) -> str:
    """Put a damaged copy of the store at this path, of each kind in turn; what was done to it."""
    chance, kind = Random(seed * 100_000 + number), number % KINDS
    wal = path.with_name(path.name + "-wal")
    for each in (path, wal, path.with_name(path.name + "-shm")):
        each.unlink(missing_ok=True)
    if kind >= FOREIGN:
        shutil.copyfile(sound, path)
        shutil.copyfile(foreign, wal)
        return _cut_wal(wal, chance) if kind == CUT_FOREIGN else "a foreign WAL"
    content = bytearray(sound.read_bytes())
    told = DAMAGES[kind](content, chance)
    path.write_bytes(content)
    return told
