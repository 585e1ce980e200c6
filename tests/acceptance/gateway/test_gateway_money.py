"""What a run costs through the gateway is what `replay` says it costs; `benchmarks.gateway_money` looks at ten more."""

import pytest

from benchmarks import gateway_money
from contextfold.domain import encode
from contextfold.replay.recorded_session import RecordedSession
from contextfold.testing import histories
from contextfold.testing.wire import DialectName
from contextfold.transcripts import Recorded


def generated(format: DialectName) -> RecordedSession:
    said = histories.session(24, tokens=24_000, dialect=format)
    turns = tuple(Recorded(encode(message), (number,)) for number, message in enumerate(said, 1))
    return RecordedSession("generated", "generated", 0, format, "You are a careful engineer.", turns)


# Stand-ins name seqs, whose digits differ by some tokens. In a window of 12,000 one request of the second run has 9,002
# tokens of 9,000 by replay and 8,999 through the gateway, and is folded one request later: that is nobody's mistake.
@pytest.mark.parametrize("window", [11_000, 13_000])
@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_a_run_through_the_gateway_costs_what_replay_says(format: DialectName, window: int) -> None:
    said, driven = gateway_money.both(generated(format), window=window)
    assert said.folds > 0
    assert (driven.requests, driven.refused) == (said.requests, said.refused)
    assert gateway_money.apart(driven.tokens, said.tokens) <= gateway_money.BAR
    assert gateway_money.apart(driven.tally.cost.total, gateway_money.cost_of(said)) <= gateway_money.BAR


@pytest.mark.skipif(not gateway_money.DATA.is_dir(), reason="the recorded sessions are not here")
def test_a_recorded_run_through_the_gateway_costs_what_replay_says() -> None:
    run = next(each for each in gateway_money.long_sessions(10) if each.file.startswith("roo/"))
    said, driven = gateway_money.both(run, gateway_money.WINDOW)
    assert (said.folds > 0, driven.requests) == (True, said.requests)
    assert gateway_money.apart(driven.tokens, said.tokens) <= gateway_money.BAR
    assert gateway_money.apart(driven.tally.cost.total, gateway_money.cost_of(said)) <= gateway_money.BAR
