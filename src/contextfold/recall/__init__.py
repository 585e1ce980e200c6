"""Recall: finding and showing what is folded away, for the model or for a person. Needs no model itself."""
