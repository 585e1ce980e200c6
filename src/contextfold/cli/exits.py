"""What a command says with its exit code. Scripts depend on these numbers: they are never reused.

Imports nothing of the library, so that `--help` costs nothing; errors are known by the names of their classes.
"""

from __future__ import annotations

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
