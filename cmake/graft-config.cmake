# The CMake package `graft`: the header-only target graft::graft and the one verb that builds an operator library.
#
#   find_package(graft REQUIRED)
#   graft_add_library(my_ops DOMAIN my.ops leaky_relu.cc roll.cc)      # libmy_ops.so, ready for `graft inject --library`
include_guard(GLOBAL)

get_filename_component(GRAFT_PACKAGE_DIR "${CMAKE_CURRENT_LIST_DIR}" ABSOLUTE)
get_filename_component(GRAFT_SOURCE_INCLUDE_DIR "${GRAFT_PACKAGE_DIR}/../include" ABSOLUTE)

# ORT's C API, headers only: nothing links ONNX Runtime.
find_path(GRAFT_ORT_INCLUDE_DIR onnxruntime_c_api.h
  HINTS
    "${GRAFT_PACKAGE_DIR}/../.cache/onnxruntime/include"
    "${ONNXRUNTIME_ROOT}" "$ENV{ONNXRUNTIME_ROOT}"
  PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session onnxruntime onnxruntime/core/session
  DOC "Folder that holds onnxruntime_c_api.h")
if(NOT GRAFT_ORT_INCLUDE_DIR)
  message(FATAL_ERROR
    "graft: onnxruntime_c_api.h was not found. Run scripts/setup.sh, install the ONNX Runtime headers "
    "(Debian: libonnxruntime-dev), or set ONNXRUNTIME_ROOT to an unpacked ONNX Runtime release.")
endif()

if(NOT TARGET graft::graft)
  add_library(graft_headers INTERFACE)
  add_library(graft::graft ALIAS graft_headers)
  target_compile_features(graft_headers INTERFACE cxx_std_20)
  target_include_directories(graft_headers INTERFACE "${GRAFT_SOURCE_INCLUDE_DIR}")
  target_include_directories(graft_headers SYSTEM INTERFACE "${GRAFT_ORT_INCLUDE_DIR}")
  # What the loops need so that the compiler widens them (docs/design.md, "Loops that the compiler widens").
  # None of these changes a result's meaning: infinities, NaN and signed zero stay.
  target_compile_options(graft_headers INTERFACE
    -fno-math-errno -fno-trapping-math -ffp-contract=fast -fopenmp-simd
    $<$<CXX_COMPILER_ID:GNU>:-fno-thread-jumps>
    "$<$<CXX_COMPILER_ID:Clang>:-mprefer-vector-width=512>"
    "$<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>"  # double functions call the standard library, and need not widen
    # clang does not inline a long functor into its loop, flatten or not.
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-mllvm -inline-threshold=20000>")
endif()

# graft_add_library(<name> [CUDA] [DOMAIN <domain>] <source>...)
#
# Builds lib<name>.so from operator files. It exports RegisterCustomOps and graft_describe and nothing else, and links
# neither ONNX Runtime nor anything of Graft's. DOMAIN is what GRAFT_OPS(m) without a domain registers under.
function(graft_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA" "DOMAIN" "")
  if(arg_CUDA)
    message(FATAL_ERROR "graft_add_library(${name} CUDA ...): this version of Graft builds for the CPU only")
  endif()
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "graft_add_library(${name}): no source files were given")
  endif()
  add_library(${name} MODULE ${arg_UNPARSED_ARGUMENTS} "${GRAFT_PACKAGE_DIR}/entry.cc")
  target_link_libraries(${name} PRIVATE graft::graft)
  target_compile_definitions(${name} PRIVATE GRAFT_SEPARATE_ENTRY)
  # The entry points hold no loops worth the optimiser's time; a smaller library loads faster.
  set_source_files_properties("${GRAFT_PACKAGE_DIR}/entry.cc" PROPERTIES COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O2>")
  set_target_properties(${name} PROPERTIES
    PREFIX "lib"
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  # The optimiser is what makes an operator fast: a build without a build type gets it too.
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
  if(arg_DOMAIN)
    target_compile_definitions(${name} PRIVATE "GRAFT_DOMAIN=\"${arg_DOMAIN}\"")
  endif()
  if(UNIX AND NOT APPLE)
    # Hidden visibility still lets weak std:: symbols through; a version script does not.
    target_link_options(${name} PRIVATE
      "LINKER:--version-script=${GRAFT_PACKAGE_DIR}/exports.map" LINKER:--gc-sections)
    if(NOT GRAFT_SANITIZE)  # a sanitizer's runtime is found in the process that loads the library
      target_link_options(${name} PRIVATE LINKER:--no-undefined)
    endif()
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${GRAFT_PACKAGE_DIR}/exports.map")
  endif()
endfunction()
