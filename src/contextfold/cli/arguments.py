"""The parts command lines are made of: a parser whose errors help, shared options, sizes as people write them.

Also what a command is given to read: files, or `-` for what is piped in. Pipes are spooled to a private file first,
because formats are known by looking at them and conversations are read more than once.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, NoReturn

from contextfold.deferred import expression
from contextfold.errors import BadMessage, ContextFoldError, NotFound
from contextfold.transcripts import API_FILE

from .commands import OPTIONS, Command
from .help_ja import DESCRIPTIONS, helped

_NO_NUMBER = expression(r"invalid (?:int|float) value: ('[^']*')")  # as argparse says it
_FACTORS = {"k": 1_000, "m": 1_000_000}


class UsageError(ContextFoldError):
    """A command line that cannot be understood."""


class NotConfirmed(ContextFoldError):
    """Something that cannot be undone was not confirmed."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving, and guesses what was meant."""

    def __init__(self, *, language: str = "en", **given: Any) -> None:
        super().__init__(**given)
        self._language = language

    def format_help(self) -> str:
        told = super().format_help()
        return f"{helped('usage:', self._language)}{told.removeprefix('usage:')}"

    def error(self, message: str) -> NoReturn:
        told = _NO_NUMBER.sub(r"\1 is no number", message)
        raise UsageError(f"{told[:1].upper()}{told[1:]}. See `{self.prog} --help`.")

    def parsed(self, arguments: Sequence[str]) -> argparse.Namespace:
        found, strange = self.parse_known_args(arguments)
        if strange:
            known = [option for action in self._actions for option in action.option_strings]
            close = get_close_matches(strange[0].split("=")[0], known, 1) if strange[0].startswith("-") else []
            guess = f"; did you mean {close[0]}?" if close else "."
            raise UsageError(f"There is no {strange[0]!r} in this command{guess} See `{self.prog} --help`.")
        return found


class Loaded(NamedTuple):
    """A command as its file has it: what its help says, what it takes, and what it does."""

    about: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[..., int]


def loaded(command: Command) -> Loaded:
    """The command, imported only now. Alone it is its file; with others of its kind it is a class in theirs."""
    module = import_module(command.module)
    found = getattr(module, f"{command.name.title()}Command") if command.family else module
    return Loaded(cleandoc(found.__doc__ or ""), found.arguments, found.run)


def parser_for(command: Command, about: str, language: str = "en") -> Parser:
    """A parser with the options that every command has. `about` is the command's own docstring."""
    description, _, examples = about.partition("\n\nExamples:\n")
    if language == "ja":
        description = DESCRIPTIONS[command.name]
    parser = Parser(
        language=language,
        prog=f"contextfold {command.name}",
        description=description,
        epilog=f"{helped('examples:', language)}\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        argument_default=None,
    )
    shared = parser.add_argument_group("options of every command")
    for option, (value, told) in OPTIONS.items():
        if value:
            shared.add_argument(option, metavar=value, help=told)
        else:
            shared.add_argument(option, action="store_true", help=told)
    return parser


def told_in(parser: Parser, language: str) -> Parser:
    """The parser with its headings and the help of every option in this language."""
    for action in parser._actions:  # noqa: SLF001  # argparse has no public list of them
        if action.help is not None and action.help != argparse.SUPPRESS:
            action.help = helped(action.help, language)
    for group in parser._action_groups:  # noqa: SLF001  # nor of these
        group.title = helped(group.title or "", language)
    return parser


def add_thread(parser: argparse.ArgumentParser, *, positional: bool = True) -> None:
    """The thread a command is about: its first word, or -t where a number comes first."""
    told = "the thread (default: the setting `thread`, or the only one there is)"
    if positional:
        parser.add_argument("name", nargs="?", metavar="THREAD", help=told)
    parser.add_argument("-t", "--thread", metavar="THREAD", help=argparse.SUPPRESS if positional else told)


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model to count for."""
    parser.add_argument("-m", "--model", metavar="MODEL", help="count for this model (default: the thread's own)")


def size(text: str) -> int:
    """A number of tokens as people write it: 200000, 200_000, 200k, 1m."""
    word = text.strip().lower().replace(",", "").replace("_", "")
    factor = _FACTORS.get(word[-1:], 1)
    try:
        number = float(word[:-1] if factor > 1 else word) * factor
    except ValueError:
        number = -1
    if not 0 < number < 1e12 or number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 200000, 200k or 1m")
    return int(number)


def seq(text: str) -> int:
    """The number of an event."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no seq; `contextfold show` has them in its first column")
    return int(text)


def checkpoint_name(text: str) -> int | str:
    """A checkpoint by its seq, or by its name."""
    return int(text) if text.isascii() and text.isdigit() else text


PIPE = "-"
SUFFIXES = (".jsonl", ".json", ".ndjson", ".traj", ".gz")


@contextmanager
def readable(name: str) -> Iterator[Path]:
    """A regular file with this input; `-` is the standard input."""
    if name != PIPE:
        path = Path(name)
        if not path.exists():
            raise NotFound(f"There is no file {name}. Check the path, or use - to read what is piped in.")
        yield path
        return
    if sys.stdin.isatty():
        raise UsageError("Nothing is piped in. Give a file, or pipe one: `contextfold … - < session.jsonl`.")
    with TemporaryDirectory(prefix="contextfold-") as directory:
        spooled = Path(directory) / "stdin"
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield spooled
        except BadMessage as error:  # nobody has heard of the file that it was put into
            raise BadMessage(str(error).replace(str(spooled), "standard input")) from error


def sessions_in(path: Path) -> list[Path]:
    """The file itself, or every recorded session in a directory; a task of Roo Code is its API list."""
    if not path.is_dir():
        return [path]
    files = [each for each in path.rglob("*") if each.name.endswith(SUFFIXES) and each.is_file()]
    tasks = {each.parent for each in files if each.name == API_FILE}
    found = sorted(each for each in files if each.name == API_FILE or each.parent not in tasks)
    if not found:
        raise UsageError(f"There are no sessions in {path}. Name files, or another directory.")
    return found


def text_of(name: str) -> str:
    """The whole input as text."""
    with readable(name) as path:
        try:
            return path.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{name} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
