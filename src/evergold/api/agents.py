"""/mcp: the workspace as tools for coding agents, over streamable HTTP, with the tokens and roles of the rest of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from evergold.api.access import check_role
from evergold.api.errors import refusal
from evergold.api.requests import Router
from evergold.errors import BadInput, Refused
from evergold.model.access import LOCAL, Holder, Role

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from evergold.workspace import Workspace


MOST_CALLERS = 100


class Agents:
    """Answers requests of the protocol, each on its own: a server holds no session of an agent, only the tools of each caller."""

    def __init__(self) -> None:
        self._servers: dict[tuple[Workspace, Holder], MCPServer] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_role(Request(scope), Role.READER)
            # The tools of a caller, which are bound to its role when they are made.
            caller = scope["app"].state.workspace, scope.get("evergold.holder", LOCAL)
            if caller not in self._servers:
                from evergold.mcp import make_server

                if len(self._servers) >= MOST_CALLERS:
                    self._servers.clear()
                self._servers[caller] = make_server(caller[0], holder=caller[1])
            server = self._servers[caller]
        except Refused as problem:
            await refusal(problem.status, problem.message)(scope, receive, send)
            return
        except BadInput as problem:  # the extra is not installed
            await refusal(501, problem.message)(scope, receive, send)
            return
        if scope["method"] != "POST":  # a stream of a server's own messages, which there are none of
            await refusal(405, "agents send POST requests to /mcp")(scope, receive, send)
            return
        from mcp.server.transport_security import TransportSecuritySettings

        # Names of hosts are left to the server's own list, which holds for all paths.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        app = server.streamable_http_app(json_response=True, stateless_http=True, transport_security=security)
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)


router = Router()
router.routes.append(Route("/mcp", Agents(), methods=["GET", "POST", "DELETE"], include_in_schema=False))
