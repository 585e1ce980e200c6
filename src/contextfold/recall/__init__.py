"""Recall: finding and showing what is folded away, for the model or for a person. Needs no model itself."""

from .index import RecallIndex, number_of
from .search import Passage, PassageSource, Stretch, headline, packed, search

__all__ = ["Passage", "PassageSource", "RecallIndex", "Stretch", "headline", "number_of", "packed", "search"]
