"""Text that may stand in an XML file: reports for CI systems quote whatever a case says."""

import re

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """XML has no way to write most control characters; each becomes a replacement character."""
    return _NOT_XML.sub("�", text)
