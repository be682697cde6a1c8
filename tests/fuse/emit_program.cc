// Reads programs, a line each, and writes the source of a library that holds them, for the tests.
//
//   emit_program SOURCE [DOMAIN] < programs        # prints the operators' names, a line each
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "fuse/emit.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<graft::fuse::Operator> operators;
  std::set<std::string> taken;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    graft::fuse::Operator op;
    op.program = graft::fused::read_program(line);
    op.name = graft::fuse::name_for(op.program, taken);
    op.where = {"somewhere"};
    std::printf("%s\n", op.name.c_str());
    operators.push_back(op);
  }
  std::ofstream(argv[1]) << graft::fuse::write_source(argc > 2 ? argv[2] : "test.fused", operators, "model.onnx");
  return 0;
}
