"""How a source becomes a library: which compiler, which flags, the cache, and what is said and left when it fails."""

import json
import os
import re
import shlex
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

PROGRAM = "in f32; in f32; add f32 0 1; out 2"


@pytest.fixture
def tool(build, tmp_path):
    """Gives a function that calls emit_program with a cache and a folder for temporary files of its own."""
    (tmp_path / "scratch").mkdir()
    quick = script(tmp_path / "scratch" / "quick", 'exec g++ "$@" -O0\n')  # what is compiled is no matter here

    def call(*arguments, lines=(PROGRAM,), check=0, **environment):
        env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "scratch"), "PARTS": "1",
               "COMPILER": quick, **environment}
        done = subprocess.run([build / "tests/fuse/emit_program", *map(str, arguments)], text=True, capture_output=True, env=env,
                              input="".join(line + "\n" for line in lines), timeout=600)
        assert done.returncode == check, done.stdout + done.stderr
        return done

    return call


def counts(done):
    """Gives how many files were compiled, and how many came out of the cache."""
    return tuple(map(int, re.search(r"(\d+) compiled, (\d+) cached", done.stderr).groups()))


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_flags_are_those_of_graft_add_library(tool, build):
    """flags.txt is their one home; what CMake adds of its own must agree too."""
    commands = {c["file"]: c for c in json.loads((build / "compile_commands.json").read_text()) if "sdk_ops_EXPORTS" in c["command"]}
    source = next(c for f, c in commands.items() if f.endswith("sdk_ops.cc"))
    entry = next(c for f, c in commands.items() if f.endswith("entry.cc"))
    compiler = shlex.split(source["command"])
    ours = [line.split() for line in tool("flags", COMPILER=compiler[1] if "ccache" in compiler[0] else compiler[0]).stdout.splitlines()]

    def words(flags):
        """Leaves out what differs by its nature: the compiler, files, the library's name and domain, the kind of build."""
        flags = [f for f in flags if not f.startswith(("/", "-DGRAFT_DOMAIN", "-Dsdk_ops", "-I")) and not f.endswith((".o", ".cc"))]
        return [f for f in flags if f not in ("-o", "-c", "-isystem", "ccache", "-DNDEBUG", "-g")]

    def last_level(flags):
        return [f for f in flags if re.fullmatch("-O.", f)][-1]

    if "Release" in (build / "CMakeCache.txt").read_text():
        for flags, command in zip(ours, [source, entry]):
            theirs = shlex.split(command["command"])
            assert set(words(flags)) == set(words(theirs)) and last_level(flags) == last_level(theirs)
    linked = re.search(r"LINK_FLAGS = (.*version-script.*)", (build / "build.ninja").read_text()).group(1).split()
    assert ours[2] == ["-shared", "-fPIC", *linked]


def test_cache(tool, tmp_path):
    library, source = tmp_path / "lib.so", tmp_path / "fused.cc"
    assert counts(tool("library", library, source)) == (2, 0)
    first = library.read_bytes()
    assert counts(tool("library", library, source)) == (0, 2)
    assert library.read_bytes() == first
    assert counts(tool("library", library, source, lines=[PROGRAM.replace("add", "sub")])) == (1, 1)
    assert counts(tool("library", library, source, CACHE="0")) == (2, 0)
    # Where the source lies changes nothing: it is not in the object.
    (tmp_path / "elsewhere").mkdir()
    assert counts(tool("library", tmp_path / "elsewhere/lib.so", tmp_path / "elsewhere/fused.cc")) == (0, 2)


def test_a_cache_that_cannot_be_written_is_none(tool, tmp_path):
    (tmp_path / "file").write_text("")
    assert counts(tool("library", tmp_path / "lib.so", tmp_path / "fused.cc", XDG_CACHE_HOME=str(tmp_path / "file"))) == (2, 0)


@pytest.mark.parametrize("rest", [0, 40, -100])
def test_a_kept_file_that_is_cut_short_is_none(rest, tool, tmp_path):
    tool("library", tmp_path / "lib.so", tmp_path / "fused.cc")
    for kept in (tmp_path / "cache/graft").iterdir():
        kept.write_bytes(kept.read_bytes()[:rest])
    assert counts(tool("library", tmp_path / "lib.so", tmp_path / "fused.cc")) == (2, 0)


def test_runs_at_once(tool, tmp_path):
    def one(i):
        return counts(tool("library", tmp_path / f"lib{i}.so", tmp_path / f"fused{i}.cc"))

    with ThreadPoolExecutor(4) as pool:
        assert all(compiled + cached == 2 for compiled, cached in pool.map(one, range(4)))
    names = sorted(p.name for p in (tmp_path / "cache/graft").iterdir())
    assert len(names) <= 5 and all(re.fullmatch(r"[0-9a-f]{32}\.o", n) for n in names)  # each has a source name of its own


def test_error_names_the_file_and_line(tool, tmp_path):
    source, library = tmp_path / "mine.cc", tmp_path / "lib.so"
    library.write_bytes(b"before")
    source.write_text('#include <graft/graft.h>\nstruct F {\n  constexpr auto operator()(auto x) const { return y; }\n};\n'
                      'GRAFT_OPS(m, "d") { m.def<F>("F"); }\n')
    error = tool("compile", library, source, check=1).stderr
    assert error.startswith(f"{source}:3:") and "error:" in error and error.strip().endswith(")") and error.count("\n") == 1
    assert "g++ " in error
    assert library.read_bytes() == b"before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "lib.so", "mine.cc", "scratch"]
    assert [p.name for p in (tmp_path / "scratch").iterdir()] == ["quick"]


def test_error_of_a_part_names_the_whole(tool, tmp_path):
    """A compiler that finds fault with one line of a part: the file that the user has is named, and its line."""
    fake = script(tmp_path / "cc", 'case "$*" in *-dM*) exec g++ "$@";; *entry.cc*) exec g++ "$@";; '
                                   '*) echo "fused.cc:11:3: error: no" >&2; exit 1;; esac\n')
    error = tool("library", tmp_path / "lib.so", tmp_path / "fused.cc", COMPILER=fake, check=1).stderr
    assert error.startswith(f"{tmp_path}/fused.cc:11:3: error: no (g++ ")
    assert not (tmp_path / "lib.so").exists() and [p.name for p in (tmp_path / "scratch").iterdir()] == ["quick"]


def test_no_compiler(tool, tmp_path):
    error = tool("library", tmp_path / "lib.so", tmp_path / "fused.cc", COMPILER="", CXX="no-such-compiler", PATH="/nowhere",
                 check=1).stderr
    for part in ["no-such-compiler is not there", "c++ is not there", "clang++ is not there", "apt install g++", "$CXX"]:
        assert part in error
    assert [p.name for p in (tmp_path / "scratch").iterdir()] == ["quick"]


@pytest.mark.parametrize("answer, text", [
    ('echo "error: unrecognized option -std=c++20" >&2; exit 1', "does not know C++20: g++ 11 or clang++ 14 is the least"),
    ('echo "#define __GNUC__ 10"; echo "#define __GNUC_MINOR__ 2"', "is g++ 10.2.0, too old: g++ 11 is the least"),
    ('echo "#define __GNUC__ 4"; echo "#define __clang__ 1"; echo "#define __clang_major__ 13"', "is clang++ 13.0.0, too old"),
    ("exit 3", "does not work as a C++ compiler"),
    ("true", "is neither g++ nor clang++"),
])
def test_unfit_compiler(answer, text, tool, tmp_path):
    error = tool("library", tmp_path / "lib.so", tmp_path / "fused.cc", COMPILER=script(tmp_path / "cc", answer + "\n"), check=1).stderr
    assert text in error and error.count("\n") == 1


def test_cxx_is_asked_first(tool, tmp_path):
    fake = script(tmp_path / "mycc", f'echo used >> {tmp_path}/used\nexec g++ "$@"\n')
    tool("library", tmp_path / "lib.so", tmp_path / "fused.cc", COMPILER="", CXX=fake)
    assert "used" in (tmp_path / "used").read_text()


def test_sdk_is_missing(tool, tmp_path):
    error = tool("library", tmp_path / "lib.so", tmp_path / "fused.cc", GRAFT_SDK=str(tmp_path), check=1).stderr
    assert "GRAFT_SDK" in error and "include/graft/graft.h" in error


def test_library_cannot_be_written(tool, tmp_path):
    (tmp_path / "lib.so").mkdir()
    error = tool("library", tmp_path / "lib.so", tmp_path / "fused.cc", check=1).stderr
    assert "lib.so" in error and sorted(p.name for p in tmp_path.iterdir()) == ["cache", "fused.cc", "lib.so", "scratch"]
