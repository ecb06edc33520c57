"""Objects in replies, addresses of models, prices, and vectors of an endpoint."""

import base64
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.calls.embeddings import BATCH, EmbeddingTarget, batches, case_of, vectors_of
from evergold.calls.endpoints import (
    PUBLIC_URL,
    Endpoint,
    local_endpoint,
    openai_endpoint,
    parse_object,
    without_key,
)
from evergold.errors import BadInput, Unavailable
from evergold.prices import cost
from evergold.settings import Settings
from tests.rows import each_row


@each_row(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('  {"a": 1}\n', {"a": 1}),
        ('{"a": 1} and some words', {"a": 1}),
        ('Here it is:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ('```JSON  \r\n{"a": 1}\n  ```', {"a": 1}),
        ('The answer is {"a": {"b": []}}.', {"a": {"b": []}}),
        ('```json\n{"a": 1}', {"a": 1}),
        ("[1, 2]", None),
        ('[{"a": 1}]', {"a": 1}),
        ("5", None),
        ("", None),
        ("{", None),
        ("{{{{", None),
        ('{"a": ', None),
        ("[" * 100_000, None),
    ],
)
def test_an_object_is_read_whole_in_a_fence_or_after_words(text: str, value: Any) -> None:
    assert parse_object(text) == value


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4), st.booleans())
def test_any_object_survives_its_fence(value: dict[str, Any], fenced: bool) -> None:
    import json

    text = json.dumps(value)
    assert parse_object(f"```json\n{text}\n```" if fenced else f"Sure: {text}") == value


@given(st.text(max_size=60))
def test_no_reply_makes_reading_fail(text: str) -> None:
    assert parse_object(text) is None or isinstance(parse_object(text), dict)


def openai_variables(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@each_row(
    ("settings", "environ", "expected"),
    [
        (Settings(), {"OPENAI_API_KEY": "k"}, Endpoint("m", PUBLIC_URL, "k", "openai")),
        (Settings(), {"OPENAI_BASE_URL": "http://x/v1/"}, Endpoint("m", "http://x/v1", "none", "")),
        (
            Settings(model_base_url="http://own/v1", model_api_key="mine"),
            {"OPENAI_BASE_URL": "http://x/v1", "OPENAI_API_KEY": "k"},
            Endpoint("m", "http://own/v1", "mine", ""),
        ),
    ],
)
def test_a_setting_wins_over_the_environment(
    settings: Settings, environ: dict[str, str], expected: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_variables(monkeypatch, **environ)
    assert openai_endpoint("m", settings) == expected


def test_the_public_api_without_a_key_is_refused_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    openai_variables(monkeypatch)
    with pytest.raises(Unavailable, match="no key for openai/m: set OPENAI_API_KEY"):
        openai_endpoint("m", Settings())


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(BadInput, match="a model name is missing after openai/"):
        openai_endpoint("", Settings())


@each_row(
    ("endpoint", "identity"),
    [
        (Endpoint("m", PUBLIC_URL, "k", "openai"), "openai/m"),
        (Endpoint("m", "http://x/v1", "k"), "openai/m at http://x/v1"),
        (Endpoint("smollm2", "http://127.0.0.1:5/v1", "none", "local"), "local/smollm2"),
    ],
)
def test_an_identity_never_holds_the_key(endpoint: Endpoint, identity: str) -> None:
    assert endpoint.identity == identity


def test_a_server_of_ones_own_has_no_known_price(monkeypatch: pytest.MonkeyPatch) -> None:
    openai_variables(monkeypatch)
    assert without_key("m", Settings()).provider == "openai"
    assert without_key("m", Settings(model_base_url="http://x")).provider == ""


def test_an_unknown_local_model_is_answered_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match=r"unknown local model 'llama'.*smollm2"):
        local_endpoint("llama")


@each_row(("provider", "model"), [("", "gpt-4o"), ("openai", "nobody-knows-this"), ("nobody", "x")])
def test_a_price_that_nobody_knows_is_null(provider: str, model: str) -> None:
    assert cost(provider, model, 10, 10) is None


def test_known_prices_grow_with_tokens_and_local_models_are_free() -> None:
    small, large = cost("openai", "gpt-4o", 10, 10), cost("openai", "gpt-4o", 20, 20)
    assert small is not None and large is not None and 0 < small < large
    assert cost("local", "smollm2", 10, 10) == 0.0


def reply(*vectors: list[float], order: list[int] | None = None) -> Any:
    rows = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return {"data": [rows[at] for at in order or range(len(rows))], "usage": {"prompt_tokens": 7}}


TARGET = EmbeddingTarget(Endpoint("e", "http://x/v1", "none"))


def test_vectors_are_put_in_the_order_of_their_texts_and_scaled_to_length_one() -> None:
    attempt = TARGET._read(case_of(["a", "b"]), 0, reply([3.0, 4.0], [0.0, 2.0], order=[1, 0]))
    np.testing.assert_allclose(vectors_of(attempt), [[0.6, 0.8], [0.0, 1.0]], rtol=1e-6)
    assert (attempt.usage.input_tokens, attempt.usage.cost) == (7, None)
    assert len(base64.b64decode(attempt.metadata["vectors"]["float32"])) == 2 * 2 * 4


def test_a_vector_of_zeros_stays_zeros() -> None:
    np.testing.assert_array_equal(vectors_of(TARGET._read(case_of(["a"]), 0, reply([0.0, 0.0]))), [[0.0, 0.0]])


@each_row(
    "made",
    [
        reply([1.0]),
        reply([1.0], [1.0, 2.0]),
        reply(),
        {},
        None,
        {"data": 5},
        {"data": [{"index": 0, "embedding": "no"}]},
    ],
)
def test_a_reply_that_does_not_fit_its_texts_is_malformed(made: Any) -> None:
    attempt = TARGET._read(case_of(["a", "b"]), 0, made)
    assert attempt.error_class == "malformed" and "2 texts were sent" in str(attempt.error)


@each_row(("count", "sizes"), [(0, []), (1, [1]), (BATCH, [BATCH]), (BATCH + 1, [BATCH, 1])])
def test_texts_are_embedded_in_batches(count: int, sizes: list[int]) -> None:
    assert [len(batch) for batch in batches(["x"] * count)] == sizes


def test_the_same_texts_are_the_same_case() -> None:
    assert case_of(["a", "b"]) == case_of(("a", "b")) and case_of(["a"]).id != case_of(["b"]).id
