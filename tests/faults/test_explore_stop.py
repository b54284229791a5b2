"""`colme explore` ends when it is interrupted, quietly, whatever is open or computed then."""

import signal
import subprocess
import sys

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin


def test_an_interruption_ends_it_while_a_page_is_open_and_plays() -> None:
    command = [sys.executable, "-m", "colme", "explore", "--port", "0", "--no-open"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        host = address.removeprefix("http://").rstrip("/")
        origin = Origin(f"http://{host}")
        with connect(f"ws://{host}/socket", origin=origin, proxy=None) as page:
            page.send('{"do": "choose", "choices": {"agents": 9}}')
            page.recv(timeout=60)
            page.send('{"do": "play", "rate": 30}')
            page.recv(timeout=60)
            process.send_signal(signal.SIGINT)
            try:
                while page.recv(timeout=60):
                    pass
            except ConnectionClosed:
                pass
        _, said = process.communicate(timeout=60)
    assert said == ""
    assert process.returncode == 0
