"""Stands in for the package onnxruntime, and works in the version that GRAFT_TEST_RUNTIME names.

With its folder in PYTHONPATH, a test that imports onnxruntime runs its sessions in a process of that version, while it
makes its models with the newest onnx: versions before 1.19 want numpy 1, and onnx wants numpy 2. It offers what the
tests of operators use, and nothing else.
"""

import atexit
import collections
import os
import subprocess
import sys
import tempfile
import threading
from multiprocessing.connection import Client
from pathlib import Path
from types import SimpleNamespace

from . import wire

__version__ = os.environ["GRAFT_TEST_RUNTIME"]
HERE = Path(__file__).resolve().parent
TREE = HERE.parents[3] / ".cache/onnxruntime" / __version__


class Died(Exception):
    """Tells that the process of the other version is no more."""


class Server:
    """Is a process of the other version."""

    def __init__(self):
        if not (TREE / "onnxruntime").is_dir():  # it would take whatever other version it finds
            raise ImportError(f"{TREE} is missing: run scripts/setup.sh or scripts/matrix.sh")
        self.folder = tempfile.TemporaryDirectory(prefix="graft-runtime-")
        self.address = os.path.join(self.folder.name, "socket")
        self.said = open(os.path.join(self.folder.name, "stderr"), "w+b")
        self.lock = threading.Lock()
        self.connections = threading.local()
        self.unused = collections.deque()  # sessions that nobody refers to any more
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "serve.py"), self.address],
            env={**os.environ, "PYTHONPATH": str(TREE)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
        )
        started = self.process.stdout.readline() == b"ready\n"
        version = self.ask("version") if started else None
        if version != __version__:
            self.forward()
            raise ImportError(f"onnxruntime {__version__} did not start from {TREE} (got {version}): run scripts/matrix.sh")

    def ask(self, name, *arguments):
        try:
            if not hasattr(self.connections, "own"):
                self.connections.own = Client(self.address, "AF_UNIX")
            drop = [self.unused.popleft() for _ in range(len(self.unused))]
            self.connections.own.send((drop, name, arguments))
            outcome, answer = self.connections.own.recv()
        except (EOFError, OSError):
            self.forward()
            raise Died(f"onnxruntime {__version__} ended with {self.process.wait(60)} in {name}") from None
        self.forward()
        if outcome == "failed":
            raise RuntimeError(answer)
        return answer

    def forward(self):
        """Shows what the other process wrote to standard error where this one does."""
        with self.lock:
            text = self.said.read()
            if text:
                os.write(2, text)

    def end(self):
        """Lets the process end, and gives its exit code."""
        if self.process.poll() is None:
            self.process.stdin.close()
        code = self.process.wait(60)
        self.forward()
        return code


server = None
ended = []  # exit codes


def running():
    global server
    if server is not None and server.process.poll() is not None:
        end()
    if server is None:
        server = Server()
    return server


@atexit.register
def end():
    """Ends the other process and gives the exit codes of all there were."""
    global server
    if server is not None:
        ended.append(server.end())
        server = None
    return ended


class GraphOptimizationLevel:
    ORT_DISABLE_ALL = "ORT_DISABLE_ALL"
    ORT_ENABLE_BASIC = "ORT_ENABLE_BASIC"
    ORT_ENABLE_EXTENDED = "ORT_ENABLE_EXTENDED"
    ORT_ENABLE_ALL = "ORT_ENABLE_ALL"


class SessionOptions:
    def __init__(self):
        self._libraries = []
        self._entries = {}

    def add_session_config_entry(self, key, value):
        self._entries[key] = value

    def register_custom_ops_library(self, library):
        self._libraries.append(library)


class InferenceSession:
    def __init__(self, model, sess_options=None, providers=("CPUExecutionProvider",)):
        settings = {k: v for k, v in vars(sess_options or SessionOptions()).items() if not k.startswith("_")}
        libraries = sess_options._libraries if sess_options else []
        entries = sess_options._entries if sess_options else {}
        self._server = running()
        self._number, *described = self._server.ask("load", model, settings, entries, libraries, list(providers))
        self._inputs, self._outputs = (
            [SimpleNamespace(name=n, shape=s, type=t) for n, s, t in values] for values in described)

    def get_inputs(self):
        return self._inputs

    def get_outputs(self):
        return self._outputs

    def run(self, names, feeds):
        packed = {name: wire.pack(value) for name, value in feeds.items()}
        return [wire.unpack(value) for value in self._server.ask("run", self._number, names, packed)]

    def __del__(self):
        # Only noted: this may come in the middle of another request.
        if hasattr(self, "_number"):
            self._server.unused.append(self._number)
