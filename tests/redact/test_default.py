import json

from hypothesis import given
from hypothesis import strategies as st

from evergold.redact.default import HINTS, KINDS, DefaultRedactor, is_card, numbers_in
from evergold.redact.fields import FIELDS, MOST_REMEMBERED, FieldRedactor, Keys
from evergold.redact.spans import fold_digits, without_overlaps
from tests.rows import each_row

redact = DefaultRedactor().redact


@each_row(
    ("text", "clean", "found"),
    [
        ("write to jo.do+x@ex-ample.co.uk now", "write to [EMAIL] now", {"EMAIL": 1}),
        ("a@b.io, c@d.org", "[EMAIL], [EMAIL]", {"EMAIL": 2}),
        ("card 4111 1111 1111 1111 12/28", "card [CARD] 12/28", {"CARD": 1}),
        ("378282246310005", "[CARD]", {"CARD": 1}),
        ("5500-0000-0000-0004 or 4111111111111111.", "[CARD] or [CARD].", {"CARD": 2}),
        ("call +34 612 345 678 today", "call [PHONE] today", {"PHONE": 1}),
        ("(415) 555-2671", "[PHONE]", {"PHONE": 1}),
        ("or 415-555-2671, or 415.555.2671", "or [PHONE], or [PHONE]", {"PHONE": 2}),
        ("key sk-proj-abcDEF1234567890abcd end", "key [SECRET] end", {"SECRET": 1}),
        ("AKIAIOSFODNN7EXAMPLE", "[SECRET]", {"SECRET": 1}),
        ("ghp_" + "a1" * 18, "[SECRET]", {"SECRET": 1}),
        ("Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer [SECRET]", {"SECRET": 1}),
        ('password="hunter22"', 'password="[SECRET]"', {"SECRET": 1}),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [SECRET]", {"SECRET": 1}),
        ("SECRET_KEY: django-1nsecure", "SECRET_KEY: [SECRET]", {"SECRET": 1}),
        ("postgres://app:pa55@db/x", "postgres://app:[SECRET]@db/x", {"SECRET": 1}),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
            "[SECRET]",
            {"SECRET": 1},
        ),
    ],
)
def test_private_things_become_typed_placeholders(text: str, clean: str, found: dict[str, int]) -> None:
    assert redact(text) == (clean, found)


@each_row(
    "text",
    [
        "2024-01-02 10:30 and 1999-12-31",
        "order 1234567890123 of batch 20260101",
        "4111-1111-1111-1112 fails the Luhn check",
        "192.168.100.200",
        "123e4567-e89b-12d3-a456-426614174000",
        "1700000000000000000 ns",
        "the token: a word or part of one",
        "pass the secret santa list to @jo",
        "def f(x): return x @ y",
        "3.14159265358979",
        "0.4111111111111111,-0.4111111111111111",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == (text, {})


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, {})


PRIVATE = st.sampled_from(["jo@example.com", "sk-abcdefghijklmnop1234", "+34 612 345 678", "4111 1111 1111 1111"])


@given(st.lists(st.tuples(st.sampled_from(["\n", "\t", " ", '"', "\\", "é "]), PRIVATE), max_size=4))
def test_a_text_that_is_json_stays_json(parts: list[tuple[str, str]]) -> None:
    document = {"text": ", ".join(before + private for before, private in parts)}
    clean, found = redact(json.dumps(document))
    text = json.loads(clean)["text"]
    assert not any(private in text for _, private in parts)
    assert found.total() == len(parts)


LETTERS = st.sampled_from(["josé", "用户", "иван", "jo", "zhang"])
PLACES = st.sampled_from(["exämple.de", "例子.公司", "пример.рф", "example.com"])


@given(
    st.lists(st.tuples(st.sampled_from(["\n", " ", "—", '"', "\\", "😀"]), LETTERS, PLACES), min_size=1, max_size=3),
    st.integers(1, 3),
)
def test_addresses_with_any_letters_leave_json_readable_however_deep(
    parts: list[tuple[str, str, str]], depth: int
) -> None:
    text: str = ", ".join(f"{before}{who}@{where}" for before, who, where in parts)
    for _ in range(depth):
        text = json.dumps(text)
    clean, found = redact(text)
    assert found == {"EMAIL": len(parts)}
    for _ in range(depth):
        clean = json.loads(clean)
    assert "@" not in clean


def test_keys_are_redacted_and_kept_apart() -> None:
    cleaner = FieldRedactor(DefaultRedactor(), FIELDS)
    told = {"users": {"jo@example.com": 1, "[EMAIL]": 2, "al@example.com": {"bo@example.org": "x"}}, "n": {7: "y"}}
    clean = cleaner.clean({"metadata": told})["metadata"]
    assert clean == {"users": {"[EMAIL]#2": 1, "[EMAIL]": 2, "[EMAIL]#3": {"[EMAIL]": "x"}}, "n": {7: "y"}}
    assert cleaner.counts == {"EMAIL": 3}
    assert cleaner.clean({"metadata": clean}) == {"metadata": clean}


def test_a_key_tells_what_its_value_is() -> None:
    cleaner = FieldRedactor(DefaultRedactor(), FIELDS)
    told = {
        "password": "correct horse battery",
        "phone": "4155552671",
        "order_id": "4155552671",
        "api_key": {"type": "x"},
    }
    assert cleaner.clean({"attributes": told})["attributes"] == {
        "password": "[SECRET]",
        "phone": "[PHONE]",
        "order_id": "4155552671",
        "api_key": {"type": "x"},
    }
    assert cleaner.counts == {"SECRET": 1, "PHONE": 1}


def test_records_with_a_private_key_are_suspected_each() -> None:
    cleaner = FieldRedactor(DefaultRedactor(), FIELDS)
    records = [
        {"a": {"jo@example.com": 1}},
        {"a": {"b": "plain enough"}},
        [{"jo@example.com": 2}],
        {"password": "hunter22"},
    ]
    assert cleaner.find_suspected(records) == {0, 2, 3}


def test_what_is_known_of_keys_does_not_grow_without_end() -> None:
    keys = Keys(DefaultRedactor())
    for start in range(0, 3 * MOST_REMEMBERED, 1000):
        assert not keys.any_private({f"key-{number:x}-of" for number in range(start, start + 1000)})
        assert keys.any_private({"plain", "jo@example.com"})


def test_luhn() -> None:
    assert is_card("4111111111111111") and not is_card("4111111111111112") and not is_card("1" * 16)


PIECES = st.sampled_from(
    [
        "jo@example.com",
        "https://app:pa55@db/x",
        "password",
        "api_key",
        "auth-token",
        " : ",
        '\\"=',
        "'=\t",
        "hunter22",
        "Bearer ",
        "sk-",
        "eyJ",
        "abcdefgh",
        "a1B2.",
        "+/",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "4111 1111",
        "+34 612",
        "josé@exämple.de",
        "用户@例子.公司",
        "tel. ",
        "(030) ",
        "0171/",
        "\u00a0",
        "Authorization: Basic ",
        "345-678",
        "2026-01-02",
        "é",
        "\u3053",
        "\U0001f600",
        "\\n",
        ", ",
        " ",
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_hints_miss_nothing_that_a_kind_finds(text: str) -> None:
    kinds = [kind.find for kind in KINDS]
    every = without_overlaps(find(fold_digits(text)) for find in (*kinds, numbers_in))
    assert list(DefaultRedactor().suspicious(text)) == [span.start for span in every]


@given(st.lists(st.lists(PIECES, max_size=5).map("".join), max_size=6))
def test_texts_looked_at_together_are_found_one_by_one(texts: list[str]) -> None:
    cleaner = FieldRedactor(DefaultRedactor(), FIELDS)
    private = {number for number, text in enumerate(texts) if redact(text)[1]}
    assert private <= cleaner.find_suspected([[text] for text in texts])


@each_row("country", ["ad", "ae", "ba", "be", "de", "ee"])
def test_an_id_in_hex_is_not_even_suspected_to_be_a_bank_account(country: str) -> None:
    assert not HINTS.Match(f"chatcmpl-{country}12a4f6789012c456 session-{country}99".encode())
