"""A real redis-server on a free port of the loopback, which can be killed, paused and emptied."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.support.require import require_redis

SHARED_URL: Final = "TESTS_REDIS_URL"
"""In the environment: where a child process finds the server that its parent has started."""

BUSY: Final = "Address already in use"


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class RedisServer:
    """One server, whose files are in `folder`; it keeps its port when it is started again.

    `encrypted`: it speaks nothing but TLS, with the certificate that the options name.
    """

    def __init__(self, folder: Path, *options: str, encrypted: bool = False) -> None:
        self.folder = folder
        self.port = free_port()
        self._options = options
        self._encrypted = encrypted
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"{'rediss' if self._encrypted else 'redis'}://127.0.0.1:{self.port}/0"

    def start(self) -> "RedisServer":
        """Start it, and return when it takes connections."""
        binary = require_redis()
        for _ in range(5):
            ports = ["--port", str(self.port)]
            if self._encrypted:
                ports = ["--port", "0", "--tls-port", str(self.port)]
            command = [binary, *ports, "--bind", "127.0.0.1"]
            command += ["--dir", str(self.folder), "--save", "", *self._options]
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
            )
            assert self._process.stdout is not None
            said = ""
            for line in self._process.stdout:
                said += line
                if "Ready to accept connections" in line:
                    return self
            self._process.wait(10)
            assert BUSY in said, said
            self.port = free_port()
        raise AssertionError("no port is free")

    def pause(self) -> None:
        """It keeps its connections, and answers nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """It is gone, without a word. What its persistence has written stays."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(10)
            assert process.stdout is not None
            process.stdout.close()

    def empty(self) -> None:
        """Throw away what it has written. While it is down only."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)


def shared_url() -> str:
    """The URL of a server for all tests of this process, and of their children."""
    if SHARED_URL not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="canvas-redis-"))
        server = RedisServer(folder).start()
        os.environ[SHARED_URL] = server.url
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(server.kill)
    return os.environ[SHARED_URL]
