"""Every error raised on purpose, under one root.

    ContextFoldError
    ├── BadMessage          what was given is not a message we can read
    ├── BadConfiguration    a setting that contradicts itself or cannot work
    ├── MissingExtra        a framework's package, which an extra brings, is not installed
    ├── NotFound            a thread, seq or fold that does not exist here
    ├── CannotCover         a fold that would part what belongs together, or covers nothing visible
    ├── CannotFit           the smallest valid request is larger than the window
    ├── CannotUnfold        with this fold taken back the request would not fit
    ├── InvalidRequest      a request that its provider would reject
    ├── ProviderFailed      a model was asked for a summary and did not give one
    ├── Refused             the result of a tool call that was not allowed
    ├── Conflict            the thread moved on since `expected`
    │   └── KeyConflict     an idempotency key used again with other bytes
    ├── WorkspaceError      a workspace cannot be kept or brought back as it is
    │   ├── GitMissing      snapshots need the system's git
    │   ├── WorkspaceBusy   another process is at work on its snapshots
    │   └── WorkspaceChanged  files changed while they were being restored
    └── StoreError          the file cannot be used as it is
        ├── NotOurs         not a contextfold store
        ├── TooNew          written by a newer contextfold
        ├── Corrupt         damaged, or its chain does not verify
        ├── ReadOnly        the disk or file does not allow writing
        └── DiskFull        no room left; nothing was written

A message says what happened, then what to do; the facts are attributes too.
"""

from __future__ import annotations

from collections.abc import Mapping


class ContextFoldError(Exception):
    """The root of every error contextfold raises on purpose."""


class BadMessage(ContextFoldError):
    """What was given is not a message in a format we know."""


class BadConfiguration(ContextFoldError):
    """A setting that contradicts another or cannot work."""


class MissingExtra(ContextFoldError, ModuleNotFoundError):
    """A framework's package is not here. Raised while importing, before a language is known: told in both."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        super().__init__(
            f"{what} is not installed: pip install 'contextfold[{extra}]'. "
            f"{what} が未インストールです: pip install 'contextfold[{extra}]'"
        )


class NotFound(ContextFoldError):
    """Something named does not exist here."""


class CannotCover(ContextFoldError):
    """A fold that would part what belongs together, or that covers nothing visible."""


class CannotFit(ContextFoldError):
    """The smallest valid request is larger than the window; nothing was sent and nothing was lost.

    `unit` is what it is too large in: tokens, or for some providers bytes or images.
    """

    def __init__(self, parts: Mapping[str, int], limit: int, unit: str = "tokens") -> None:
        self.parts, self.limit, self.unit = dict(parts), limit, unit
        needed = sum(parts.values())
        listing = ", ".join(f"{name} {size:,}" for name, size in sorted(parts.items(), key=lambda part: -part[1]))
        super().__init__(
            f"The smallest valid request needs {needed:,} {unit} and the window allows {limit:,}: {listing}. "
            f"Shorten the largest part, unpin messages, or choose a larger model."
        )


class CannotUnfold(ContextFoldError):
    """With this fold taken back the request would be larger than the window; nothing was changed."""

    def __init__(self, fold: int, parts: Mapping[str, int], limit: int) -> None:
        self.fold, self.parts, self.limit = fold, dict(parts), limit
        listing = ", ".join(f"{name} {size:,}" for name, size in parts.items())
        super().__init__(
            f"Unfolding {fold} needs {sum(parts.values()):,} tokens and the window allows {limit:,}: {listing}. Use "
            f"unfold({fold}, make_room=True) to fold something older instead, or recall(fold={fold}) to read it."
        )


class InvalidRequest(ContextFoldError):
    """A request that its provider would reject; nothing was sent."""


class ProviderFailed(ContextFoldError):
    """A model was asked and did not answer. Nothing of what its provider said is repeated: it may hold a key.

    `kind` says what may help: "auth" another key, "overflow" less input, "transient" another time, "rejected" another
    request, "broken" another provider. `retry_after` is in seconds, where the provider said so.
    """

    def __init__(self, message: str, kind: str, retry_after: float | None = None) -> None:
        self.kind, self.retry_after = kind, retry_after
        super().__init__(message)


class Refused(ContextFoldError):
    """The result of a call that the declared tools do not allow; it was not written."""

    def __init__(self, call: str, text: str) -> None:
        self.call, self.text = call, text
        super().__init__(
            f"Call {call!r} was refused, so its result is not taken. Do not run it; append the refusal instead: {text}"
        )


class Conflict(ContextFoldError):
    """Somebody else wrote to the thread since the seq that was expected."""

    def __init__(self, message: str, *, expected: int = 0, actual: int = 0) -> None:
        self.expected, self.actual = expected, actual
        super().__init__(message)


class KeyConflict(Conflict):
    """An idempotency key that was already used for other bytes."""


class WorkspaceError(ContextFoldError):
    """A workspace cannot be kept, or brought back, as it is; its files are as they were."""


class GitMissing(WorkspaceError):
    """Snapshots need the system's git, and there is none."""


class WorkspaceBusy(WorkspaceError):
    """Another process is at work on the workspace's snapshots."""


class WorkspaceChanged(WorkspaceError):
    """Files changed while they were being restored; nothing was restored."""


class StoreError(ContextFoldError):
    """The store cannot be used as it is; nothing was changed."""


class NotOurs(StoreError):
    """The file is not a contextfold store."""


class TooNew(StoreError):
    """The file was written by a newer contextfold."""


class Corrupt(StoreError):
    """The file is damaged, or its chain does not verify; `thread` and `seq` say where, as far as that is known."""

    def __init__(self, message: str, *, thread: str = "", seq: int = 0) -> None:
        self.thread, self.seq = thread, seq
        super().__init__(message)


class ReadOnly(StoreError):
    """The file or its disk does not allow writing."""


class DiskFull(StoreError):
    """There is no room left on the disk."""
