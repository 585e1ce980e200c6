"""What every event log must do, as tests: ours run them, and so can whoever writes another log.

Subclass `EventLogContract` in a test module and give it a fixture `log` that opens an empty log; add
`DurableLogContract` with a fixture `reopen` for a log that outlives its object. Needs pytest.
"""

from .appends import AppendingContract, BatchContract, KeyContract
from .durable import DurableLogContract, ForgettingContract
from .pages import ListingContract
from .threads import NASTY_BODIES, NASTY_TEXTS, ForkContract, ThreadContract, appended, blob_sent, message


class EventLogContract(
    ThreadContract,
    ListingContract,
    AppendingContract,
    KeyContract,
    BatchContract,
    ForkContract,
    ForgettingContract,
):
    """All of it."""


__all__ = [
    "NASTY_BODIES",
    "NASTY_TEXTS",
    "DurableLogContract",
    "EventLogContract",
    "appended",
    "blob_sent",
    "message",
]
