"""A way to a server on this machine that delays each answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def slowed(port: int, seconds: float) -> Iterator[int]:
    """Give a port on which ``port`` answers, ``seconds`` later with each part of an answer."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(_copy(reader, far_writer, 0))
                    both.create_task(_copy(far_reader, writer, seconds))
            finally:
                far_writer.close()
        except* ConnectionError:
            pass  # One side went away: the other sees it by the end of the connection.
        finally:
            writer.close()

    async def end() -> None:
        listening.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    try:
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(forward, "127.0.0.1", 0), loop).result()
        try:
            yield listening.sockets[0].getsockname()[1]
        finally:
            asyncio.run_coroutine_threadsafe(end(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    while part := await reader.read(65_536):
        await asyncio.sleep(seconds)
        writer.write(part)
        await writer.drain()
    writer.write_eof()
