"""Runs a model once, in the ONNX Runtime that PYTHONPATH puts first, and keeps its outputs.

    run_model.py MODEL INPUTS.npz OUTPUTS.npz [LIBRARY]

Prints JSON: the version of ONNX Runtime, and how many nodes of each operator it ran. Needs nothing but that and the
numpy it was made for.
"""

import collections
import json
import os
import sys

import numpy
import onnxruntime


def main(model, inputs, outputs, library=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_profiling = True
    options.profile_file_prefix = os.path.splitext(outputs)[0]
    if library:
        options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    with numpy.load(inputs) as given:
        found = session.run(None, dict(given))
    numpy.savez(outputs, **{output.name: value for output, value in zip(session.get_outputs(), found)})

    with open(session.end_profiling()) as file:
        kernels = [event for event in json.load(file) if event["name"].endswith("_kernel_time")]
    ran = collections.Counter(kernel["args"]["op_name"] for kernel in kernels)
    print(json.dumps({"version": onnxruntime.__version__, "ran": ran}))


main(*sys.argv[1:])
