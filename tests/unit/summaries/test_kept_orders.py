"""The share of hidden orders that recorded sessions keep: provenance costs none of it."""

from __future__ import annotations

import pytest

from benchmarks import retention
from benchmarks.harness import folded, is_here, part
from benchmarks.spoken import hidden_orders, live_orders


@pytest.mark.finding("K8")
@pytest.mark.skipif(not is_here(), reason="needs the recorded sessions and their measure in ../shared")
def test_orders_inside_results_and_commands_stay_in_recorded_sessions() -> None:
    measure = part("retention")
    hidden, live = [0, 0], [0, 0]
    for run in retention.loaded().values():
        if run.tokens < retention.LIMITS[0] * 9 // 8 or not hidden_orders(run.messages):
            continue
        measure.annotate(run)
        for series, at, _, size in retention.boundaries(run):
            if series in ("real", retention.SPOKEN) and hidden_orders(run.messages[:at]):
                view = folded(run.messages[:at], size, series)
                for total, orders in ((hidden, hidden_orders), (live, live_orders)):
                    there, kept = measure.sentence_kept(orders(run.messages[:at]), view)[0]
                    total[0], total[1] = total[0] + there, total[1] + kept
    assert hidden[0] >= 79
    assert 100 * hidden[1] >= retention.HIDDEN * hidden[0]
    assert 100 * live[1] >= retention.LIVE * live[0]
