"""A provider in a box: four wire formats over real HTTP, with the providers' own rules, bills, caches and failures.

For tests, ours and yours: whatever a real provider would reject, this server rejects, in the provider's own shape.

    with strict_server() as server:
        server.answer("Hello.", faults.rate_limited())
        client = anthropic.Anthropic(base_url=server.url, api_key=server.token)

Its rules are written from the providers' documentation and share no code with contextfold's dialects, so that one
checks the other. Needs `pip install 'contextfold[testing]'`. It listens on the loopback interface only.
"""

from . import faults
from .bill import Clock, TokenBill
from .faults import Fault, Rejection
from .provider import FLAVOURS, Call, Exchange, Flavour, Held, Question, Say
from .strict import StrictServer, strict_server

__all__ = [
    "FLAVOURS",
    "Call",
    "Clock",
    "Exchange",
    "Fault",
    "Flavour",
    "Held",
    "Question",
    "Rejection",
    "Say",
    "StrictServer",
    "TokenBill",
    "faults",
    "strict_server",
]
