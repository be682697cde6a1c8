"""What versions of ONNX Runtime lack, test by test: a plugin of pytest for runs with proxy/onnxruntime.

A test that is listed must fail on the versions before the one that is named, and pass on all others; a name that fits no
test is an error. The same facts for users: docs/reference/runtimes.md.
"""

import onnxruntime
import pytest

# test, the first version on which it holds, what the older ones lack
DIFFERENCES = [
    ("test_in_ort.py::test_shape_inference_reaches_the_graph", 17, "no shape inference for custom operators"),
    ("test_in_ort.py::test_an_unknown_dimension_raises_no_warning", 17, "no shape inference for custom operators"),
    ("test_any.py::test_the_shape_is_inferred_beside_them", 17, "no shape inference for custom operators"),
    ("test_any.py::test_the_shape_of_the_first_variadic_output_is_inferred", 17, "no shape inference for custom operators"),
    ("test_fused.py::test_shapes_are_inferred", 17, "no shape inference for custom operators"),
    ("test_node.py::test_options_of_the_session", 24, "kernels are not shown the options of their session"),
    ("test_parameters.py::test_the_shape_of_in_place_is_inferred", 17, "no shape inference for custom operators"),
    ("test_parameters.py::test_the_shape_from_a_constant_is_inferred", 17, "no shape inference for custom operators"),
    ("test_parameters.py::test_what_a_thread_throws_reaches_the_caller", 17, "no threads for custom operators"),
    ("test_storage.py::test_float8", 16, "no 8-bit floats"),
    ("test_storage.py::test_int4", 20, "no 4-bit integers in custom operators"),
    ("test_storage.py::test_ort_reads_int4", 23, "no Cast from 4-bit integers"),
]


def pytest_collection_modifyitems(items):
    minor = int(onnxruntime.__version__.split(".")[1])
    for name, first, lacks in DIFFERENCES:
        found = [item for item in items if name in item.nodeid]
        if not found:
            raise pytest.UsageError(f"tests/matrix/differences.py: no test is named {name}")
        if minor < first:
            for item in found:
                item.add_marker(pytest.mark.xfail(reason=f"before ONNX Runtime 1.{first}: {lacks}", strict=True))


def pytest_sessionfinish(session):
    """The other process must end as it should: it unloads ONNX Runtime and the libraries."""
    codes = onnxruntime.end()
    if any(codes) or not codes:
        print(f"\nthe processes of onnxruntime {onnxruntime.__version__} ended with {codes}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
