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

# Reads flags.txt, which `graft fuse` reads too: sets GRAFT_FLAGS_<group>. A flag of several words stays together.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${GRAFT_PACKAGE_DIR}/flags.txt")
function(graft_read_flags)
  file(STRINGS "${GRAFT_PACKAGE_DIR}/flags.txt" lines REGEX "^[a-z]")
  foreach(group IN LISTS ARGN)
    set(flags "")
    foreach(line IN LISTS lines)
      if(line MATCHES "^${group} (.*)$")
        string(REPLACE "@CMAKE@" "${GRAFT_PACKAGE_DIR}" flag "${CMAKE_MATCH_1}")
        if(flag MATCHES " ")
          string(PREPEND flag "SHELL:")
        endif()
        list(APPEND flags "${flag}")
      endif()
    endforeach()
    set(GRAFT_FLAGS_${group} "${flags}" PARENT_SCOPE)
  endforeach()
endfunction()

if(NOT TARGET graft::graft)
  add_library(graft_headers INTERFACE)
  add_library(graft::graft ALIAS graft_headers)
  target_compile_features(graft_headers INTERFACE cxx_std_20)
  target_include_directories(graft_headers INTERFACE "${GRAFT_SOURCE_INCLUDE_DIR}")
  target_include_directories(graft_headers SYSTEM INTERFACE "${GRAFT_ORT_INCLUDE_DIR}")
  graft_read_flags(loops gnu clang)
  target_compile_options(graft_headers INTERFACE ${GRAFT_FLAGS_loops})
  foreach(flag IN LISTS GRAFT_FLAGS_gnu)
    target_compile_options(graft_headers INTERFACE "$<$<CXX_COMPILER_ID:GNU>:${flag}>")
  endforeach()
  foreach(flag IN LISTS GRAFT_FLAGS_clang)
    target_compile_options(graft_headers INTERFACE "$<$<CXX_COMPILER_ID:Clang>:${flag}>")
  endforeach()
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
  graft_read_flags(library entry link)
  # The entry points hold no loops worth the optimiser's time; a smaller library loads faster.
  set_source_files_properties("${GRAFT_PACKAGE_DIR}/entry.cc" PROPERTIES
    COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:${GRAFT_FLAGS_entry}>")
  set_target_properties(${name} PROPERTIES
    PREFIX "lib"
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  # The optimiser is what makes an operator fast: a build without a build type gets it too.
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:${GRAFT_FLAGS_library}>)
  if(arg_DOMAIN)
    target_compile_definitions(${name} PRIVATE "GRAFT_DOMAIN=\"${arg_DOMAIN}\"")
  endif()
  if(UNIX AND NOT APPLE)
    if(GRAFT_SANITIZE)  # a sanitizer's runtime is found in the process that loads the library
      list(REMOVE_ITEM GRAFT_FLAGS_link -Wl,--no-undefined)
    endif()
    target_link_options(${name} PRIVATE ${GRAFT_FLAGS_link})
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${GRAFT_PACKAGE_DIR}/exports.map")
  endif()
endfunction()
