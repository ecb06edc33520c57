"""Each kind on the lines that decide it: what is private becomes a placeholder, what only looks so is kept."""

from evergold.redact.default import DefaultRedactor
from tests.rows import each_row

redact = DefaultRedactor(ip_addresses=True).redact


def clean(text: str) -> str:
    return redact(text)[0]


@each_row(
    ("text", "expected"),
    [
        ("Cookie: sid=abc123; theme=dark", "Cookie: sid=[SECRET]; theme=[SECRET]"),
        ("Set-Cookie: sid=abc123; Path=/; Secure", "Set-Cookie: sid=[SECRET]; Path=/; Secure"),
        ("Cookie: Path=/; sid=abc123", "Cookie: Path=/; sid=[SECRET]"),
        ("<password>hunter22</password>", "<password>[SECRET]</password>"),
        ("<password>${PASS}</password>", "<password>${PASS}</password>"),
        ("run --token abcd1234 --verbose", "run --token [SECRET] --verbose"),
        ("run --token --verbose", "run --token --verbose"),
        ("run --password /run/secrets/db", "run --password /run/secrets/db"),
        ("PIN: 4711", "PIN: [SECRET]"),
        ("Account 12, with PIN 1596", "Account 12, with PIN [SECRET]"),
        ("the PIN code 4821 does not work", "the PIN code [SECRET] does not work"),
        ("my name is Ana and pin 0314.", "my name is Ana and pin [SECRET]."),
        ("Pin 1200 tweets, or wire pin 12 to pin 7", "Pin 1200 tweets, or wire pin 12 to pin 7"),
        ("PIN code 560001 is in Bengaluru", "PIN code 560001 is in Bengaluru"),
        ("pin number is 123456", "pin number is [SECRET]"),
        ("пароль: qwerty12", "пароль: [SECRET]"),
        ("密码是abc12345", "密码是[SECRET]"),
        ("パスワードは abcd1234 です", "パスワードは [SECRET] です"),
        ("пароль: нет", "пароль: нет"),
        ("Passwort lautet Sommer2024!", "Passwort lautet [SECRET]"),
        ("mi contraseña es perro", "mi contraseña es perro"),
        ("password = get_password()", "password = get_password()"),
        ("password: required field", "password: required field"),
        ("my password is wrong", "my password is wrong"),
        ("cache_key=9f86d081884c7d659a2feaa0c55ad015", "cache_key=9f86d081884c7d659a2feaa0c55ad015"),
        ("deploy_key=9f86d081884c7d659a2feaa0c55ad015", "deploy_key=[SECRET]"),
        ("secret: the word of the day", "secret: the word of the day"),
    ],
)
def test_values_that_the_word_before_them_makes_secret(text: str, expected: str) -> None:
    assert clean(text) == expected


@each_row(
    ("text", "expected"),
    [
        ("from 203.0.113.7 port 22", "from [IP] port 22"),
        ("http://203.0.113.7/x", "http://[IP]/x"),
        ("127.0.0.1 and 0.0.0.0 and ::1", "127.0.0.1 and 0.0.0.0 and ::1"),
        ("version 1.2.3.4", "version 1.2.3.4"),
        ("lib-1.2.3.4.jar", "lib-1.2.3.4.jar"),
        ("1.2.3.4.5", "1.2.3.4.5"),
        ("pip==1.2.3.4", "pip==1.2.3.4"),
        ("lib/1.2.3.4", "lib/1.2.3.4"),
        ("256.1.1.1", "256.1.1.1"),
        ("to 2001:db8::8a2e:370:7334.", "to [IP]."),
        ("x[1::2] and std::map", "x[1::2] and std::map"),
        ("at 10:30:45", "at 10:30:45"),
    ],
)
def test_addresses_of_other_hosts(text: str, expected: str) -> None:
    assert clean(text) == expected


@each_row(
    ("text", "expected"),
    [
        ("jo [at] example.com", "[EMAIL]"),
        ("jo(at)example(dot)com", "[EMAIL]"),
        ("jo dot doe at example dot com", "[EMAIL]"),
        ("look at example dot com", "look at example dot com"),
        ("jo @ example.com", "[EMAIL]"),
        ("meet @ noon . in", "meet @ noon . in"),
        ("&#106;&#111;&#64;&#101;&#120;&#46;&#105;&#111;", "[EMAIL]"),
        ("&#104;&#101;&#108;&#108;&#111;", "&#104;&#101;&#108;&#108;&#111;"),
        ("jo%40example.com", "[EMAIL]"),
        ("jo&#64;example.com", "[EMAIL]"),
        ('"jo doe"@example.com', "[EMAIL]"),
        ("logo@2x.png", "logo@2x.png"),
        ("git@github.com:a/b.git", "git@github.com:a/b.git"),
        ("jo@localhost", "jo@localhost"),
        ("jo.@example.com", "jo.@example.com"),
        ("..jo@example.com", "..[EMAIL]"),
    ],
)
def test_addresses_of_people(text: str, expected: str) -> None:
    assert clean(text) == expected


@each_row(
    ("text", "expected"),
    [
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [IBAN]"),
        ("DE88 3704 0044 0532 0130 00", "DE88 3704 0044 0532 0130 00"),
        ("de89370400440532013000", "[IBAN]"),
        ("DE89370400440532013000x", "DE89370400440532013000x"),
        ("SSN 270-90-4452", "SSN [ID]"),
        ("part 270-90-4452", "part 270-90-4452"),
        ("PESEL: 44051401359", "PESEL: [ID]"),
        ("44051401359 bytes", "44051401359 bytes"),
        ("DNI 12345678Z", "DNI [ID]"),
        ("आधार 2341 2341 2346", "आधार [ID]"),
        ("आधार 2341 2341 2347", "आधार 2341 2341 2347"),
    ],
)
def test_accounts_and_identities(text: str, expected: str) -> None:
    assert clean(text) == expected


@each_row(
    ("text", "expected"),
    [
        ("ean 4111111111111111", "ean 4111111111111111"),
        ("4222222222222", "4222222222222"),
        ("visa 4222222222222", "visa [CARD]"),
        ("4111-1111 1111-1111", "4111-1111 1111-1111"),
        ("4111111111111111 5500000000000004", "[CARD] [CARD]"),
        ("0.4111111111111111", "0.4111111111111111"),
        ("３７８２８２２４６３１０００５", "[CARD]"),
        ("order 0612345678", "order 0612345678"),
        ("tel 0612345678", "tel [PHONE]"),
        ("+49 30 901820 and more", "[PHONE] and more"),
        ("+49000000", "+49000000"),
        ("+1 415 555 2671 22", "[PHONE] 22"),
        ("06 12 34 56 78", "[PHONE]"),
        ("01 02 03 04 05", "01 02 03 04 05"),
        ("call me at 612 345 678", "call me at [PHONE]"),
        ("94103-1234", "94103-1234"),
        ("电话 13912345678", "电话 [PHONE]"),
    ],
)
def test_cards_and_telephone_numbers(text: str, expected: str) -> None:
    assert clean(text) == expected
