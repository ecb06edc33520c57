"""A real server that speaks S3 over HTTP, for the tests of this folder."""

from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest

from tests.storage.lossy_proxy import LossyProxy

BUCKET = "golden"


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an empty store with one bucket, named to clients as users name it: by the environment."""
    import s3fs

    ask(s3_address, "/moto-api/reset")
    point_at(monkeypatch, s3_address)
    s3fs.S3FileSystem().mkdir(BUCKET)
    yield s3_address
    ask(s3_address, "/moto-api/reset-auth", b"1000000")
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def lossy(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[LossyProxy]:
    """The same store behind a connection that can be cut."""
    with LossyProxy(int(s3.rsplit(":", 1)[1])) as proxy:
        point_at(monkeypatch, f"http://127.0.0.1:{proxy.port}")
        yield proxy


def point_at(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    import s3fs

    settings = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()


def ask(address: str, path: str, body: bytes = b"") -> None:
    with urlopen(Request(address + path, body, {"Content-Type": "text/plain"}, method="POST")) as answer:
        answer.read()


def stored() -> set[str]:
    """The names of all objects in the bucket."""
    import s3fs

    return {name.removeprefix(f"{BUCKET}/") for name in s3fs.S3FileSystem(use_listings_cache=False).find(BUCKET)}


def unfinished() -> int:
    """How many uploads were begun and neither completed nor given up."""
    import s3fs

    return len(s3fs.S3FileSystem().list_multipart_uploads(BUCKET))
