"""What is shipped for running the gateway elsewhere says what it must; that it runs is not shown here."""

import tomllib
from pathlib import Path

from contextfold.gateway import gateway_settings

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_container_runs_without_root_and_with_a_read_only_root() -> None:
    image, compose = (DEPLOY / "Dockerfile").read_text(), (DEPLOY / "compose.yaml").read_text()
    assert "USER 10001" in image.split("FROM")[-1]
    assert "read_only: true" in compose
    assert '"127.0.0.1:8787:8787"' in compose


def test_the_containers_settings_are_settings() -> None:
    settings = gateway_settings(tomllib.loads((DEPLOY / "contextfold.toml").read_text())["gateway"])
    settings.check_reach()
    assert settings.host == "0.0.0.0"  # noqa: S104  # inside a container


def test_the_unit_reloads_by_hangup_and_waits_for_requests_to_finish() -> None:
    unit = (DEPLOY / "contextfold.service").read_text()
    assert "ExecReload=/bin/kill -HUP $MAINPID" in unit
    assert "TimeoutStopSec=45" in unit
