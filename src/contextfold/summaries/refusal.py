"""Why a fold did not happen: one word for a report, the same word for every strategy and every summarizer."""

from __future__ import annotations

import enum


class Refusal(enum.StrEnum):
    """The reason an attempt was refused. The thread is as it was."""

    NOTHING_TO_FOLD = "nothing-to-fold"
    JUST_FOLDED = "just-folded"
    EMPTY = "empty"  # no answer, too little of one, or the instructions said back
    GREW = "grew"  # larger than allowed, or not smaller than what it replaces
    CUT_OFF = "cut-off"
    REFUSAL = "refusal"
    TOOL_CALL = "tool-call"
    WRONG_LANGUAGE = "wrong-language"
    TIMED_OUT = "timed-out"
    CANCELLED = "cancelled"
    FAILED = "failed"
    AUTH = "auth"  # the provider does not know the key
    OVERFLOW = "overflow"  # larger than the summarizer's own window
    TRANSIENT = "transient"  # overloaded, limited or out of reach; another time it may work
    UNPROFITABLE = "unprofitable"
    STALE = "stale"
    UNSUPPORTED = "unsupported"  # this model has no such thing
