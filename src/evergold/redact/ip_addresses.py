"""IP addresses, which are sought only where the setting `redact.ip_addresses` asks for it."""

from collections.abc import Iterator
from ipaddress import ip_address

from evergold.redact.folding import Folded, byte_pattern
from evergold.redact.spans import PrivateSpan

V4 = byte_pattern(rb"\b[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\b")
V6 = byte_pattern(rb"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{0,40}:[0-9A-Fa-f.:]{0,20}")
GLUE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-=")
VERSIONS = (b"version", b"v", b"==", b"/")


def ip_addresses_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find addresses of hosts other than this one (`127.0.0.1`, `::1`, `0.0.0.0`)."""
    data = folded.data
    for pattern in (V6, V4):
        for match in pattern.finditer(data):
            start, end = (
                match.start(),
                match.start() + len(match[0].rstrip(b".:") if pattern is V4 else match[0].rstrip(b".")),
            )
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
    try:
        address = ip_address(written)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified) and (
        address.version == 4 or sum(map(str.isdigit, written)) > 1
    )
