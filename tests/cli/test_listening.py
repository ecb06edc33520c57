"""The socket that `evergold serve` listens on."""

import asyncio
import socket

from evergold.cli.serve import listen
from evergold.settings import Settings


def test_answers_do_not_wait_for_the_acknowledgement_of_their_first_packet() -> None:
    async def accepted() -> int:
        option: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            option.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listen(Settings(server_port=0)) as listener:
            async with await asyncio.start_server(note, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                writer.close()
                return await option

    assert asyncio.run(accepted()) != 0
