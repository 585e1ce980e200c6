"""Every command with one line about it: all that `contextfold --help` needs to know.

Kept apart from the commands themselves, so that help and completion import none of them; a test compares the two.

What a command says with its exit code. Scripts depend on these numbers: they are never reused.

Imports nothing of the library, so that `--help` costs nothing; errors are known by the names of their classes.
"""

from __future__ import annotations

from typing import NamedTuple

from .help_ja import helped

DONE = 0
PROBLEMS = 1  # the command worked, and what it looked at is not well: verify, validate, doctor, replay
USAGE = 2  # arguments or configuration that cannot work
NOT_FOUND = 3  # a store, thread, message, fold or file that is not there
CANNOT = 4  # what was asked for is impossible: does not fit, would part what belongs together
STORE = 5  # the file cannot be used as it is: damaged, newer, read-only, disk full
CONFLICT = 6  # somebody else was faster
BAD_INPUT = 7  # what was given to read is no conversation we know
REFUSED = 8  # nothing was done: it was not confirmed
BUG = 70  # ours; please report
INTERRUPTED = 130  # Ctrl-C
CLOSED = 141  # whoever read our output went away, as `head` does

# The headline of an error, in English and Japanese.
HEADLINES: dict[int, tuple[str, str]] = {
    USAGE: ("not understood", "指定が正しくありません"),
    NOT_FOUND: ("not found", "見つかりません"),
    CANNOT: ("not possible", "できません"),
    STORE: ("the store cannot be used", "ストアを使えません"),
    CONFLICT: ("somebody was faster", "他の書き込みと衝突しました"),
    BAD_INPUT: ("not readable", "読み取れません"),
    REFUSED: ("nothing was done", "何も変更していません"),
    BUG: ("a bug in contextfold", "contextfold の不具合です"),
}

MEANINGS: dict[int, str] = {
    DONE: "done",
    PROBLEMS: "done, and problems were found (verify, validate, doctor, replay)",
    USAGE: "arguments or configuration that cannot work",
    NOT_FOUND: "a store, thread, message, fold or file that is not there",
    CANNOT: "impossible as asked: does not fit, or would part what belongs together",
    STORE: "the store cannot be used as it is: damaged, newer, read-only, disk full",
    CONFLICT: "somebody else was faster; look again",
    BAD_INPUT: "what was given to read is no conversation we know",
    REFUSED: "nothing was done: it was not confirmed",
    BUG: "a bug of ours; CONTEXTFOLD_DEBUG=1 shows where",
    INTERRUPTED: "interrupted (Ctrl-C)",
    CLOSED: "whoever read the output closed it",
}

# By name of the class, looked up along its ancestry.
_OF_ERRORS = {
    "UsageError": USAGE,
    "BadConfiguration": USAGE,
    "NotFound": NOT_FOUND,
    "FileNotFoundError": NOT_FOUND,
    "NotConfirmed": REFUSED,
    "CannotFit": CANNOT,
    "CannotCover": CANNOT,
    "InvalidRequest": CANNOT,
    "Conflict": CONFLICT,
    "StoreError": STORE,
    "BadMessage": BAD_INPUT,
    "ContextFoldError": CANNOT,
    "OSError": STORE,
}


def code_of(error: BaseException) -> int:
    """The exit code of an error; `BUG` when nobody raised it on purpose."""
    return next((_OF_ERRORS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _OF_ERRORS), BUG)


class Command(NamedTuple):
    """A command, by the name people type."""

    name: str
    about: str
    family: str = ""  # the file it shares with commands of its kind, as a class; without one it is a file by itself

    @property
    def module(self) -> str:
        """Where it lives; a name that Python keeps for itself gets an underscore."""
        return f"contextfold.cli.{self.family or self.name}{'_' if self.name == 'import' else ''}"


GROUPS: dict[str, tuple[Command, ...]] = {
    "Use it with any agent": (
        Command("wrap", "run an agent through its own gateway: contextfold wrap -- claude"),
        Command("serve", "the gateway: agents' conversations are kept and always fit"),
        Command("mcp", "a server for MCP clients: recall, threads, timeline, unfold"),
        Command("plugin", "make a plugin for an agent: recall, a digest, a status line"),
        Command("top", "see live what gateways do: conversations, folds, saved, paid"),
    ),
    "Try it on recorded sessions": (
        Command("demo", "see it work: a session through a small window, checked as it goes"),
        Command("replay", "run recorded sessions through policies and compare them"),
        Command("count", "count the tokens of messages, a session or a text"),
        Command("validate", "say what a provider would reject in a request; --repair mends it"),
        Command("models", "what is known about models: window, prices, and who says so"),
    ),
    "Look at a store": (
        Command("inspect", "look at a store in a browser, and take folds back"),
        Command("threads", "list the threads of a store", family="threads"),
        Command("show", "show what the model sees: the view, folds marked, with sizes"),
        Command("context", "what fills the window: system, tools, results, summaries, free"),
        Command("folds", "list the live folds: what each hides and why", family="folds"),
        Command("diff", "show what changed between two places of a thread"),
        Command("recall", "find what was said: by words, behind a fold, or one message"),
        Command("memory", "see and change what is remembered across threads"),
        Command("stats", "a thread in numbers"),
        Command("usage", "what was billed, by day, model or project: from logs or the store"),
    ),
    "Change what the model sees": (
        Command("fold", "fold now, with your own instructions if you like", family="folds"),
        Command("unfold", "take a fold back; everything said since stays", family="folds"),
        Command("rewind", "move the head to an earlier place; nothing is lost", family="rewind"),
        Command("redo", "return to where the last rewind came from", family="rewind"),
        Command("checkpoint", "name this place, with a snapshot of files; or list such places", family="rewind"),
        Command("fork", "try another way: a new thread that shares the past", family="threads"),
        Command("pin", "keep a message in every view", family="pins"),
        Command("unpin", "let a message be folded again", family="pins"),
    ),
    "Keep a store": (
        Command("import", "read recorded sessions or an exported thread into a store"),
        Command("export", "write a thread as JSON lines, every event with its exact bytes"),
        Command("verify", "prove that a store is what was written", family="upkeep"),
        Command("copy", "copy a store into another one, file or PostgreSQL, verified", family="upkeep"),
        Command("migrate", "make or update the tables of a store in PostgreSQL", family="upkeep"),
        Command("backup", "copy a live store consistently and verify the copy", family="upkeep"),
        Command("workspace", "take over snapshots of files from another directory"),
        Command("rename", "call a thread by another name; the earlier ones still lead to it", family="threads"),
        Command("archive", "put a thread away, out of the list", family="threads"),
        Command("unarchive", "list a thread that was put away again", family="threads"),
        Command("forget", "erase a message or a thread for good", family="forget"),
        Command("retention", "forget threads that nobody has used for so long", family="forget"),
        Command("reindex", "make the index by which things are found anew", family="upkeep"),
        Command("doctor", "check installation, store, models, and keys in the log"),
    ),
    "Settings": (
        Command("config", "show every effective setting and where it comes from"),
        Command("trust", "let ./contextfold.toml, as it is now, set more than colours"),
        Command("completion", "print the completion script of a shell"),
    ),
}

COMMANDS: dict[str, Command] = {command.name: command for group in GROUPS.values() for command in group}

# Options every command has, with the name of their value; empty for a switch.
OPTIONS: dict[str, tuple[str, str]] = {
    "--json": ("", "answer as JSON"),
    "--store": (
        "STORE",
        "a file, or postgresql://… (default: ./contextfold.db)",
    ),
    "--space": ("NAME", "the space in the store"),
    "--config": ("FILE", "settings (default: $CONTEXTFOLD_CONFIG, ./contextfold.toml)"),
    "--trust": ("", "trust all of ./contextfold.toml this once, not only colours"),
    "--color": ("WHEN", "auto, always or never; NO_COLOR is honoured"),
    "--lang": ("LANG", "en or ja, for what people read most"),
    "--quiet": ("", "no progress and no notes"),
}


def help_text(language: str = "en") -> str:
    """What `contextfold --help` says."""
    rows = [
        helped("usage: contextfold COMMAND [options]", language),
        "",
        helped("See and change what a language model sees. Nothing is lost.", language),
        "",
    ]
    for title, group in GROUPS.items():
        commands = (f"  {command.name:<12}{helped(command.about, language)}" for command in group)
        rows += [f"{helped(title, language)}:", *commands, ""]
    rows += [helped("Options of every command:", language)]
    rows += [f"  {f'{name} {value}'.rstrip():<16}{helped(about, language)}" for name, (value, about) in OPTIONS.items()]
    last = "contextfold COMMAND --help explains a command, contextfold --version says which."
    return "\n".join([*rows, "", helped(last, language)]) + "\n"
