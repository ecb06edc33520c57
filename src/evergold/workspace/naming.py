"""Names of files and folders made from names of datasets, which may hold anything: a slash, dots, letters of any script."""

import re

from evergold.model.values import hash_bytes

# A leading dot would hide the file, and `..` would leave the folder.
ODD = re.compile(r"[^\w.-]|^\.")
LONGEST_NAME = 200  # bytes; file systems take 255


def file_name(dataset: str) -> str:
    """The name itself where it is a plain one; any other character is written out, and what is too long ends in a hash."""
    plain = ODD.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode(errors="surrogatepass")), dataset)
    if len(plain.encode()) <= LONGEST_NAME:
        return plain
    return f"{plain.encode()[:100].decode(errors='ignore')}-{hash_bytes(dataset.encode(errors='surrogatepass'))[7:23]}"
