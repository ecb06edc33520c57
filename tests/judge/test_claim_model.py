"""The small model: what it says, in which batches, and what happens to damaged files."""

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.judge import offline
from evergold.judge.offline import OfflineJudge
from evergold.judge.small_model import REFUTED, SUPPORTED, ClaimModel, ModelDamaged, WordPieces, shipped_model

PASSAGE = "The library opened in 1974. It is closed on Mondays and lends books to residents without a fee."


def _files() -> tuple[bytes, bytes]:
    folder = files("evergold.judge")
    return folder.joinpath("claim_model.npz").read_bytes(), folder.joinpath("vocabulary.txt").read_bytes()


def test_support_and_refutation_are_told_apart() -> None:
    said = shipped_model().probabilities(
        [(PASSAGE, "The library opened in 1974."), (PASSAGE, "The library opened in 1980."), (PASSAGE, "Cats purr.")]
    )
    assert said[0, SUPPORTED] > 0.8 and said[1, REFUTED] > 0.5 and said[2, SUPPORTED] < 0.2
    assert np.allclose(said.sum(axis=1), 1, atol=1e-5)


def test_a_pair_is_answered_alike_alone_and_in_a_batch() -> None:
    pairs = [(PASSAGE, "The library is free."), (PASSAGE * 20, "It is closed on Mondays."), ("", ""), ("x", "y")]
    together = shipped_model().probabilities(pairs)
    alone = np.concatenate([shipped_model().probabilities([pair]) for pair in pairs])
    assert np.allclose(together, alone, atol=1e-4)


@pytest.mark.parametrize("damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: b"PK" + raw[9:]])
def test_damaged_weights_are_named_and_the_lexical_judge_answers(damage, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    raw, vocabulary = _files()
    with pytest.raises(ModelDamaged):
        ClaimModel(damage(raw), vocabulary)
    monkeypatch.setattr(offline, "shipped_model", lambda: ClaimModel(damage(raw), vocabulary))
    judge = OfflineJudge()
    assert "no claim model" in judge.identity
    found = judge.supports(["The library opened in 1974."], judge.evidence([PASSAGE]))[0]
    assert found.supported > 0.5


def test_a_vocabulary_of_another_version_is_refused_and_the_lexical_judge_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw, vocabulary = _files()
    with pytest.raises(ModelDamaged, match="another version"):
        ClaimModel(raw, vocabulary + b"[new]\n")
    monkeypatch.setattr(offline, "shipped_model", lambda: ClaimModel(raw, vocabulary + b"[new]\n"))
    judge = OfflineJudge()
    assert "no claim model: the vocabulary is of another version than the weights" in judge.identity
    assert judge.supports(["The library opened in 1974."], judge.evidence([PASSAGE]))[0].supported > 0.5


def test_an_identical_sentence_is_surely_supported_and_a_changed_one_is_refuted() -> None:
    judge = OfflineJudge()
    evidence = judge.evidence([PASSAGE])
    same, turned = judge.supports(["The library opened in 1974.", "The library did not open in 1974."], evidence)
    assert same.supported == 1.0 and turned.supported < 0.5 and turned.refuted > 0.5


def test_a_long_text_is_answered() -> None:
    judge = OfflineJudge()
    evidence = judge.evidence([PASSAGE + " filler words stand here." * 8_000])
    assert judge.supports(["The library opened in 1974.", "", "word " * 10_000], evidence)[0].supported == 1.0


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_cut_into_known_pieces(text: str) -> None:
    words = _files()[1].decode().splitlines()
    pieces = WordPieces({word: number for number, word in enumerate(words)})
    assert all(0 <= number < len(words) for number in pieces.ids(text, 50))
    assert len(pieces.ids(text, 5)) <= 5
