"""Recall: finding and showing what is folded away, for the model or for a person. Needs no model itself."""

from .encoder import ModelEncoder
from .index import (
    Found,
    IndexReader,
    PassageTerms,
    RecallIndex,
    Sitting,
    ThreadNumbers,
    cut,
    place_of,
    span,
    thread_of,
)
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
from .vectors import PassageEncoder, VectorIndex, small
from .words import asked_terms

__all__ = [
    "FRAMED",
    "HEADER",
    "RECALL",
    "TOOLS",
    "UNFOLD",
    "Found",
    "Hit",
    "IndexReader",
    "Inquiry",
    "ModelEncoder",
    "Passage",
    "PassageEncoder",
    "PassageIndex",
    "PassageSource",
    "PassageTerms",
    "Piece",
    "RecallIndex",
    "Sitting",
    "Stretch",
    "ThreadNumbers",
    "VectorIndex",
    "asked_terms",
    "cut",
    "framed",
    "headline",
    "holding",
    "is_answer",
    "packed",
    "passage_text",
    "passages",
    "place_of",
    "say",
    "search",
    "small",
    "span",
    "thread_of",
]
