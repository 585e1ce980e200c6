"""What `doctor` looks at, area by area. Each check is told in one line that says what to do when it is not well.

Key-shaped strings: what `doctor` looks for in a log. Shows where they are and of what kind, never the key itself.

Shapes with a known prefix, and long random values behind a name that says what they are. A find is a reason to look,
not a proof.
"""

from __future__ import annotations

import math
import os
import platform
import re
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, entry_points, requires, version
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

import contextfold as cf
from contextfold.configuration import unknown_variables
from contextfold.deferred import expression
from contextfold.domain import Appended
from contextfold.models import named_settings
from contextfold.shell import operand
from contextfold.workspace import KEY_SHAPES

from .invocation import Invocation
from .models import how_counted, told_source
from .translation import advice_in

_REQUIRED = expression(r"\A(?P<name>[\w.-]++)[^;]*+(?:;.*extra\s*==\s*[\"'](?P<extra>[\w-]+)[\"'])?")
LEAST_ROOM = 200 << 20

Area: TypeAlias = Literal["installation", "settings", "store", "models", "keys"]


class Check(Struct, frozen=True):
    """One thing that was looked at."""

    area: Area
    name: str
    state: Literal["ok", "absent", "look", "wrong"]
    told: str


def check_installation(call: Invocation) -> Iterator[Check]:
    """Versions of what is installed, and what an extra would add."""
    yield Check("installation", "contextfold", "ok", f"{cf.__version__}, Python {platform.python_version()}")
    for name, extra in _requirements():
        try:
            found = version(name)
        except PackageNotFoundError:
            found = ""
        absent = call.say("doctor.extra.absent", extra=extra) if extra else f"pip install {name}"
        missing: Literal["absent", "wrong"] = "absent" if extra else "wrong"
        yield Check("installation", name, "ok" if found else missing, found or absent)
    git = shutil.which("git")
    yield Check("installation", "git", "ok" if git else "look", git or call.say("doctor.no_git"))


def check_plugins(call: Invocation) -> Iterator[Check]:
    """Everything that other packages add by entry point, none of it imported here."""
    groups = ("dialects", "encoders", "strategies", "transcripts")
    found = [each for group in groups for each in entry_points(group=f"contextfold.{group}")]
    for each in found:
        package = f"{each.dist.name} {each.dist.version}" if each.dist else each.value
        yield Check("installation", each.name, "look", call.say("doctor.plugin", group=each.group, package=package))
    if not found:
        yield Check("installation", "plugins", "ok", call.say("doctor.plugin.none"))


def check_settings(call: Invocation) -> Iterator[Check]:
    """The settings file, and variables that mean nothing."""
    path = call.settings.path
    told = call.say("doctor.settings.read", path=path) if path else call.say("doctor.no_settings")
    yield Check("settings", "contextfold.toml", "ok", told)
    if left_out := call.settings.models.left_out:
        names = named_settings(left_out)
        yield Check("settings", "contextfold.toml", "look", call.say("doctor.left_out", names=names))
    for name, guess in unknown_variables(os.environ).items():
        yield Check("settings", name, "look", call.say("doctor.variable", name=name, guess=guess))


def check_store(call: Invocation, store: cf.Store | None) -> Iterator[Check]:
    """Whether the store verifies, who can read it, and whether its disk has room."""
    path = call.store_path
    if store is None:
        yield Check("store", str(path), "ok", call.say("doctor.no_store", path=path))
        return
    problems = store.verify()
    rows = [row for each in call.stores() for row in each.threads()]
    numbers = {"threads": len(rows), "events": sum(row.last for row in rows)}
    if not problems:
        yield Check("store", "integrity", "ok", call.say("doctor.store.sound", path=path, **numbers))
    for problem in problems:
        told = f"{problem.path}: {problem.rule}. {advice_in(call.language, problem.advice)}"
        yield Check("store", "integrity", "wrong", call.say("doctor.store.broken", path=path, problem=told))
    if not isinstance(path, Path):
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        yield Check("store", "permissions", "look", call.say("doctor.store.mode", path=path, mode=f"{mode:o}"))
    free = shutil.disk_usage(path.parent).free
    state: Literal["ok", "look"] = "ok" if free > LEAST_ROOM else "look"
    key = "doctor.store.room" if state == "ok" else "doctor.store.full"
    yield Check("store", "disk", state, call.say(key, free=f"{free / (1 << 30):,.1f} GiB"))


def check_models(call: Invocation, store: cf.Store | None) -> Iterator[Check]:
    """The window and the counting of every model that is in use here, with the source of each."""
    used = [row.settings.get("model", "") for each in call.stores() for row in each.threads()] if store else []
    named = [*(call.args.models or []), call.settings["model"], *used]
    for name in dict.fromkeys(filter(None, named)):
        model = cf.model(name)
        if model.assumed:
            told = call.say("doctor.model.assumed", window=f"{model.window:,}")
            yield Check("models", name, "look", told)
            continue
        source = model.sources.get("window")
        words = {"window": f"{model.window:,}", "how": call.out.label(how_counted(model))}
        said = told_source(source, call.out.label) or "?"
        yield Check("models", name, "ok", call.say("doctor.model", source=said, **words))


def check_keys(call: Invocation) -> Iterator[Check]:
    """Key-shaped strings in anything that was said or written down, in any thread."""
    progress = call.progress("looking for keys")
    done = found = 0
    for store, row in ((each, row) for each in call.stores() for row in each.threads()):
        thread = store.thread(row.name)
        # A fork's own words; its origin's are looked at there.
        said = [logged.seq for logged in thread.events if isinstance(logged.event, Appended)]
        texts = ((seq, thread.message(seq).raw.decode("utf-8", "replace")) for seq in said)
        stand_ins = ((fold.id, "\n".join((fold.stand_in.text, *fold.stand_in.blocks))) for fold in thread.folds)
        for seq, text in chain(texts, stand_ins):
            done += 1
            progress.at(done, what=row.name)
            for key in keys_in(text):
                found += 1
                about = {"kind": call.out.label(key.kind), "shown": call.out.label(key.shown)}
                told = call.say("doctor.keys.found", thread=row.name, seq=seq, named=operand(row.name), **about)
                yield Check("keys", key.kind, "look", told)
    progress.done()
    if not found:
        yield Check("keys", "keys", "ok", call.say("doctor.keys.none", count=f"{done:,}"))


def _requirements() -> list[tuple[str, str]]:
    """What the package needs, each with the extra that brings it; empty for what it always needs."""
    try:
        listed = requires("contextfold") or []
    except PackageNotFoundError:  # run from a source tree that was never installed
        return []
    found = [_REQUIRED.match(each) for each in listed]
    first: dict[str, str] = {}  # of several extras that bring the same
    for each in found:
        if each is not None:
            first.setdefault(each["name"], each["extra"] or "")
    return list(first.items())


_SHAPES = tuple(
    (kind, hints, expression(shape))
    for kind, hints, shape in (
        *KEY_SHAPES,
        ("signed token", ("eyJ",), r"\beyJ[\w-]{15,500}+\.eyJ[\w-]{15,20000}+\.[\w-]{20,}"),
    )
)
_NAMED = expression(
    r"(?:api[_-]?key|secret|passw(?:or)?d|access[_-]?token|auth[_-]?token)[\w-]{0,20}[\\\"']{0,3}\s{0,3}[:=]\s{0,3}"
    r"[\\\"']{0,3}([A-Za-z0-9+/_=.-]{20,200})",
    re.IGNORECASE,
)
_NAMES = ("key", "secret", "passw", "token")
_RANDOM = 3.6  # bits a character: words and paths stay below, keys are above


class Key(NamedTuple):
    """Something that looks like a key: of what kind, and just enough of it to be recognised by its owner."""

    kind: str
    shown: str


def keys_in(text: str) -> Iterator[Key]:
    """Every key-shaped string in a text, each value once."""
    seen: set[str] = set()
    for kind, hints, shape in _SHAPES:
        for found in shape.finditer(text) if any(hint in text for hint in hints) else ():
            if found[0] not in seen:
                seen.add(found[0])
                yield Key(kind, masked(found[0]))
    lower = text.lower()
    for found in _NAMED.finditer(text) if any(name in lower for name in _NAMES) else ():
        value = found[1]
        if value not in seen and not any(value in other or other in value for other in seen) and is_random(value):
            seen.add(value)
            yield Key("secret", masked(value))


def masked(key: str) -> str:
    """The first four signs and nothing else that could be used."""
    return f"{key[:4]}… ({len(key)} characters)"


def is_random(value: str) -> bool:
    """Whether a value has the disorder of a key, and digits among its letters."""
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return entropy >= _RANDOM and any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)
