"""Values that stand where a secret could and are none."""

from evergold.redact.secrets import is_code, is_placeholder
from tests.rows import each_row


@each_row(
    "value",
    [
        b"string",
        b"None",
        b"REQUIRED",
        b"changeme",
        b"[secret]",
        b"wrong.",
        b"your_password",
        b"YOUR-API-KEY",
        b"my_secret",
        b"enter_password",
        b"token_here",
        b"********",
        b"xxxx",
        b"XXXX-XXXX",
        b"....",
        b"<password>",
        b"%PASSWORD%",
        b"$DB_PASS",
        b"${DB_PASS}",
        b"{{ secrets.token }}",
        b"@password",
        b"\x82\x82\x82\x82",
        b"testpassword",
        b"securepassword",
        b"-supersecret",
        b"ChangeMe!",
    ],
)
def test_a_placeholder_is_known(value: bytes) -> None:
    assert is_placeholder(value)


@each_row(
    "value",
    [
        b"testx8Kq",
        b"testpwd_123",
        b"password123",
        b"test-api-key-123456",
        b"micontrase\xf1a123",
        b"Secret77",
        b"password9347",
        b"admin",
        b"securedoor",
        b"hunter22",
        b"s3cr3t!",
        b"xK9",
        b"correcthorse",
        b"mysql_r00t",
        b"x" * 4 + b"7",
        b"<open",
        b"yes!" * 40,
    ],
)
def test_what_may_be_a_secret_is_no_placeholder(value: bytes) -> None:
    assert is_placeholder(value) == (value == b"<open")


@each_row("value", [b"os.environ", b"settings.db.password", b"db_password", b"getToken", b"SecretKey"])
def test_a_name_that_a_program_looks_up_is_code(value: bytes) -> None:
    assert is_code(value)


@each_row("value", [b"hunter22", b"abc1_def", b"plain", b"a..b", b"3.14", b"TOKEN", b"x-y"])
def test_a_value_that_no_program_would_look_up_is_not_code(value: bytes) -> None:
    assert not is_code(value)
