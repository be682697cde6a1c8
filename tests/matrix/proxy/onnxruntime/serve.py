"""Serves sessions of the ONNX Runtime that PYTHONPATH puts first, to proxy/onnxruntime of another process.

    serve.py SOCKET

Every connection has a thread, so that the other side's threads meet in ONNX Runtime. Ends, as a program ends that has
loaded operator libraries, when standard input does.
"""

import itertools
import sys
import threading
from multiprocessing.connection import Listener

import onnxruntime
import wire

sessions = {}
numbers = itertools.count()


def load(model, settings, entries, libraries, providers):
    options = onnxruntime.SessionOptions()
    for name, value in settings.items():
        if name == "graph_optimization_level":
            value = getattr(onnxruntime.GraphOptimizationLevel, value)
        setattr(options, name, value)
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    for library in libraries:
        options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(model, options, providers=providers)
    number = next(numbers)
    sessions[number] = session
    return number, *([(v.name, v.shape, v.type) for v in values] for values in (session.get_inputs(), session.get_outputs()))


def run(number, names, feeds):
    found = sessions[number].run(names, {name: wire.unpack(value) for name, value in feeds.items()})
    return [wire.pack(value) for value in found]


def serve(connection):
    work = {"load": load, "run": run, "version": lambda: onnxruntime.__version__}
    while True:
        try:
            unused, name, arguments = connection.recv()
        except EOFError:
            return
        for number in unused:
            del sessions[number]
        try:
            answer = "done", work[name](*arguments)
        except Exception as error:
            answer = "failed", str(error)
        connection.send(answer)


def listen(listener):
    while True:
        threading.Thread(target=serve, args=[listener.accept()], daemon=True).start()


with Listener(sys.argv[1], "AF_UNIX") as listener:
    threading.Thread(target=listen, args=[listener], daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    sessions.clear()
