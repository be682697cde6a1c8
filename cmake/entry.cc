// The entry points of an operator library: RegisterCustomOps and graft_describe. graft_add_library compiles this file into
// every library, so that the operator files need not.
#undef GRAFT_SEPARATE_ENTRY
#include <graft/graft.h>
