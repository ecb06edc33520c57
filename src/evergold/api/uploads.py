"""/uploads and /samples: what fills an empty workspace from the browser."""

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.api.who import Who
from evergold.model.uploads import Upload, Uploaded

router = Router(prefix="/api/v1", tags=["uploads"])


@router.post("/uploads", status_code=201)
def upload_file(workspace: Opened, upload: Upload, who: Who) -> Uploaded:
    """Read the text of a file of traces or cases, in any text format we read."""
    return workspace.uploads.take(upload, who)


@router.post("/samples", status_code=201)
def add_samples(workspace: Opened) -> Uploaded:
    """Store the sample traces of a support assistant; the same again changes nothing."""
    return workspace.uploads.sample()
