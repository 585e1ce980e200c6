"""Every row of the seeds that time travel answers is answered by a test that carries its id."""

from tests.unit.seeds.test_rows import ELSEWHERE
from tests.unit.test_papers import used


def test_every_row_that_time_travel_answers_has_a_test() -> None:
    carried = {value for _, marker, value in used() if marker == "seed"}
    rows = ELSEWHERE["time travel"].split()
    assert len(rows) == 9
    assert [row for row in rows if row not in carried] == []
