"""The small encoder and what the offline judge makes of it: claims, answers, relevance, embeddings, languages."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.cli import root
from evergold.judge import offline
from evergold.judge.encoder import Array, Encoder, ModelDamaged, WordPieces, shipped_encoder, softmax
from evergold.judge.offline import OfflineJudge, Support, make_offline
from evergold.settings import Settings
from tests.rows import each_row

PROBES = Path(__file__).parent / "probes"
JUDGE = OfflineJudge()


def verdict(claim: str, passage: str) -> str:
    return JUDGE.supports([claim], JUDGE.evidence([passage]))[0].verdict


def test_support_and_refutation_are_told_apart_in_both_languages() -> None:
    passage = "The museum is open from Tuesday to Sunday. Entry costs 12 euros for adults."
    assert verdict("Adults pay 12 euros.", passage) == "supported"
    assert verdict("Adults pay 20 euros.", passage) != "supported"
    spanish = "El museo abre de martes a domingo. La entrada cuesta 12 euros para adultos."
    assert verdict("Los adultos pagan 12 euros.", spanish) == "supported"
    assert verdict("El museo está cerrado los sábados.", spanish) != "supported"


@each_row(
    ("expected", "right", "wrong"),
    [
        ("500 mg of paracetamol", "paracetamol, 500 milligrams", "500 mg of ibuprofen"),
        ("Adobe acquired Figma.", "Figma was bought by Adobe.", "Figma acquired Adobe."),
        (
            "La reunión es el martes a las diez en la sala azul.",
            "Nos reunimos en la sala azul el martes, a las 10.",
            "La reunión es el jueves a las diez en la sala azul.",
        ),
    ],
)
def test_a_right_paraphrase_is_graded_above_a_wrong_copy(expected: str, right: str, wrong: str) -> None:
    assert JUDGE.grade("", expected, right).value > JUDGE.grade("", expected, wrong).value


@pytest.mark.parametrize(("name", "least"), [("measuring", 0.88), ("fresh", 0.85), ("second_measuring", 0.8)])
def test_most_probes_are_graded_on_the_right_side(name: str, least: float) -> None:
    probes = [json.loads(line) for line in (PROBES / f"{name}.jsonl").read_text("utf-8").splitlines()][::2]
    border = offline.shipped_calibration().thresholds["right"]
    right = [
        (JUDGE.grade(probe["question"], probe["expected"], probe["answer"]).value >= border)
        == (probe["verdict"] == "right")
        for probe in probes
    ]
    assert sum(right) / len(right) >= least


def test_statements_about_the_question_are_told_from_others() -> None:
    probes = [json.loads(line) for line in (PROBES / "relevancy_measuring.jsonl").read_text("utf-8").splitlines()]
    border = offline.shipped_calibration().thresholds["relevant"]
    right = [
        (JUDGE.relevance(probe["question"], [probe["statement"]])[0] >= border) == (probe["verdict"] == "relevant")
        for probe in probes
    ]
    assert sum(right) / len(right) >= 0.85


def test_another_language_is_outside_and_never_contradicted() -> None:
    contexts = ["Das Museum ist von Dienstag bis Sonntag geöffnet und der Eintritt kostet zwölf Euro."]
    claim = "Das Museum ist am Montag geöffnet und der Eintritt ist frei."
    (support,) = JUDGE.supports([claim], JUDGE.evidence(contexts))
    assert support.outside and support.verdict != "contradicted"
    (support,) = JUDGE.supports(["東京は日本の首都です。"], JUDGE.evidence(["大阪は日本の首都です。"]))
    assert support.outside and support.verdict != "contradicted"


def test_a_row_is_answered_alike_alone_and_in_a_batch() -> None:
    rows = [("It rains in Oslo.", "Oslo is wet."), ("The shop opens at nine and closes at five.", "It opens at nine.")]
    model = shipped_encoder()
    alone = np.concatenate([model.logits("support", [row]) for row in rows])
    assert np.allclose(model.logits("support", rows), alone, atol=1e-3)


def test_faster_arithmetic_gives_the_numbers_of_the_plain_one() -> None:
    """Plain: every token of every layer, shares by their definition, the whole GELU; dropped tokens go after their layer."""
    model = shipped_encoder()
    long = " ".join(
        f"Bus {number} leaves the harbour at {number % 12 + 1} and returns by noon." for number in range(12)
    )
    rows: dict[str, list[tuple[str, ...]]] = {
        "support": [(long, "Bus 7 leaves at 8."), ("It rains in Oslo.", "Oslo is wet.")],
        "remark": [("When does it leave?", long, "no, at ten", ""), ("Hi", "Hello", "thanks", "")],
    }
    for task, texts in rows.items():
        plain = np.stack([_answer_plainly(model, task, row) for row in texts])
        assert np.allclose(model.logits(task, texts), plain, atol=1e-4)


def _answer_plainly(model: Encoder, task: str, row: tuple[str, ...]) -> Array:
    ids, begin, end = model._encode(task, row)
    read, number = model._weights, np.arange(len(ids))
    asking = (number >= begin) & (number < end)
    words = model._words[ids] * model._word_scale[ids][:, None]
    x = _normal(model, "norm", words + read["places.weight"][number] + read["types.weight"][asking.astype(int)])
    asking[0] = True
    for layer in range(6):
        name = f"layers.{layer}."
        name = f"{task}.{name}" if f"{task}.{name}up.weight" in read else name
        q, k, v = np.split(x @ read[f"{name}qkv.weight"] + read[f"{name}qkv.bias"], 3, axis=1)
        heads = [slice(start, start + 32) for start in range(0, 384, 32)]
        shares = [softmax(q[:, part] @ k[:, part].T) for part in heads]
        mixed = np.concatenate([share @ v[:, part] for share, part in zip(shares, heads, strict=True)], axis=1)
        x = _normal(model, f"{name}norm1", mixed @ read[f"{name}o.weight"] + read[f"{name}o.bias"] + x)
        up = x @ read[f"{name}up.weight"] + read[f"{name}up.bias"]
        gelu = 0.5 * up * (1 + np.tanh(np.sqrt(2 / np.pi) * (up + 0.044715 * up**3)))
        # The weights hold the half of the GELU.
        x = _normal(model, f"{name}norm2", 2 * gelu @ read[f"{name}down.weight"] + read[f"{name}down.bias"] + x)
        if layer == 1 and task == "support":
            looked_at = sum(share[asking].sum(axis=0) for share in shares) + 1e6 * asking
            evidence = int((~asking).sum())
            most = int(asking.sum()) + max(-(-evidence // 2), min(evidence, 32))
            x = x[np.sort(np.argsort(-looked_at)[:most])]
    hidden = np.tanh(x[0] @ read[f"dense.{task}.weight"] + read[f"dense.{task}.bias"])
    answer: Array = hidden @ read[f"out.{task}.weight"] + read[f"out.{task}.bias"]
    return answer


def _normal(model: Encoder, name: str, x: Array) -> Array:
    x = x - x.mean(axis=1, keepdims=True)
    x = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-12)
    normal: Array = x * model._weights[f"{name}.weight"] + model._weights[f"{name}.bias"]
    return normal


def test_embeddings_are_near_for_like_texts_in_both_languages() -> None:
    english = ["how do I reset my password", "cancel my order", "what time does the train leave", "the card was stolen",
               "book a table for dinner", "is it going to rain tomorrow", "what is the capital of France"]  # fmt: skip
    spanish = ["cómo cambio mi clave", "cancelar mi pedido", "a qué hora sale el tren", "me robaron la tarjeta",
               "reservar una mesa para cenar", "va a llover mañana", "cuál es la capital de Francia"]  # fmt: skip
    both = shipped_encoder().embed([*english, *spanish])
    nearest = (both[7:] @ both[:7].T).argmax(axis=1)
    assert sum(nearest == np.arange(7)) >= 4 and np.isclose(np.linalg.norm(both[0]), 1.0)
    one, same, other = shipped_encoder().embed([english[0], "I forgot my password", english[2]])
    assert one @ same > one @ other


def test_damaged_weights_are_named_and_words_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelDamaged, match="cannot be read"):
        Encoder(b"PK\x03\x04 cut off", b"")

    def damaged() -> Encoder:
        raise ModelDamaged("encoder.npz is missing")

    monkeypatch.setattr(offline, "shipped_encoder", damaged)
    judge = OfflineJudge()
    assert judge.supports(["It rains."], judge.evidence(["It rains today in Oslo."]))[0].supported > 0
    assert "encoder.npz is missing" in judge.identity


def test_a_verdict_near_the_threshold_is_uncertain_and_unscored_by_the_strict_judge() -> None:
    border = offline.shipped_calibration().thresholds["supported"]
    assert Support(border + 0.01, 0.0).uncertain and not Support(border + 0.3, 0.0).uncertain
    assert make_offline("strict", Settings()).strict


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_are_judged(one: str, other: str) -> None:
    assert 0 <= JUDGE.grade("", one, other).value <= 1
    assert all(0 <= support.supported <= 1 for support in JUDGE.supports([one], JUDGE.evidence([other])))


@each_row(
    ("text", "ids"),
    [("Playing", [3, 4]), ("plays!", [3, 5, 6]), ("é", [8]), ("中中", [7, 7]), ("xyz", [0]), ("", [])],
)
def test_words_are_cut_into_the_longest_pieces(text: str, ids: list[int]) -> None:
    tasks = {f"[unused{number}]": 9 + number for number in range(4)}
    pieces = WordPieces({"[UNK]": 0, "[SEP]": 2, "play": 3, "##ing": 4, "##s": 5, "!": 6, "中": 7, "e": 8, **tasks})
    assert pieces.ids(text, 10) == ids


@each_row(
    ("text", "outside"),
    [
        ("Le train part à huit heures et il n'y a pas de retard.", True),
        ("Das Museum öffnet nicht um neun.", True),
        ("De winkel is op zondag gesloten.", True),
        ("電車は八時に出発します。", True),
        ("You only need a passport.", False),
        ("Abre de nueve a dos. De 9 a 14 h.", False),
        ("La tienda cierra.", False),
        ("Paracetamol 500 mg", False),
    ],
)
def test_one_sentence_is_enough_to_see_an_unmeasured_language(text: str, outside: bool) -> None:
    assert offline.is_outside(text) is outside


def test_the_command_tries_one_answer_and_shows_its_evidence() -> None:
    runner = CliRunner()
    asked = ["judge", "try", "--metric", "faithfulness", "--answer", "Entry costs 12 euros. Dogs are welcome."]
    made = runner.invoke(root, [*asked, "--context", "The entry costs 12 euros for adults.", "--json"])
    result = json.loads(made.output)
    assert set(result) == {"metric", "value", "verdict", "claims", "language", "outside", "version"}
    supported = [claim["verdict"] == "supported" for claim in result["claims"]]
    assert result["value"] == sum(supported) / 2 and result["claims"][0]["evidence"].startswith("The entry")
    graded = runner.invoke(root, ["judge", "try", "--metric", "correctness", "--answer", "Lima", "--reference", "Lima"])
    assert "correctness 1.00 (right)" in graded.output
    assert all(set(claim) == {"text", "verdict", "p", "evidence"} for claim in result["claims"])
    assert "--reference" in str(
        runner.invoke(root, ["judge", "try", "--metric", "correctness", "--answer", "x"]).exception
    )
