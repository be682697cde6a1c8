"""Operator libraries that are right or wrong in one way each, compiled once."""

import subprocess

import pytest


class LibraryMaker:
    """Compiles libraries/library.cc with a name defined, "" for the library that is right."""

    def __init__(self, root, folder):
        self.root, self.folder, self.made = root, folder, {}

    def __call__(self, define=""):
        if define == "LACKS_DEPENDENCY":
            return self.compile(define, [str(self.compile("DEPENDENCY", ["-Wl,-soname,libgraft_absent.so.1"]))])
        return self.compile(define)

    def compile(self, define, links=()):
        if define not in self.made:
            file = self.folder / f"lib{define.lower() or 'raw'}.so"
            flags = [f"-D{define}"] if define else []
            source = self.root / "tests/doctor/libraries/library.cc"
            headers = self.root / ".cache/onnxruntime/include"
            subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-w", *flags, "-isystem", headers, source, "-o", file, *links], check=True)
            self.made[define] = file
        return self.made[define]


@pytest.fixture(scope="session")
def library(root, tmp_path_factory):
    """Gives the function that compiles a library."""
    return LibraryMaker(root, tmp_path_factory.mktemp("libraries"))
