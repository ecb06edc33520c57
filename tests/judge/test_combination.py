"""How model and words are combined: with thresholds of the calibration, on input of any kind."""

import asyncio

import pytest

from evergold.judge.offline import OfflineJudge, Support
from evergold.judge.relevance import shipped_relevance
from evergold.judge.small_model import REFUTED, SUPPORTED
from evergold.judge.support import EvidenceSearch, claim_features, shipped_combination, shipped_thresholds
from evergold.model.judging import Question
from evergold.text.words import Text
from tests.rows import each_row

JUDGE = OfflineJudge()


@pytest.mark.parametrize("claim", ["The budget rises by ten percent.", "Parks get more money next year."])
def test_a_surer_model_never_lowers_the_probability(claim: str) -> None:
    evidence = EvidenceSearch(["The budget for parks rises by ten percent.", "It was agreed on Monday."])
    row = claim_features(Text(claim), evidence)
    given = [shipped_combination().probability(row, (p, 1 - p, 0.0), 2) for p in (0.01, 0.2, 0.5, 0.8, 0.99)]
    assert given == sorted(given) and given[0] < 0.5 < given[-1]


def test_missing_words_count_more_the_longer_the_evidence_is_and_not_at_all_in_a_few_sentences() -> None:
    row = claim_features(Text("Parks got 12 new benches from Mary Smith."), EvidenceSearch(["The budget rises."]))
    given = [shipped_combination().probability(row, (0.7, 0.3, 0.0), count) for count in (1, 3, 8, 20, 60, 600)]
    assert given[0] == given[1] > given[2] > given[3] > given[4] == given[5]


def test_verdicts_have_thresholds_of_their_own() -> None:
    thresholds = shipped_combination().thresholds
    assert set(thresholds) == {"supported", "refuted"} and thresholds["supported"] != thresholds["refuted"]
    evidence = JUDGE.evidence(["The bridge was opened in 1932 and is open every day."])
    found = {claim: JUDGE.supports([claim], evidence)[0] for claim in ("The bridge was opened in 1950.", "Cats purr.")}
    assert [one.verdict for one in found.values()] == ["contradicted", "not_found"]
    assert (SUPPORTED, REFUTED) == (0, 2)


def test_each_metric_has_a_threshold_of_its_own_and_its_verdicts_obey_it(monkeypatch: pytest.MonkeyPatch) -> None:
    supported = shipped_combination().thresholds["supported"]
    assert Support(supported, 0.0, {}).verdict == "supported"
    assert Support(supported - 0.01, 0.0, {}).verdict == "not_found"
    least = [supported, shipped_relevance().thresholds["vectors"], *shipped_thresholds().values()]
    # That of support and that of equal arguments happen to be the same number.
    assert len(set(least)) >= len(least) - 1
    inputs = {"expected": "The bridge was opened in 1932.", "contexts": ["In 1932 the bridge was opened to traffic."]}
    for useful, verdict in ((0.0, "useful"), (1.1, "not_useful")):
        changed = {"useful_support": useful, "useful_coverage": useful}
        monkeypatch.setattr("evergold.judge.offline.shipped_thresholds", lambda changed=changed: changed)
        question = Question(task="context_verdicts", inputs=inputs, prompt="", answer_schema={"properties": {}})
        data = asyncio.run(JUDGE.ask(question)).data
        assert data is not None and data["verdicts"][0]["verdict"] == verdict


@each_row(
    ("context", "right", "wrong"),
    [
        ("東京は日本の首都です。人口は約千四百万人です。", "東京は日本の首都です", "大阪は中国の古い港町である"),
        (
            "Москва является столицей России. Её население 13 миллионов.",
            "Москва столица России.",
            "Париж стоит на Сене.",
        ),
        ("العاصمة هي القاهرة وهي مدينة كبيرة.", "العاصمة هي القاهرة", "باريس تقع في فرنسا الجميلة"),
        ("กรุงเทพเป็นเมืองหลวงของไทย", "กรุงเทพเป็นเมืองหลวง", "ช้างชอบกินผลไม้"),
        ("Run `let x = frob(7) in bar` to begin.", "let x = frob(7) in bar", "let x = frob(8) in bar"),
        ("```zig\nconst n: u32 = list.len;\n```", "const n: u32 = list.len;", "const n: u64 = list.cap;"),
    ],
)
def test_scripts_and_languages_the_model_cannot_read_are_left_to_words_and_tokens(
    context: str, right: str, wrong: str
) -> None:
    one, other = JUDGE.supports([right, wrong], JUDGE.evidence([context]))
    assert one.supported > 0.5 > other.supported


@each_row("claim", ["", " ", "?!", "\x00", "...", "the of and"])
@each_row("contexts", [[], [""], ["the of and in a"], ["Bread is made of flour."]])
def test_empty_claims_and_contexts_of_function_words_get_an_answer(claim: str, contexts: list[str]) -> None:
    (found,) = JUDGE.supports([claim], JUDGE.evidence(contexts))
    assert 0 <= found.supported <= 1 and found.verdict in ("supported", "contradicted", "not_found")


@each_row("text", ["a" * 300_000, "word " * 60_000, "字" * 100_000], ids=["one word", "words", "no spaces"])
def test_a_long_text_is_judged(text: str) -> None:
    (small,) = JUDGE.supports(["Bread is made of flour."], JUDGE.evidence([text, "Bread is made of flour."]))
    assert small.supported == 1.0
    (large,) = JUDGE.supports([text], JUDGE.evidence(["Bread is made of flour."]))
    assert large.supported < 0.5
