"""A bare gRPC echo over the same TLS: what a message costs where nothing is done with it."""

import asyncio
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time

import grpc
from grpc.aio import ServicerContext, UnaryUnaryMultiCallable, secure_channel, server

from colme.node.trust import Identity, Trust, channel_options, server_options

ECHO_METHOD = "/colme.Echo/Echo"
WARM_UP = 100


def echo_cost(folder: Path, *, size: int, calls: int) -> float:
    """Processor seconds for a call and its answer, both sides together, a process each."""
    names = ("caller", "answerer")
    for name in names:
        Identity.create(name, folder / name, now=datetime.now(UTC))
    context = get_context("spawn")
    here, there = context.Pipe()
    answerer = context.Process(target=_answer, args=(folder, there))
    caller_here, caller_there = context.Pipe()
    caller = context.Process(target=_call, args=(folder, size, calls, caller_there))
    answerer.start()
    caller.start()
    try:
        caller_here.send(here.recv())
        caller_here.recv()  # warmed up
        here.send("begin")
        before = here.recv()
        caller_here.send("begin")
        spent_calling: float = caller_here.recv()
        here.send("end")
        spent_answering: float = here.recv() - before
    finally:
        for process in (caller, answerer):
            process.terminate()
            process.join()
    return (spent_calling + spent_answering) / calls


def _trust(folder: Path, me: str, peer: str) -> Trust:
    pins = {peer: folder / peer / "identity.crt"}
    return Trust(Identity.load(folder / me), folder / me, pins)


def _answer(folder: Path, pipe: Connection) -> None:
    async def echo(request: bytes, _context: ServicerContext[bytes, bytes]) -> bytes:
        return request

    async def serve() -> None:
        handler: grpc.RpcMethodHandler[bytes, bytes]
        handler = grpc.unary_unary_rpc_method_handler(echo)
        answerer = server(options=server_options())
        answerer.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("colme.Echo", {"Echo": handler}),)
        )
        trust = _trust(folder, "answerer", "caller")
        credentials = trust.server_credentials(lambda: None)
        port = answerer.add_secure_port("127.0.0.1:0", credentials)
        await answerer.start()
        pipe.send(port)
        while True:
            await asyncio.to_thread(pipe.recv)
            pipe.send(process_time())

    asyncio.run(serve())


def _call(folder: Path, size: int, calls: int, pipe: Connection) -> None:
    async def call(port: int) -> None:
        credentials = _trust(folder, "caller", "answerer").channel_credentials("answerer")
        message = bytes(size)
        async with secure_channel(f"127.0.0.1:{port}", credentials, channel_options()) as channel:
            echo: UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(ECHO_METHOD)
            for _ in range(WARM_UP):
                await echo(message, timeout=10)
            pipe.send("ready")
            pipe.recv()
            before = process_time()
            for _ in range(calls):
                await echo(message, timeout=10)
            pipe.send(process_time() - before)

    asyncio.run(call(pipe.recv()))
