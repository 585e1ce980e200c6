import pytest

from contextfold.errors import BadConfiguration
from contextfold.gateway import ClientPolicy, GatewaySettings, gateway_settings
from contextfold.gateway.door import Visit, client_name, is_compacting
from contextfold.gateway.status import Metrics


def visit(**headers: str) -> Visit:
    sent = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return Visit("POST", b"/v1/messages", b"", sent)


def test_the_nearest_word_about_a_client_and_a_model_holds() -> None:
    settings = gateway_settings(
        {
            "mode": "fold",
            "limit": 100_000,
            "clients": {"codex": {"mode": "observe"}},
            "models": {"small": {"window": 8_000, "mode": "strict"}},
        }
    )
    assert settings.policy_of("codex", "small").mode == "observe"
    assert settings.policy_of("codex", "small").window == 8_000
    assert settings.policy_of("other", "small").mode == "strict"
    assert settings.policy_of("other", "large").limit == 100_000


@pytest.mark.parametrize(
    "table",
    [
        {"mode": "sometimes"},
        {"unknown": 1},
        {"upstreams": {"openai": "ftp://x"}},
        {"upstreams": {"openai": "https://user:secret@x"}},
        {"port": 70_000},
    ],
)
def test_what_cannot_hold_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(BadConfiguration):
        gateway_settings(table)


def test_a_family_is_called_by_the_clients_own_id() -> None:
    assert client_name(visit(x_claude_code_session_id="s1"), "", "first").thread == "claude-code/s1"
    assert (
        client_name(visit(x_claude_code_session_id="s1", x_claude_code_agent_id="a"), "", "").thread
        == "claude-code/s1.a"
    )
    assert client_name(visit(thread_id="t", session_id="s"), "", "").thread == "codex/t"
    assert client_name(visit(user_agent="Anthropic/Python 1.0"), "key-1", "first").thread == "anthropic/key-1"
    assert client_name(visit(user_agent="aider"), "", "first").thread == "aider/first"
    assert client_name(visit(x_contextfold_thread="a b/c"), "", "").thread == "named/a-b-c"
    assert len(client_name(visit(), "x" * 500, "").family) < 80


def test_a_client_says_that_it_compacts() -> None:
    assert is_compacting(visit(x_codex_turn_metadata='{"request_kind":"compaction"}'), b"")
    assert not is_compacting(visit(x_codex_turn_metadata='{"request_kind":"turn"}'), b"Respond with TEXT ONLY")
    assert not is_compacting(visit(x_codex_turn_metadata="no JSON"), b"")
    assert is_compacting(visit(), b'"CRITICAL: Respond with TEXT ONLY."')


def test_metrics_are_text_that_prometheus_reads() -> None:
    metrics = Metrics()
    metrics.add("turns_total", client='od"d\n')
    metrics.add("turns_total", 2, client="aider")
    lines = metrics.text().splitlines()
    assert 'contextfold_gateway_turns_total{client="aider"} 2' in lines
    assert 'contextfold_gateway_turns_total{client="od\\"d\\n"} 1' in lines
    assert "# TYPE contextfold_gateway_under_way gauge" in lines


@pytest.mark.parametrize(
    ("settings", "size", "passes"),
    [
        (GatewaySettings(), 4_000, True),
        (GatewaySettings(), 40_000, False),
        (GatewaySettings(window=2_000), 4_000, False),
        (GatewaySettings(models={"tiny": ClientPolicy(limit=2_000)}), 4_000, False),
        (GatewaySettings(policy="sliding_window"), 4_000, False),
        (GatewaySettings(mode="strict"), 4_000, False),
        (GatewaySettings(mode="observe", window=2_000), 40_000, True),
    ],
)
def test_what_goes_out_unread_fits_whatever_is_in_it(settings: GatewaySettings, size: int, passes: bool) -> None:
    assert settings.passes_at_once(settings.policy_of("any", "any"), size) == passes
