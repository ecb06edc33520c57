"""Flows of every shape, merged in every way: the base is right or open, and the validator says what the extractor says."""

from pathlib import Path

import pytest

from tests.flow_worlds import find_faults, make_world


def test_extractor_and_validator_agree_on_a_world_of_flows(tmp_path: Path) -> None:
    world = make_world(tmp_path, seed=5, flows=9)
    faults, opened = find_faults(world, tmp_path)
    assert not faults and not opened and len(world.truth) > 9


@pytest.mark.campaign
@pytest.mark.parametrize("seed", [1, 2])
def test_large_worlds_of_flows_have_no_wrong_base(tmp_path: Path, seed: int) -> None:
    world = make_world(tmp_path, seed, flows=110)
    faults, opened = find_faults(world, tmp_path)
    assert not faults and not opened and len(world.truth) > 200
