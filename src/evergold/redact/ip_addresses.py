"""IP addresses, which are sought only where the setting `redact.ip_addresses` asks for it."""

from collections.abc import Iterator
from ipaddress import ip_address

from evergold.redact.folding import Folded, byte_pattern, matches
from evergold.redact.spans import PrivateSpan

V4 = byte_pattern(rb"\b[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\b")
V6 = byte_pattern(rb"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{0,40}:[0-9A-Fa-f.:]{0,20}")
GLUE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-=")
VERSIONS = (b"version", b"v", b"==", b"/")


def ip_addresses_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find addresses of hosts other than this one (`127.0.0.1`, `::1`, `0.0.0.0`)."""
    data = folded.data
    for pattern in (V6, V4):
        for ((start, last),) in matches(pattern, data):
            end = start + len(data[start:last].rstrip(b".:" if pattern is V4 else b"."))
            if _is_address(data, start, end):
                yield PrivateSpan("IP", start, end)


def _is_address(data: bytes, start: int, end: int) -> bool:
    before, after = data[max(0, start - 9) : start], data[end : end + 2]
    glued = (
        before[-1:].isalnum()
        or before[-1:] in (b".", b"_", b"-")
        or before.lower().endswith((b"version ", b"==", b"snmp "))
    )
    if glued or after[:1].isalnum() or (after[:1] in b".-_" and after[1:].isalnum() and after):
        return False
    if before[-1:] == b"/" and before[-2:-1] != b"/":
        return False
    written = data[start:end].decode("ascii")
    if ":" not in written:
        return _is_v4(written.split("."))
    try:
        address = ip_address(written)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified) and sum(map(str.isdigit, written)) > 1


def _is_v4(parts: list[str]) -> bool:
    """Four numbers up to 255 without leading zeros. `ipaddress` says the same at ten times the cost."""
    numbers = [int(part) for part in parts if part == "0" or part[:1] not in ("", "0")]
    return len(parts) == len(numbers) == 4 and max(numbers) <= 255 and numbers[0] != 127 and any(numbers)
