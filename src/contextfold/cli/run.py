"""Running one command: arguments, settings, output, and every way it can end.

Errors of ours become one line that says what to do and an exit code; only a bug shows where it happened, and only to
those who ask.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import partial
from typing import Any

from contextfold.configuration import SETTINGS, configure
from contextfold.models import CONFIG_VARIABLE, TRUST_VARIABLE, ModelSettings, meant_by

from . import words
from .arguments import UsageError, loaded, parser_for, told_in
from .commands import BUG, CLOSED, COMMANDS, HEADLINES, INTERRUPTED, Command, code_of
from .invocation import Invocation
from .paper import Ink, Paper, standard, wants_color
from .translation import error_in, label_in

DEBUG = "CONTEXTFOLD_DEBUG"


def run(name: str, arguments: list[str], command: Command | None) -> int:
    """Run a command by name; its exit code, whatever happens."""
    language = words.choose(_said(arguments, "--lang"), os.environ)
    standard(sys.stdout)
    standard(sys.stderr)
    try:
        return _run(name, arguments, command, language)
    except SystemExit as left:  # argparse printed help
        return left.code if isinstance(left.code, int) else BUG
    except KeyboardInterrupt:
        _complain(words.say("interrupted", language), "", language)
        return INTERRUPTED
    except BrokenPipeError:
        # Nobody reads any more: keep Python from complaining about it when it flushes at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except Exception as error:  # noqa: BLE001  # the last line of defence: every error has an exit code
        return _fail(error, language, "--json" in arguments)


def _run(name: str, arguments: list[str], command: Command | None, language: words.Language) -> int:
    if command is None:
        close = get_close_matches(name, COMMANDS, 1)
        guess = f"; did you mean `contextfold {close[0]}`?" if close else "."
        raise UsageError(f"There is no command {name!r}{guess} See `contextfold --help`.")
    found = loaded(command)
    parser = parser_for(command, found.about, language)
    found.arguments(parser)
    args = told_in(parser, language).parsed(arguments)
    with (
        _warnings_as_notes(language, quiet=args.quiet),
        _in_force(
            args.config,
            trust=args.trust or name == "trust",  # it reads the file as it would hold
        ),
    ):
        flags = {setting.key: getattr(args, setting.key, None) for setting in SETTINGS}
        settings = configure(flags={**flags, "language": args.lang}, file=args.config)
        chosen = words.choose(settings["language"], os.environ) if settings["language"] else language
        color = settings["color"]
        out = Paper(sys.stdout, color=wants_color(color, sys.stdout, os.environ), label=partial(label_in, chosen))
        err = Paper(sys.stderr, color=wants_color(color, sys.stderr, os.environ))
        call = Invocation(args, settings, out, err, chosen)
        _note_misspelled_models(call)
        code = found.run(call)
        sys.stdout.flush()
        return code


def _note_misspelled_models(call: Invocation) -> None:
    """A model that nobody listed is used as it is called; where its name looks like a slip, that is said."""
    typed = [
        call.settings["model"],
        getattr(call.args, "summarizer", None),
        *(getattr(call.args, "models", None) or ()),
    ]
    for name in dict.fromkeys(filter(None, typed)):
        if call.settings.models.model(name) == ModelSettings() and (meant := meant_by(name)):
            call.note(call.say("model.guess", name=name, meant=meant))


@contextmanager
def _in_force(path: str | None, *, trust: bool) -> Iterator[None]:
    """A settings file named by flag, and trust, hold for the library too, which looks for them in the environment."""
    given = {**({} if path is None else {CONFIG_VARIABLE: path}), **({TRUST_VARIABLE: "1"} if trust else {})}
    before = {name: os.environ[name] for name in given if name in os.environ}
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            os.environ.pop(name, None)
        os.environ.update(before)


@contextmanager
def _warnings_as_notes(language: words.Language, *, quiet: bool) -> Iterator[None]:
    """What the library warns of is a note on the error stream, once, without file and line."""

    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if not quiet and str(message) not in shown:
            shown.add(str(message))
            told = error_in(language, str(message))
            Paper(sys.stderr, color=False).line(f"{words.say('note', language)} {told}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


def _fail(error: Exception, language: words.Language, is_json: bool) -> int:
    code = code_of(error)
    if code == BUG and os.environ.get(DEBUG):
        raise error
    kind = type(error).__name__
    told = str(error) if code != BUG else words.say("bug", language, kind=kind, told=str(error))
    if is_json:
        Paper(sys.stderr, color=False).json({"error": {"kind": kind, "exit": code, "message": told}})
    else:
        _complain(HEADLINES[code][language == "ja"], error_in(language, told), language)
    return code


def _complain(headline: str, told: str, language: words.Language) -> None:
    paper = Paper(sys.stderr, color=wants_color("auto", sys.stderr, os.environ))
    paper.line(Ink(f"contextfold: {headline}", "bad"), f"{words.say('colon', language)}{told}" if told else "")


def _said(arguments: list[str], option: str) -> str:
    """The value of an option before anything is parsed: errors in the rest are told in this language too."""
    for at, word in enumerate(arguments):
        if word == option and at + 1 < len(arguments):
            return arguments[at + 1]
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return ""
