// The version of Graft; its one home.
#pragma once

#define GRAFT_VERSION "0.1.0"
