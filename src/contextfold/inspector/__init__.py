"""The inspector: a page that shows what the model saw, what was folded and why, and takes it back with one click."""

from __future__ import annotations

from .access import Access
from .app import ROUTES, Health, Inspector
from .routes import description
from .stores import OpenStores

__all__ = ["ROUTES", "Access", "Health", "Inspector", "OpenStores", "description"]
