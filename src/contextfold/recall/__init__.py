"""Recall: finding and showing what is folded away, for the model or for a person. Needs no model itself."""

from .index import RecallIndex, number_of
from .passages import Piece, passage_text, passages
from .search import HEADER, Hit, Passage, PassageSource, Stretch, headline, holding, packed, search
from .tools import FRAMED, RECALL, TOOLS, UNFOLD, framed, is_answer, say
from .words import asked_terms

__all__ = [
    "FRAMED",
    "HEADER",
    "RECALL",
    "TOOLS",
    "UNFOLD",
    "Hit",
    "Passage",
    "PassageSource",
    "Piece",
    "RecallIndex",
    "Stretch",
    "asked_terms",
    "framed",
    "headline",
    "holding",
    "is_answer",
    "number_of",
    "packed",
    "passage_text",
    "passages",
    "say",
    "search",
]
