"""For tests of contextfold and of whatever is built on it: histories, real and nasty, and models that obey or fail.

Nothing here is used by contextfold itself. Hypothesis is needed only for the strategies of `contextfold.testing.nasty`.
"""

from . import nasty
from .histories import SYSTEM, session, tools
from .models import FAULTY, Hanging, Overloaded, Scripted

__all__ = ["FAULTY", "SYSTEM", "Hanging", "Overloaded", "Scripted", "nasty", "session", "tools"]
