"""Words as a shell reads them back: a line that means just these words in sh, bash, zsh and fish.

Names come from stores, settings and file systems, and may hold anything. Inside single quotes those shells leave
everything as it is but for a quote and, in fish, a backslash: these two stand in double quotes.
"""

from __future__ import annotations

from contextfold.deferred import expression

_PLAIN = expression(r"[A-Za-z0-9_@+:,./-]+")
_PIECES = expression(r"['\\]+|[^'\\]+")


def quoted(word: object) -> str:
    """One word, in quotes where it needs them."""
    text = str(word)
    if _PLAIN.fullmatch(text):
        return text
    return "".join(map(_quoted_piece, _PIECES.findall(text))) or "''"


def command_line(*words: object) -> str:
    """A command and its arguments as one line."""
    return " ".join(map(quoted, words))


def option(name: str, value: object) -> str:
    """An option with its value, in one word: the value may begin with a dash."""
    return f"{name}={quoted(value)}"


def operand(name: object) -> str:
    """A name at the end of a command: behind two dashes where it could be taken for an option."""
    return f"-- {quoted(name)}" if str(name).startswith("-") else quoted(name)


def _quoted_piece(piece: str) -> str:
    return '"' + piece.replace("\\", "\\\\") + '"' if piece[0] in "'\\" else f"'{piece}'"
