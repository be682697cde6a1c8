"""Turns arrays into what every Python and every numpy can read, and back."""

import numpy


def pack(array):
    array = numpy.asarray(array)
    if array.dtype == object:  # strings
        return "strings", array.shape, array.ravel().tolist()
    return array.dtype.str, array.shape, array.tobytes()


def unpack(packed):
    kind, shape, data = packed
    if kind == "strings":
        array = numpy.empty(len(data), object)
        array[:] = data
        return array.reshape(shape)
    return numpy.frombuffer(data, kind).reshape(shape).copy()
