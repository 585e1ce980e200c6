"""Recall: finding and showing what is folded away, for the model or for a person. Needs no model itself."""

from .index import IndexReader, RecallIndex
from .passages import Piece, passage_text, passages
from .search import (
    HEADER,
    Hit,
    Inquiry,
    Passage,
    PassageIndex,
    PassageSource,
    Stretch,
    headline,
    holding,
    packed,
    search,
)
from .tools import FRAMED, RECALL, TOOLS, UNFOLD, framed, is_answer, say
from .words import asked_terms

__all__ = [
    "FRAMED",
    "HEADER",
    "RECALL",
    "TOOLS",
    "UNFOLD",
    "Hit",
    "IndexReader",
    "Inquiry",
    "Passage",
    "PassageIndex",
    "PassageSource",
    "Piece",
    "RecallIndex",
    "Stretch",
    "asked_terms",
    "framed",
    "headline",
    "holding",
    "is_answer",
    "packed",
    "passage_text",
    "passages",
    "say",
    "search",
]
