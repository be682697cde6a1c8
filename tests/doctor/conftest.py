"""Operator libraries that are wrong in one way each, compiled once."""

import subprocess

import pytest


@pytest.fixture(scope="session")
def library(root, tmp_path_factory):
    """Gives a function that compiles libraries/library.cc with a name defined, "" for the right one."""
    folder = tmp_path_factory.mktemp("libraries")
    headers = root / ".cache/onnxruntime/include"
    made = {}

    def compile_library(define="", links=()):
        if define not in made:
            file = folder / f"lib{define.lower() or 'raw'}.so"
            flags = [f"-D{define}"] if define else []
            source = root / "tests/doctor/libraries/library.cc"
            subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-w", *flags, "-isystem", headers, source, "-o", file, *links], check=True)
            made[define] = file
        return made[define]

    def get(define=""):
        if define != "LACKS_DEPENDENCY":
            return compile_library(define)
        dependency = compile_library("DEPENDENCY", ["-Wl,-soname,libgraft_absent.so.1"])
        return compile_library(define, [str(dependency)])

    return get
