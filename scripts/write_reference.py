"""Write docs/reference/ from the code and the help, so that both say the same.

`python scripts/write_reference.py` writes the pages; with `--check` it only says which are not current.
"""

from __future__ import annotations

import argparse
import atexit
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import contextfold as cf
from contextfold import errors
from contextfold.cli import main as run_command
from contextfold.cli.arguments import loaded
from contextfold.cli.commands import COMMANDS, GROUPS, MEANINGS, OPTIONS, Command
from contextfold.configuration import SETTINGS
from contextfold.domain import encode
from contextfold.folding import Policy, Report
from contextfold.inspector import ROUTES, description
from contextfold.models import APPEARANCE, ModelSettings, Profile
from contextfold.replay import schema
from contextfold.testing import histories

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- Made by scripts/write_reference.py from the code; change it there. -->"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(map(cell, row))} |" for row in rows)


# -- commands -----------------------------------------------------------------------------------------------------


def commands_page() -> Iterator[str]:
    yield from ("# Commands", "", MADE, "")
    yield "`contextfold COMMAND [options]`. Every command answers people by default and programs with `--json`."
    yield ""
    for title, group in GROUPS.items():
        yield from (f"**{title}**", "")
        yield from (f"- [`{command.name}`](#{command.name}): {command.about}" for command in group)
        yield ""
    yield from ("## Options of every command", "")
    yield from table(("option", "meaning"), [(f"`{f'{o} {v}'.strip()}`", told) for o, (v, told) in OPTIONS.items()])
    yield from ("", "## Exit codes", "")
    yield from table(("code", "meaning"), [(str(code), told) for code, told in MEANINGS.items()])
    for command in COMMANDS.values():
        yield ""
        yield from command_section(command)


def command_section(command: Command) -> Iterator[str]:
    found = loaded(command)
    about, _, examples = found.about.partition("\n\nExamples:\n")
    parser = argparse.ArgumentParser(add_help=False)
    found.arguments(parser)
    yield from (f"## {command.name}", "", *about.strip().splitlines(), "")
    yield from ("```sh", *(line.removeprefix("  ") for line in examples.rstrip().splitlines()), "```")
    if command.name in ANSWERS:
        yield from ("", f"With `--json`: {fields(answer(command.name))}.")
    actions = parser._actions  # noqa: SLF001  # argparse has no public list of them
    rows = [(f"`{shown(action)}`", action.help or "") for action in actions if action.help != argparse.SUPPRESS]
    if rows:
        yield ""
        yield from table(("argument", "meaning"), rows)


@cache
def stage() -> Path:
    """A directory with a store, a session and a request in it, for commands to run on."""
    directory = Path(mkdtemp(prefix="contextfold-reference-"))
    atexit.register(rmtree, directory, ignore_errors=True)
    messages = histories.session(7, tokens=4_000)
    (directory / "session.jsonl").write_bytes(b"\n".join(map(encode, messages)) + b"\n")
    with cf.Session.open(directory / "contextfold.db", thread="t", model="claude-sonnet-5-5") as session:
        for message in messages:
            session.append(message)
        (directory / "request.json").write_bytes(session.prepare().json)
        session.fold(to=2_000)
    return directory


# How to run each command so that its answer can be described, in this order; the last fold is undone on the way.
ANSWERS: dict[str, tuple[str, ...]] = {
    "replay": ("session.jsonl", "--window", "8k", "-j", "1", "--no-retention"),
    "count": ("session.jsonl",),
    "validate": ("request.json",),
    "models": ("claude-sonnet-5-5",),
    "threads": (),
    "show": (),
    "folds": (),
    "diff": (),
    "recall": ("--seq", "1"),
    "stats": (),
    "unfold": (),
    "fold": ("--to", "2k"),
    "rewind": ("--before", "5"),
    "redo": (),
    "checkpoint": ("here",),
    "fork": ("--as", "other"),
    "pin": ("1", "-t", "t"),
    "unpin": ("1", "-t", "t"),
    "import": ("session.jsonl", "--as", "again"),
    "export": ("t", "-o", "t.jsonl"),
    "verify": (),
    "backup": ("copy.db",),
    "forget": ("other", "--yes"),
    "doctor": (),
    "config": (),
}


ON_A_THREAD = ("show", "folds", "diff", "recall", "stats", "unfold", "fold", "rewind", "redo", "checkpoint", "fork")


@cache
def answers() -> dict[str, object]:
    """What each command says as JSON, on one small store."""
    found: dict[str, object] = {}
    store = str(stage() / "contextfold.db")
    for name, given in ANSWERS.items():
        more = [str(found["fold id"])] if name == "unfold" else list(given)
        if name in ON_A_THREAD:
            more += ["-t", "t"]
        out = StringIO()
        with chdir(stage()), redirect_stdout(out), redirect_stderr(StringIO()):
            code = run_command([name, *more, "--store", store, "--json"])
        if code != 0:
            raise SystemExit(f"contextfold {name} {' '.join(more)} ended with {code}")
        found[name] = json.loads(out.getvalue())
        if name == "folds":
            found["fold id"] = json.loads(out.getvalue())[-1]["id"]
    return found


def answer(name: str) -> object:
    return answers()[name]


def fields(value: object) -> str:
    """The shape of an answer in words."""
    if isinstance(value, list):
        return f"a list; each {fields(value[0])}" if value else "a list"
    if isinstance(value, dict):
        return f"an object with {', '.join(f'`{name}`' for name in value)}"
    return f"a {type(value).__name__}"


def shown(action: argparse.Action) -> str:
    """An argument as a person types it."""
    value = action.metavar if isinstance(action.metavar, str) else "|".join(map(str, action.choices or ()))
    if not action.option_strings:
        return f"[{value}]" if action.nargs in ("?", "*") else f"{value} …" if action.nargs == "+" else value
    takes = value if action.nargs != 0 else ""
    return f"{', '.join(action.option_strings)} {takes}".strip()


# -- settings -----------------------------------------------------------------------------------------------------


def settings_page() -> Iterator[str]:
    yield from ("# Settings", "", MADE, "")
    yield from (
        "Set by flag, then environment, then `contextfold.toml` (in the working directory, or named by `--config`",
        "or `CONTEXTFOLD_CONFIG`), then your own file, `~/.config/contextfold/contextfold.toml`",
        "(`XDG_CONFIG_HOME`), then the default. `contextfold config` shows every effective value and its source. An",
        "unknown key is an error that names the nearest known one.",
        "",
        "A `contextfold.toml` that merely lies in the working directory may come from a stranger, as with a cloned",
        f"repository. It may set {' and '.join(f'`{name}`' for name in APPEARANCE)}; everything else, also what later",
        "versions add, is left out, and one note names it. Who owns the file makes no difference. You trust it by",
        "",
        "- `contextfold trust`: this content at this place from now on, noted in your state directory",
        "  (`~/.local/state/contextfold`, `XDG_STATE_HOME`); once changed or moved it is left out again. Tables of",
        "  models that it names are trusted with it, whatever becomes of them;",
        "- `--trust`, or `CONTEXTFOLD_TRUST=1`: for this run, whatever it says;",
        "- naming it, by `--config` or `CONTEXTFOLD_CONFIG`;",
        "- writing the settings into your own file instead.",
        "",
        "The library follows the same rule: a program may be started in any directory. One that wants the file beside",
        "it sets `CONTEXTFOLD_CONFIG` to its path before it opens a session, or says everything in code. Directories",
        "above the working directory and `.env` files are never searched for settings.",
        "",
    )
    rows = [
        (f"`{s.key}`", f"`{s.variable}`", f"`{s.flag}`", f"`{s.default}`" if s.default else "-", s.meaning)
        for s in SETTINGS
    ]
    yield from table(("key", "environment", "flag", "default", "meaning"), rows)
    yield from ("", "For models and folding, the same file has these; see [models](../models.md).", "")
    own = ", ".join(f"`{name}`" for name in Profile.__struct_fields__)
    of_models = ", ".join(f"`{name}`" for name in ModelSettings.__struct_fields__)
    yield from table(
        ("key", "holds"),
        [
            ("`max_input_tokens`", "the most input tokens of any model (`CONTEXTFOLD_MAX_INPUT_TOKENS`)"),
            (own, "how all conversations are folded"),
            ('`[models."NAME"]`', of_models),
            ("`[profiles.NAME]`", own),
            ("`litellm`", "a table of further models, in litellm's format"),
            ("`catalogue`", "a newer catalogue of models, in the format of ours"),
        ],
    )


# -- API ----------------------------------------------------------------------------------------------------------


def api_page() -> Iterator[str]:
    yield from ("# Python API", "", MADE, "")
    yield (
        "`import contextfold as cf`. `cf.aio` has the same names, awaited. Errors, `Policy` and `Report` are in "
        "modules of their own, at the end of this page. Everything else may change without notice."
    )
    for name in sorted([*cf.__all__, "providers"]):
        value = getattr(cf, name)
        if inspect.ismodule(value):
            yield from ("", f"## cf.{name}", "", *first_words(value))
        elif inspect.isclass(value):
            yield from class_section(name, value)
        else:
            yield from function_section(f"## cf.{name}", f"cf.{name}", value)
    for place, kind in (("contextfold.folding", Policy), ("contextfold.folding", Report)):
        yield from ("", f"## {place}.{kind.__name__}", "", *first_words(kind), "", fields_line(kind))
    yield from ("", "## contextfold.errors", "", "```text", *first_words(errors), "```")


def fields_line(cls: type) -> str:
    fields: list[str] = list(getattr(cls, "__struct_fields__", ()) or getattr(cls, "__dataclass_fields__", ()))
    return f"Fields: {', '.join(f'`{field}`' for field in fields)}." if fields else ""


def class_section(name: str, cls: type) -> Iterator[str]:
    yield from ("", f"## cf.{name}", "", *first_words(cls))
    if issubclass(cls, BaseException):
        return
    if line := fields_line(cls):
        yield from ("", line)
    for member in sorted(each for each in dir(cls) if not each.startswith("_") and f"`{each}`" not in line):
        yield from member_section(name, member, inspect.getattr_static(cls, member))


def member_section(owner: str, name: str, member: object) -> Iterator[str]:
    if isinstance(member, property):
        yield from ("", f"### {owner}.{name}", "", *first_words(member, "A property."))
    elif isinstance(member, classmethod | staticmethod):
        yield from function_section(f"### {owner}.{name}", f"{owner}.{name}", member.__func__)
    elif inspect.isfunction(member):
        yield from function_section(f"### {owner}.{name}", f"{owner}.{name}", member)


def function_section(title: str, called: str, function: Callable[..., object]) -> Iterator[str]:
    yield from ("", title, "", "```python", signature(called, function), "```", "", *first_words(function))


def signature(called: str, function: Callable[..., object]) -> str:
    found = inspect.signature(function)
    given = [each for name, each in found.parameters.items() if name not in ("self", "cls")]
    whole = str(found.replace(parameters=given))
    return f"{called}{whole.replace(chr(39), '')}"


def first_words(value: object, otherwise: str = "") -> list[str]:
    return (inspect.getdoc(value) or otherwise).strip().splitlines()


# -- the replay report ----------------------------------------------------------------------------------------------


def report_page() -> Iterator[str]:
    yield from ("# The replay report", "", MADE, "")
    yield "What `contextfold replay --json` writes, and `contextfold.replay.schema()` gives as JSON Schema."
    for name, part in sorted(schema()["$defs"].items()):
        yield from ("", f"## {name}", "", part.get("description", ""), "")
        yield from table(("field", "type"), [(f"`{field}`", kind(each)) for field, each in part["properties"].items()])


def kind(part: dict[str, object]) -> str:
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    if isinstance(choices := part.get("anyOf"), list):
        return " or ".join(map(kind, choices))
    if isinstance(inner := part.get("items"), dict):
        return f"list of {kind(inner)}"
    if isinstance(words := part.get("enum"), list):
        return ", ".join(map(str, words))
    return str(part.get("type", "any"))


# -- the inspector's interface -----------------------------------------------------------------------------------------


def inspector_page() -> Iterator[str]:
    told = description(ROUTES, "")
    yield from ("# The inspector's interface", "", MADE, "")
    yield from (
        str(told["info"]["description"]),
        "`GET /api/v1/openapi.json` is the same for programs. See ../inspector.md.",
    )
    for path, methods in told["paths"].items():
        for method, route in methods.items():
            yield from ("", f"## {method.upper()} {path}", "", route["summary"], "")
            body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            asked = [(f"`{each['name']}`", each["in"], kind(each["schema"])) for each in route["parameters"]]
            asked += [("", "body", kind(body))] if body else []
            yield from table(("asked", "in", "type"), asked)
            (answer,) = route["responses"]["200"]["content"].items()
            yield from ("", f"Answers {kind(answer[1]['schema'])} ({answer[0]}).")
    for name, part in sorted(told["components"]["schemas"].items()):
        yield from ("", f"## {name}", "", part.get("description", ""), "")
        yield from table(
            ("field", "type"), [(f"`{field}`", kind(each)) for field, each in part.get("properties", {}).items()]
        )


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "api.md": api_page,
    "report.md": report_page,
    "inspector.md": inspector_page,
}


def page(name: str) -> str:
    """One page as it should be."""
    return "\n".join(line.rstrip() for line in PAGES[name]()) + "\n"


def main(arguments: list[str]) -> int:
    stale = [name for name in PAGES if not (REFERENCE / name).is_file() or (REFERENCE / name).read_text() != page(name)]
    for name in stale:
        if "--check" in arguments:
            print(f"docs/reference/{name} is not current: run python scripts/write_reference.py")
        else:
            REFERENCE.mkdir(parents=True, exist_ok=True)
            (REFERENCE / name).write_text(page(name))
            print(f"wrote docs/reference/{name}")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
