"""IP addresses, which are sought only where the setting `redact.ip_addresses` asks for it."""

from collections.abc import Iterator
from ipaddress import ip_address

from evergold.redact.folding import Folded, byte_pattern, matches
from evergold.redact.spans import PrivateSpan

BYTE = rb"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
V4 = byte_pattern(rb"\b" + BYTE + rb"(?:\." + BYTE + rb"){3}\b")
V6 = byte_pattern(rb"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{0,40}:[0-9A-Fa-f.:]{0,20}")
WORD = frozenset(byte for byte in range(128) if chr(byte).isalnum())
PLAIN_BEFORE = frozenset(b" ,;([")


def ip_addresses_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find addresses of hosts other than this one (`127.0.0.1`, `::1`, `0.0.0.0`)."""
    data = folded.data
    if b":" in data:
        for ((start, last),) in matches(V6, data):
            end = start + len(data[start:last].rstrip(b"."))
            host = _stands_apart(data, start, end) and not _is_slice(data, start, end)
            if host and _is_other_host(data[start:end].decode("ascii")):
                yield PrivateSpan("IP", start, end)
    for ((start, end),) in matches(V4, data):
        written = data[start:end]
        if not written.startswith(b"127.") and written != b"0.0.0.0" and _stands_apart(data, start, end):
            yield PrivateSpan("IP", start, end)


def _stands_apart(data: bytes, start: int, end: int) -> bool:
    """Whether it is no part of a longer number, name or version."""
    after = data[end : end + 2]
    if after and (after[0] in WORD or (after[0] in b".-_" and after[1:].isalnum())):
        return False
    before = data[max(0, start - 9) : start]
    if not before or before[-1] in PLAIN_BEFORE:
        return not before.lower().endswith((b"version ", b"snmp "))
    if before[-1] in WORD or before[-1] in b"._-" or before.endswith(b"=="):
        return False
    # `//10.0.0.1` is a URL; `1/10.0.0.1` and `lib/10.0.0.1` are parts of a path or a version.
    return before[-1:] != b"/" or before[-2:-1] == b"/"


def _is_slice(data: bytes, start: int, end: int) -> bool:
    """Whether it is a slice of a sequence, such as `x[1::2]`."""
    numbers = data[start:end].replace(b":", b"")
    return numbers.isdigit() and data[start - 1 : start] == b"[" and data[start - 2 : start - 1].isalnum()


def _is_other_host(written: str) -> bool:
    """Whether it is an address of version 6, and not one of this host."""
    try:
        address = ip_address(written)
    except ValueError:
        return False
    # `a::1` and `::2` may be a slice or a name in code: a host has at least two digits.
    return not (address.is_loopback or address.is_unspecified) and sum(map(str.isdigit, written)) > 1
