"""docs/errors.md is what the doctor answers, and the texts of ONNX Runtime are known, the old ones too."""

import json

import onnxruntime
import pytest

from doctor.error_page import ROWS, answer, page

# Texts as people paste them, of several ages, and the cause.
TEXTS = {
    "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:Unsupported model IR version: 11, max supported IR version: 10": "ir_version_too_new",
    "Load model from m.onnx failed:Unknown model file format version.": "ir_version_too_new",
    "Missing model IR version.": "ir_version_missing",
    "Error No opset import for domain 'my.ops'": "import_missing",
    "No Opset registered for domain my.ops": "import_missing",
    "No opset registered for domain my.ops in function F": "import_missing",
    "Fatal error: my.ops:MyRelu(-1) is not a registered function/op": "library_not_registered",
    "Fatal error: com.microsoft:NewThing(-1) is not a registered function/op": "op_not_in_library",
    "No Op registered for MyRelu with domain_version of 17": "op_in_default_domain",
    "No Op registered for Gelu with domain_version of 17": "op_newer_than_import",
    "Could not find an implementation for Relu(14) node with name ''": "no_kernel_for_dtype",
    "Could not find an implementation for the node Relu_1:Relu(14)": "no_kernel_for_dtype",
    "Failed to find kernel for Relu(6) (node r)": "no_kernel_for_dtype",
    "No registered implementation for node": "no_kernel_for_dtype",
    "No attribute with name:'alpha'is defined.": "attribute_missing",
    "Required attribute 'to' is missing.": "attribute_missing",
    "Attribute name and type don't match": "attribute_type",
    "Mismatched attribute type in ' : alpha'. Expected: 'FLOAT', actual: 'INT'": "attribute_type",
    "Unrecognized attribute: axes for operator ReduceMean": "attribute_unknown",
    "Failed to load library ./a.so with error: ./a.so: cannot open shared object file: No such file or directory": "library_missing",
    "Failed to load library ./a.so with error: libfoo.so.1: cannot open shared object file: No such file or directory": "dependency_missing",
    "Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: cannot open shared object file: No such file or directory": "dependency_missing",
    "./a.so: undefined symbol: OrtGetApiBase": "links_onnxruntime",
    "Failed to get symbol RegisterCustomOps with error: ./a.so: undefined symbol: RegisterCustomOps": "entry_point_missing",
    "./a.so: undefined symbol: _Z3foov": "symbol_undefined",
    "The requested API version [99] is not available, only API versions [1, 32] are supported in this build. Current ORT Version is: 1.32.0": "runtime_too_old",
    "Type Error: Type 'tensor(double)' of input parameter (x) of operator (MyRelu) in node () is invalid.": "dtype_not_supported",
    "Type parameter (T) of Optype (Add) bound to different types (tensor(float) and tensor(double) in node ().": "types_disagree",
    "Node input 'nope' is not a graph input, initializer, or output of a previous node.": "dangling_input",
    "Graph output (q) does not exist in the graph.": "output_not_produced",
    "Duplicate definition of name (y).": "duplicate_value",
    "This is an invalid model. Error: two nodes with same node name (n).": "duplicate_node_name",
    "Type (tensor(float16)) of output arg (a) of node () does not match expected type (tensor(float)).": "stale_value_info",
    "External data path validation failed for initializer: w. Error: External data path does not exist": "external_data_missing",
    "GetFileLength for ./w.bin failed:open file ./w.bin fail, errcode = 2": "external_data_missing",
    "External initializer: w offset: 0 size to read: 24 given file_length: 20 are out of bounds or can not be read in full.": "external_data_short",
    "Opset 99 is under development and support for this is limited. ... Current official support for domain ai.onnx is till opset 28.": "opset_too_new",
    "This is an invalid model. Error: the graph is not acyclic.": "cycle",
    "Model local function definitions must not be recursive. Cycle detected: blocks:F": "function_recursion",
    "[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : Load model from m.onnx failed:Protobuf parsing failed.": "not_a_model",
    "[ONNXRuntimeError] : 3 : NO_SUCHFILE : Load model from m.onnx failed:Load model m.onnx failed. File doesn't exist": "model_missing",
    "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider names.": "provider_missing",
    "[E:onnxruntime:Default, provider_bridge_ort.cc:1992] Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*.": "provider_fails",
    "CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version ; GPU=0": "provider_fails",
    "Segmentation fault (core dumped)": "library_crashes",
    "Domain already set in registry": "domain_twice",
    "Error Node with schema(::Relu:14) has input size 2 not in range [min=1, max=1].": "input_count",
}


@pytest.mark.parametrize("text", TEXTS)
def test_pasted_text(text, run_graft):
    report = json.loads(run_graft("doctor", "--error", text, "--json", check=1).stdout)
    assert [cause["code"] for cause in report["causes"]] == [TEXTS[text]] and report["schema"] == "graft.doctor/1"
    assert report["causes"][0]["evidence"] and report["causes"][0]["cure"]


def test_pasted_text_that_is_not_known(run_graft):
    done = run_graft("doctor", "--error", "the moon is full", check=1)
    assert "[unexplained]" in done.stdout and "graft doctor MODEL" in done.stdout


def test_words_of_several_lines(run_graft):
    text = "Traceback (most recent call last):\n  File \"a.py\", line 3\nonnxruntime...Fail: [ONNXRuntimeError] : 1 : FAIL :\nUnsupported model IR version: 99,\nmax supported IR version: 14"
    assert "[ir_version_too_new]" in run_graft("doctor", "--error", text, check=1).stdout


def test_the_page_is_what_the_doctor_answers(graft, library, case_ops, root):
    assert (root / "docs/errors.md").read_text() == page(graft, library, case_ops, onnxruntime.__version__), (
        "docs/errors.md is stale: run .venv/bin/python tests/doctor/error_page.py, and read what has changed"
    )


def test_own_words_are_recognised(graft, library, case_ops, run_graft):
    """What ONNX Runtime says of each row leads to a cause that the doctor names for it, or to one that hides behind the same words."""
    same_words = {"import_version", "op_not_in_library", "library_not_registered", "provider_missing", "no_kernel_for_dtype", "library_crashes", "runtime_too_old"}
    for row in (row for rows in ROWS.values() for row in rows):
        what, made, options, files = row
        report = json.loads(answer(graft, made, options, files, library, case_ops, "--json")[1])
        if report["text"] and made is not None and "says nothing" not in what:
            causes = {cause["code"] for cause in report["causes"]}
            known = json.loads(run_graft("doctor", "--error", report["text"], "--json").stdout)["causes"][0]["code"]
            unclear = {"library_missing", "library_refused", "external_data_pointer"} & causes
            assert known in causes or {known, *causes} <= same_words or unclear, (what, known, causes)
