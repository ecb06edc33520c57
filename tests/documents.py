"""Documents for tests: small PDFs written by hand, so that a page's text is known to the letter."""

from collections.abc import Sequence
from pathlib import Path


def write_pdf(path: Path, pages: Sequence[Sequence[str]]) -> Path:
    """A PDF whose pages show these lines. Nothing but the objects a reader needs."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = " T* ".join(f"({line}) Tj" for line in (_escaped(line) for line in lines))
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode("latin-1")
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} /Contents {5 + 2 * number} 0 R >>"
        objects += [page.encode(), b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream)]
    path.write_bytes(_file(objects))
    return path


def write_locked_pdf(path: Path, password: str) -> Path:
    """A PDF that opens with a password only."""
    from pypdf import PdfReader, PdfWriter

    plain = write_pdf(path.with_suffix(".plain"), [["Nobody reads this."]])
    writer = PdfWriter()
    for page in PdfReader(plain).pages:
        writer.add_page(page)
    writer.encrypt(password, algorithm="RC4-128")
    with path.open("wb") as out:
        writer.write(out)
    plain.unlink()
    return path


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _file(objects: Sequence[bytes]) -> bytes:
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(data))
    return data + head + table + end
