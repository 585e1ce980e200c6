"""The page of a report."""

from __future__ import annotations

from contextfold.replay.values import Report
from contextfold.replay.wording import Lang, words


def as_html(report: Report, lang: Lang = "en") -> str:
    """The whole page."""
    said = words(lang)
    return (
        f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>{said["title"]}</title>{report.files}</html>'
    )
