"""`evergold serve`: the server, on loopback unless told otherwise."""

import errno
import gc
import socket
import sys
from collections.abc import Callable
from importlib import import_module

import click

from evergold.cli.options import settings_of
from evergold.errors import Refused, Unavailable
from evergold.machine import share_heaps
from evergold.settings import Settings
from evergold.workspace import Workspace

SWITCH_SECONDS = 0.0005  # so long the writer waits for a busy event loop; ten times less than Python's default
YOUNG_OBJECTS = 20_000  # made between two searches for cycles; Python's default of 700 are those of twenty spans
LAST_ANSWER_SECONDS = 11  # after a signal, for requests under way: what waits for a commit is answered before
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.command()
@click.option("--host", help="Address to listen on (default 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (default 8321; 0: any free one).")
@click.pass_context
def serve_command(ctx: click.Context, host: str | None, port: int | None) -> None:
    """Serve REST under /api/v1, OTLP at /v1/traces, and the dashboard."""
    settings = settings_of(ctx, **{"server.host": host, "server.port": port})
    sys.setswitchinterval(SWITCH_SECONDS)
    share_heaps()
    with listen(settings) as listener:
        serve(settings, listener, lambda: click.echo(f"evergold: {url_of(listener)}  (stop with Ctrl-C)"))


def serve(settings: Settings, listener: socket.socket, ready: Callable[[], object]) -> None:
    """Serve until a signal ends it. The workspace is opened first: a database that cannot be used is one line, at once."""
    import uvicorn

    workspace = Workspace.open(settings)
    # Here and not in the app: a new process loads the main module again, which only this program is sure to allow.
    workspace.intake.use_second_process()
    app = import_module("evergold.api.app").create_app(settings, workspace)
    gc.freeze()  # what is loaded by now stays: no search need look at it
    gc.set_threshold(YOUNG_OBJECTS)
    ready()
    connections = import_module("evergold.api.connections")
    config = uvicorn.Config(
        app,
        http=connections.Connection,
        ws="none",
        backlog=connections.ACCEPTED_AT_ONCE,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=LAST_ANSWER_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])


def url_of(listener: socket.socket) -> str:
    """The address a browser opens."""
    address, number = listener.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{number}"


def listen(settings: Settings) -> socket.socket:
    """The socket, bound before anything else is done, so that a taken port costs nothing."""
    if settings.server_host not in LOOPBACK and not settings.server_token:
        raise Refused(
            f"will not listen on {settings.server_host!r} without a token: set EVERGOLD_SERVER_TOKEN, "
            "or use the default 127.0.0.1"
        )
    family = socket.AF_INET6 if ":" in settings.server_host else socket.AF_INET
    # asyncio sends small packets at once only on sockets that name TCP: without it an answer waits 40 ms for its second packet
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # A restart must not wait for the connections of the server before it to time out.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.server_host, settings.server_port))
    except OSError as problem:
        listener.close()
        taken = problem.errno == errno.EADDRINUSE
        advice = "another program uses it; choose one with --port" if taken else "choose another with --host and --port"
        raise Unavailable(
            f"cannot listen on {settings.server_host}:{settings.server_port}: {problem.strerror}; {advice}"
        ) from problem
    listener.listen(2048)
    return listener
