"""OTLP over HTTP: `unpack_body` removes the content encoding within limits; `protobuf` and `json` read wire spans and logs.

A body is unpacked piece by piece and given up as soon as it passes the limit, so a small gzip bomb
never becomes a large one in memory.
"""

import zlib

from evergold.errors import BadInput, TooLarge, Unsupported
from evergold.sources.spans import Wire

GZIP = 31  # zlib's window bits that say: expect a gzip header
CHUNK, FED = 1 << 20, 1 << 14
# Empty members cost time and no bytes: without a limit a small body could hold millions of them.
MOST_MEMBERS = 1000


def wire_of(content_type: str | None) -> Wire:
    """Which of the two it is; parameters such as a charset are tolerated."""
    name = (content_type or "").split(";", 1)[0].strip().lower()
    if name in ("application/x-protobuf", "application/protobuf"):
        return Wire.PROTOBUF
    if name == "application/json":
        return Wire.JSON
    raise Unsupported(f"content type {name or '(none)'} is not OTLP; send application/x-protobuf or application/json")


def unpack_body(body: bytes, encoding: str | None, limit: int) -> bytes:
    """The body without its content encoding, refused once it is larger than `limit` bytes."""
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        if len(body) > limit:
            raise TooLarge(f"the body has {len(body)} bytes; at most {limit} are taken: send smaller batches")
        return body
    if name != "gzip":
        raise Unsupported(f"content encoding {name!r} is not supported; send gzip or none")
    return _gunzip(body, limit)


def _gunzip(body: bytes, limit: int) -> bytes:
    """Unpack member after member; a gzip stream may have several, one after the other."""
    pieces: list[bytes] = []
    size = at = 0
    for _ in range(MOST_MEMBERS):
        member = zlib.decompressobj(GZIP)
        rest = b""
        while not member.eof:
            # Fed in pieces, because what follows a member is copied: of a whole body that would be all of it, each time.
            fed = rest or body[at : at + FED]
            at += 0 if rest else len(fed)
            if not fed:
                raise BadInput("the gzip body ends too early; send it again")
            try:
                piece = member.decompress(fed, CHUNK)
            except zlib.error as error:
                raise BadInput(f"the body is not valid gzip: {error}") from None
            size += len(piece)
            if size > limit:
                raise TooLarge(f"the body unpacks to more than {limit} bytes: send smaller batches")
            rest = member.unconsumed_tail
            pieces.append(piece)
        # What the last piece held behind the end of the member is read again as the beginning of the next.
        at -= len(member.unused_data)
        if at >= len(body):
            return b"".join(pieces)
    raise TooLarge(f"the gzip body has more than {MOST_MEMBERS} members; compress it as one")
