/* The C interface through which an operator library says what it holds, and through which its kernels can be called
 * without ONNX Runtime. It is plain C, so that any language can read it.
 *
 *   const graft_library* library = graft_describe(GRAFT_ABI);
 *   if (library) puts(library->json);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GRAFT_ABI 1u

#ifdef __cplusplus
extern "C" {
#endif

/* A string: any bytes, without a NUL at the end. */
typedef struct graft_string {
  const char* data;
  size_t size;
} graft_string;

/* A tensor. dtype is a number of ONNX's TensorProto.DataType; dtype 0 is an optional input that is left out. The data of
 * strings (dtype 8) are graft_string. */
typedef struct graft_value {
  void* data;
  int32_t dtype;
  int32_t rank;
  const int64_t* shape;
} graft_value;

/* What a caller gives to an entry. Members are only ever appended: a library asks for those that `size` covers. */
typedef struct graft_host {
  uint32_t size; /* sizeof(graft_host) */
  void* state;   /* handed back to the functions below */
  /* Gives the memory of an output that holds no strings; null makes the call fail. */
  void* (*allocate)(void* state, size_t output, int32_t dtype, const int64_t* shape, size_t rank);
  /* Finds an attribute of a type of ONNX's AttributeProto.AttributeType (1 float, 2 int, 3 string, 6 floats, 7 ints,
   * 4 tensor): 1 found, 0 absent, -1 of another type. Data are float, int64_t, const char* for a string, and a graft_value
   * for a tensor. */
  int (*attribute)(void* state, const char* name, int32_t type, const void** data, size_t* count);
  /* Calls task(argument, i) for every i below count, on threads or not. May be null: one thread. */
  void (*parallel_for)(void* state, void (*task)(void*, size_t), size_t count, void* argument);
  /* Receives the reason when a call fails. */
  void (*fail)(void* state, const char* message);
  /* Receives the elements of an output that holds strings, after the call; they live until it returns. Other than 0 makes
   * the call fail. May be null: outputs of strings fail. */
  int (*put_strings)(void* state, size_t output, const graft_string* strings, const int64_t* shape, size_t rank);
  /* Gives an entry of what would be the session's configuration; null when there is none. May be null: reading one fails. */
  const char* (*option)(void* state, const char* key);
} graft_host;

/* One kernel: an operator with one combination of element types. */
typedef struct graft_entry {
  const char* domain;
  const char* name;
  uint32_t overload; /* index into "overloads" of the operator in the JSON text */
  /* Computes once: 0 done, 1 failed (the reason went to host->fail). */
  int (*call)(const struct graft_entry* self, const graft_host* host, const graft_value* inputs, size_t input_count,
              size_t output_count);
} graft_entry;

typedef struct graft_library {
  uint32_t size; /* sizeof(graft_library) */
  uint32_t abi;
  const char* json; /* UTF-8; docs/reference/describe.md */
  const graft_entry* entries;
  size_t entry_count;
} graft_library;

/* Describes the library; null for an ABI that it does not know, or when its operators contradict each other (json says
 * how through RegisterCustomOps). The result lives as long as the library is loaded. */
const graft_library* graft_describe(uint32_t abi);

#ifdef __cplusplus
}
#endif
