"""What the contract of a game brings along."""

from __future__ import annotations

import pytest
from sixledger.engine.game import competition_ranking


@pytest.mark.parametrize(
    ("scores", "low_is_good", "ranks"),
    [
        ((10, 3, 3, 0), True, (4, 2, 2, 1)),  # N-B13: seat 3 wins
        ((100, 9, 20), True, (3, 1, 2)),  # N-B14
        ((70, 30, 30), True, (3, 1, 1)),  # N-B12
        ((5, 5, 1), False, (1, 1, 3)),
        ((-1, 0, -1), False, (2, 1, 2)),
        ((7, 7), True, (1, 1)),
    ],
)
def test_equal_scores_share_a_rank_and_the_next_one_is_left_out(
    scores: tuple[int, ...], low_is_good: bool, ranks: tuple[int, ...]
) -> None:
    assert competition_ranking(scores, low_is_good=low_is_good) == ranks
