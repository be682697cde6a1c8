#include "fuse/view.h"

namespace graft::fuse {

int View::add_value(ViewValue value) {
  values_.push_back(std::move(value));
  return static_cast<int>(values_.size()) - 1;
}

int View::add_node(ViewNode node) {
  const int id = static_cast<int>(nodes_.size());
  for (const int input : node.inputs) {
    if (input < 0) continue;
    std::vector<int>& readers = values_[static_cast<size_t>(input)].readers;
    if (readers.empty() || readers.back() != id) readers.push_back(id);
  }
  for (const int output : node.outputs) {
    if (output >= 0) values_[static_cast<size_t>(output)].producer = id;
  }
  nodes_.push_back(std::move(node));
  return id;
}

}  // namespace graft::fuse
