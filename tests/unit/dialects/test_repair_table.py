"""Broken requests beside what becomes of them: the whole body, and what is told of each change, case by case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import contextfold as cf

Case = dict[str, Any]
TABLE = Path(__file__).with_name("repairs.jsonl").read_text(encoding="utf-8")
CASES: list[Case] = [json.loads(line) for line in TABLE.splitlines()]

every = pytest.mark.parametrize("case", CASES, ids=[f"{case['dialect']}: {case['says']}" for case in CASES])


@every
def test_a_broken_request_becomes_what_stands_beside_it(case: Case) -> None:
    found = cf.repair(case["broken"], dialect=case["dialect"])
    assert found.body == case["whole"]
    assert [[each.path, each.rule] for each in found.repairs] == case["notes"]
    assert [[each.path, each.rule] for each in found.problems] == case["left"]


@every
def test_what_was_repaired_needs_no_repair(case: Case) -> None:
    again = cf.repair(case["whole"], dialect=case["dialect"])
    assert (again.body, again.repairs) == (case["whole"], ())


@every
def test_what_a_repair_mends_was_told_as_a_problem(case: Case) -> None:
    problems = cf.validate(case["broken"], dialect=case["dialect"])
    assert bool(problems) is bool(case["notes"] or case["left"])
