"""A report as one HTML file that needs nothing else: no script, no font, no picture from outside."""

from .page import as_html

__all__ = ["as_html"]
