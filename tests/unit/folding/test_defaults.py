"""What holds where nobody says otherwise: a changed default changes every session, so each one is written down here."""

from __future__ import annotations

from contextfold.dialects import Wish
from contextfold.folding import (
    Budget,
    Clear,
    Condense,
    Economy,
    FoldDecision,
    Headroom,
    Ladder,
    Percent,
    Policy,
    Signals,
    TokenLimit,
    Window,
    recipes,
)
from contextfold.folding.importance import Scoring
from contextfold.folding.prune import Prune
from contextfold.models import Model
from contextfold.testing import models


def test_a_policy_by_itself_folds_automatically_and_asks_nobody() -> None:
    policy = Policy("mine", (), ())
    assert (policy.last_resort, policy.door, policy.summarizer, policy.fallback) == ((), None, None, ("extractive",))
    assert (policy.automatic, policy.background, policy.ledger, policy.second_pass) == (True, False, False, False)
    assert (policy.limit, policy.economy, policy.auto_recall, policy.prompt) == (None, None, 0, "")
    assert (policy.native, policy.reasoning) == ("off", "strip")


def test_a_policy_by_itself_has_these_numbers() -> None:
    policy = Policy("mine", (), ())
    assert (policy.timeout, policy.retries, policy.backoff, policy.breaker) == (120.0, 2, 0.5, 3)
    assert (policy.least_gain, policy.asked_goal, policy.overflow_goal, policy.most_rounds) == (64, 0.5, 0.7, 4)
    assert policy.digest_seconds == 2.0


def test_an_economy_by_itself_has_these_numbers() -> None:
    economy = Economy()
    assert (economy.clear_at, economy.summary_at, economy.excess) == (3.0, 1.0, 0.044)
    assert (economy.summary, economy.floor, economy.question, economy.least) == (2_000, 40_000, 500, 1_000)
    assert (economy.model, economy.summaries, economy.each_turn) == (False, True, False)


def test_triggers_by_themselves_have_these_shares() -> None:
    assert (Percent().percent, Percent().goal) == (-1, 0.5)
    assert (Headroom().buffer, Headroom().most_output, Headroom().share, Headroom().goal) == (13_000, 20_000, 0.85, 0.4)
    assert (TokenLimit().tokens, TokenLimit().goal) == (None, 1.0)
    ladder = Ladder()
    assert (ladder.maximum, ladder.warn, ladder.enter, ladder.high, ladder.goal) == (None, 0.6, 0.8, 0.9, 0.7)


def test_strategies_by_themselves_keep_so_much() -> None:
    clear = Clear()
    assert (clear.keep_tokens, clear.keep_results, clear.least_tokens) == (40_000, 3, 1_000)
    assert (clear.least_saving, clear.tools, clear.pays) == (20_000, None, None)
    assert (clear.keep_errors, clear.media, clear.reasoning, clear.leaves_small_sizes) == (True, True, True, False)
    assert (Prune().tail, Prune().gap, Prune().budget) == (0.5, 5, 1_000)
    assert Window() == Window(keep_first=True, keep_last=Window().keep_last, whole_turns=False)
    assert Condense().name == "summary"


def test_scores_by_themselves_have_these_weights() -> None:
    scoring = Scoring()
    assert (scoring.recency, scoring.role, scoring.content) == (0.3, 0.3, 0.4)
    assert (scoring.keyword_bonus, scoring.reuse_bonus) == (0.3, 0.5)


def test_a_decision_and_its_signals_know_of_nothing_else() -> None:
    signals = Signals()
    assert (signals.asked, signals.to, signals.overflow, signals.standing) == (False, None, None, None)
    assert (signals.spent, signals.rests, signals.ahead, signals.compacts_at) == (0, 0, "", 0)
    decision = FoldDecision("send", "", "", 1, 2)
    assert (decision.threshold, decision.goal, decision.is_forced, decision.second, decision.only) == (
        0,
        0,
        False,
        None,
        "",
    )
    assert (Budget(10, 1).fixed, Budget(10, 1).bytes, Budget(10, 1).images, Budget(10, 1).most) == (0, None, None, None)


def test_a_provider_is_asked_for_nothing_by_itself() -> None:
    wish = Wish(Model("m"), 1_000)
    assert (wish.at, wish.made, wish.clears) == (0, frozenset(), False)


def test_the_balanced_recipe_leaves_small_sizes_to_its_digest_unless_a_model_writes_summaries() -> None:
    for summarizer, leaves in ((None, True), (models.raising(), False)):
        policy = recipes.balanced(summarizer=summarizer)
        (clear,) = [stage for stage in policy.stages if isinstance(stage, Clear)]
        assert (clear.keep_tokens, clear.least_tokens, clear.leaves_small_sizes) == (4_000, 200, leaves)
        (condense,) = [stage for stage in policy.stages if isinstance(stage, Condense)]
        assert condense.fills == leaves
