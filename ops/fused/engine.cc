#include "engine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "graft/broadcast.h"
#include "graft/elementwise.h"

namespace graft::fused {
namespace {

/// Is what buffers may take of the first cache; as much again is left to inputs and outputs.
constexpr size_t kTileBytes = 16 * 1024;
constexpr int64_t kLongestTile = 1024;
constexpr int64_t kTileStep = 64;
/// Is the length of a row from which on an input that is one value in each row is read as one.
constexpr int64_t kLongRow = 64;
/// Is how many times an input must fit into the outputs so that what is made of it alone is computed ahead.
constexpr int64_t kSmallInput = 4;

/// Gives memory for the time of a block: on the stack when it is little.
template <class T, size_t Count> class Room {
 public:
  explicit Room(size_t count) {
    if (count > Count) more_.resize(count);
    first_ = more_.empty() ? here_.data() : more_.data();
  }
  T* data() { return first_; }
  T& operator[](size_t i) { return first_[i]; }

 private:
  alignas(64) std::array<T, Count> here_;
  std::vector<T> more_;
  T* first_;
};

struct alignas(64) Line {
  std::byte bytes[64];
};

/// Gives the elements of a tile for this many buffers.
int64_t tile_length(size_t buffers, size_t width) {
  if (buffers == 0) return kLongestTile * 16;
  const int64_t room = int64_t(kTileBytes / (buffers * width)) / kTileStep * kTileStep;
  return std::clamp(room, kTileStep, kLongestTile);
}

/// Gives the least number of elements that is worth a thread: fewer of what takes longer.
int64_t grain_of(const Bound& bound) {
  return std::max<int64_t>(1024, graft::detail::kElementsPerThread * 4 / std::max(4, bound.cost));
}

/// Is the table of addresses of one thread, and the memory behind its cells and buffers.
class Frame {
 public:
  Frame(const Schedule& schedule, const Bound& bound, size_t gathered, int64_t tile)
      : bound_(bound),
        slot_lines_((size_t(tile) * 8 + 63) / 64),
        address_(schedule.inputs() + schedule.outputs() + bound.constants.size() + bound.cells +
                 bound.buffers),
        lines_((bound.cells * 8 + 63) / 64 + bound.buffers * buffer_lines(bound, tile) +
               gathered * slot_lines_) {
    size_t place = schedule.inputs() + schedule.outputs();
    for (const auto& constant : bound.constants) address_[place++] = const_cast<std::byte*>(constant.data());
    std::byte* cell = lines_.data()->bytes;
    for (size_t i = 0; i < bound.cells; ++i) address_[place++] = cell + 8 * i;
    Line* next = lines_.data() + (bound.cells * 8 + 63) / 64;
    for (size_t i = 0; i < bound.buffers; ++i, next += buffer_lines(bound, tile))
      address_[place++] = next->bytes;
    gathered_ = next;
  }

  std::byte*& operator[](size_t place) { return address_[place]; }
  /// Gives the memory of an input that is gathered.
  std::byte* gathered(size_t i) { return gathered_[i * slot_lines_].bytes; }

  void run(int64_t n) {
    for (const Step& step : bound_.steps) step.run(address_.data(), step.places.data(), step.once ? 1 : n);
  }

 private:
  static size_t buffer_lines(const Bound& bound, int64_t tile) {
    return (size_t(tile) * bound.width + 63) / 64;
  }

  const Bound& bound_;
  size_t slot_lines_;
  Room<std::byte*, 64> address_;
  Room<Line, 24 * 1024 / 64> lines_;
  Line* gathered_;
};

template <class T> void spread(std::byte* to, const std::byte* from, int64_t stride, int64_t n) {
  T* destination = reinterpret_cast<T*>(to);
  const T* source = reinterpret_cast<const T*>(from);
  if (stride == 0)
    std::fill_n(destination, n, *source);
  else
    std::copy_n(source, n, destination);
}
/// Copies n elements of `size` bytes, or one of them n times.
void spread(std::byte* to, const std::byte* from, int64_t stride, int64_t n, size_t size) {
  switch (size) {
    case 1:
      return spread<uint8_t>(to, from, stride, n);
    case 2:
      return spread<uint16_t>(to, from, stride, n);
    case 4:
      return spread<uint32_t>(to, from, stride, n);
    default:
      return spread<uint64_t>(to, from, stride, n);
  }
}

void fence([[maybe_unused]] bool stream) {
#if defined(GRAFT_X86_64)
  if (stream) _mm_sfence();
#endif
}

}  // namespace

/// Is one call.
struct Engine::Call {
  std::span<const View> inputs;
  std::span<std::byte* const> outputs;
  const Dims& shape;
  int64_t size;
  const Pool& pool;
  uint64_t singles = 0;  ///< Inputs of one element.
  uint64_t partial = 0;  ///< Inputs that are neither one element nor the whole shape.
  bool stream = false;
};

struct Engine::Kept {
  uint64_t singles;
  bool stream;
  Bound bound;
  Kept* next;
};

/// Is what is computed of partial inputs alone, and the rest.
struct Engine::Split {
  uint64_t partial;
  std::vector<std::pair<size_t, std::unique_ptr<Engine>>> parts;  ///< Input, and what it becomes.
  std::unique_ptr<Engine> rest{};                                 ///< Null when there are no parts.
  Split* next;
};

Engine::Engine(Schedule schedule) : schedule_(std::move(schedule)) {
  for (size_t i = 0; i < schedule_.inputs(); ++i) input_sizes_.push_back(size_of(schedule_.input_type(i)));
  for (size_t i = 0; i < schedule_.outputs(); ++i) output_sizes_.push_back(size_of(schedule_.output_type(i)));
}

Engine::~Engine() {
  for (Kept* kept = kept_; kept;) delete std::exchange(kept, kept->next);
  for (Split* split = splits_; split;) delete std::exchange(split, split->next);
}

const Engine::Split& Engine::split_for(uint64_t partial) const {
  Split* const head = splits_.load(std::memory_order_acquire);
  for (Split* split = head; split; split = split->next) {
    if (split->partial == partial) return *split;
  }
  auto made = std::make_unique<Split>(Split{partial, {}, nullptr, head});
  std::optional<Schedule> rest;
  for (size_t i = 0; i < schedule_.inputs(); ++i) {
    if (!((partial >> i) & 1)) continue;
    if (auto parts = (rest ? *rest : schedule_).split(i)) {
      made->parts.emplace_back(i, std::make_unique<Engine>(std::move(parts->first)));
      rest = std::move(parts->second);
    }
  }
  if (rest) made->rest = std::make_unique<Engine>(std::move(*rest));
  while (!splits_.compare_exchange_weak(made->next, made.get(), std::memory_order_release,
                                        std::memory_order_relaxed)) {}
  return *made.release();
}

/// Computes first what is made of small inputs alone. Says whether there was such a thing; then all is done.
bool Engine::run_split(const Call& call) const {
  uint64_t small = 0;
  for (uint64_t rest = call.partial; rest; rest &= rest - 1) {
    const size_t i = size_t(std::countr_zero(rest));
    if (call.inputs[i].size * kSmallInput <= call.size) small |= uint64_t(1) << i;
  }
  if (small == 0) return false;
  const Split& split = split_for(small);
  if (split.rest == nullptr) return false;
  Room<View, 16> inputs(call.inputs.size());
  std::ranges::copy(call.inputs, inputs.data());
  int64_t elements = 0;
  for (const auto& [i, part] : split.parts)
    elements += (call.inputs[i].size * int64_t(part->output_sizes_[0]) + 63) / 64;
  Room<Line, 8 * 1024 / 64> room{size_t(elements)};
  Line* next = room.data();
  for (const auto& [i, part] : split.parts) {
    const View& input = call.inputs[i];
    Room<View, 16> views(call.inputs.size());
    for (size_t k = 0; k < call.inputs.size(); ++k) views[k] = View{input.data, {}, input.size};
    std::byte* const result = next->bytes;
    const std::array<int64_t, 1> shape{input.size};
    part->run({views.data(), call.inputs.size()}, {&result, 1}, shape, call.pool);
    inputs[i].data = result;
    next += (input.size * int64_t(part->output_sizes_[0]) + 63) / 64;
  }
  split.rest->run({inputs.data(), call.inputs.size()}, call.outputs, call.shape, call.pool);
  return true;
}

const Bound& Engine::bound_for(uint64_t singles, bool stream) const {
  Kept* const head = kept_.load(std::memory_order_acquire);
  for (Kept* kept = head; kept; kept = kept->next) {
    if (kept->singles == singles && kept->stream == stream) return kept->bound;
  }
  Kept* made = new Kept{singles, stream, schedule_.bind(singles, stream), head};
  while (
      !kept_.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {}
  return made->bound;
}

void Engine::run(std::span<const View> inputs, std::span<std::byte* const> outputs,
                 std::span<const int64_t> shape, const Pool& pool) const {
  const Dims dims(shape);
  Call call{inputs, outputs, dims, element_count(shape), pool};
  if (call.size == 0) return;
  int64_t bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bytes += inputs[i].size * int64_t(input_sizes_[i]);
    if (inputs[i].size == call.size) continue;
    (inputs[i].size == 1 ? call.singles : call.partial) |= uint64_t(1) << i;
  }
  for (size_t size : output_sizes_) bytes += call.size * int64_t(size);
  call.stream = bytes > graft::detail::last_cache_bytes();
  const int partial = std::popcount(call.partial);
  if (partial == 0)
    run_dense(call);
  else if (run_split(call))
    return;
  else if (partial <= 3)
    run_broadcast<4>(call);
  else if (partial <= 15)
    run_broadcast<16>(call);
  else
    run_broadcast<Schedule::kMaxInputs + 1>(call);
}

void Engine::run_dense(Call& call) const {
  const Bound& bound = bound_for(call.singles, call.stream);
  const int64_t tile = tile_length(bound.buffers, bound.width);
  call.pool.parallel_for(
      call.size, grain_of(bound),
      [&](int64_t begin, int64_t end) {
        Frame frame(schedule_, bound, 0, tile);
        for (size_t i = 0; i < call.inputs.size(); ++i)
          frame[i] = const_cast<std::byte*>(call.inputs[i].data);
        for (int64_t from = begin; from < end; from += tile) {
          for (size_t i = 0; i < call.inputs.size(); ++i) {
            if (!((call.singles >> i) & 1))
              frame[i] = const_cast<std::byte*>(call.inputs[i].data) + size_t(from) * input_sizes_[i];
          }
          for (size_t i = 0; i < call.outputs.size(); ++i)
            frame[call.inputs.size() + i] = call.outputs[i] + size_t(from) * output_sizes_[i];
          frame.run(std::min(tile, end - from));
        }
        fence(call.stream);
      },
      kTileStep);
}

template <size_t N> void Engine::run_broadcast(Call& call) const {
  // Only inputs that broadcast in part matter to the plan; the output stands for all others.
  std::array<Dims, N> dims;
  std::array<const Dims*, N> shapes;
  shapes.fill(&call.shape);
  std::array<size_t, N> which{};
  size_t count = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if ((call.partial >> i) & 1)
      which[count] = i, dims[count].assign(call.inputs[i].shape), shapes[count] = &dims[count], ++count;
  }
  const BroadcastPlan<N> plan = plan_broadcast<N>(shapes);
  const size_t inner = plan.rank - 1;

  // An input that walks along the innermost dimensions only comes again with every `period` elements: when a
  // tile holds whole periods, it is gathered once. When that is so with all of them, rows are joined to
  // longer tiles.
  std::array<int64_t, N> period{};
  bool all_again = true;
  for (size_t p = 0; p < count; ++p) {
    period[p] = plan.extent[inner];
    int64_t elements = 1;
    for (size_t axis = plan.rank; axis-- > 0;) {
      elements *= plan.extent[axis];
      if (plan.stride[p][axis] != 0) period[p] = elements;
    }
    all_again = all_again && plan.stride[p][inner] != 0 && period[p] == plan.extent[inner];
  }
  const bool by_rows = plan.extent[inner] >= (all_again ? kLongestTile / 2 : kLongRow);
  uint64_t singles = call.singles;
  for (size_t p = 0; p < count && by_rows; ++p) {
    if (plan.stride[p][inner] == 0) singles |= uint64_t(1) << which[p];
  }
  const Bound& bound = bound_for(singles, call.stream);
  const size_t gathered = by_rows ? 0 : count;
  int64_t tile =
      tile_length(bound.buffers + gathered, std::max(bound.width, gathered ? size_t(4) : size_t(1)));
  int64_t align = kTileStep;
  for (size_t p = 0; p < gathered; ++p) {
    if (period[p] > tile) continue;
    align = tile = tile / period[p] * period[p];
    break;
  }

  const size_t inputs = call.inputs.size();
  call.pool.parallel_for(
      call.size, grain_of(bound),
      [&](int64_t begin, int64_t end) {
        Frame frame(schedule_, bound, gathered, tile);
        for (size_t i = 0; i < inputs; ++i) frame[i] = const_cast<std::byte*>(call.inputs[i].data);
        for (size_t p = 0; p < gathered; ++p) frame[which[p]] = frame.gathered(p);
        const uint64_t whole =
            ~(call.singles | call.partial) & (inputs == 64 ? ~uint64_t(0) : (uint64_t(1) << inputs) - 1);
        const auto run = [&](int64_t from, int64_t n) {
          for (uint64_t rest = whole; rest; rest &= rest - 1) {
            const size_t i = size_t(std::countr_zero(rest));
            frame[i] = const_cast<std::byte*>(call.inputs[i].data) + size_t(from) * input_sizes_[i];
          }
          for (size_t i = 0; i < call.outputs.size(); ++i)
            frame[inputs + i] = call.outputs[i] + size_t(from) * output_sizes_[i];
          frame.run(n);
        };
        if (by_rows) {
          for_each_run(plan, begin, end,
                       [&](const std::array<int64_t, N>& offset, int64_t position, int64_t length) {
                         int64_t piece = length;
                         if (length > tile) {  // pieces of one length
                           const int64_t pieces = (length + tile - 1) / tile;
                           piece = ((length + pieces - 1) / pieces + 15) / 16 * 16;
                         }
                         for (int64_t done = 0; done < length; done += piece) {
                           for (size_t p = 0; p < count; ++p) {
                             const int64_t at = offset[p] + done * plan.stride[p][inner];
                             frame[which[p]] = const_cast<std::byte*>(call.inputs[which[p]].data) +
                                               size_t(at) * input_sizes_[which[p]];
                           }
                           run(position + done, std::min(piece, length - done));
                         }
                       });
        } else {
          for (int64_t from = begin; from < end; from += tile) {
            const int64_t n = std::min(tile, end - from);
            std::array<size_t, N> now;  // what is to be gathered
            size_t moved = 0;
            for (size_t p = 0; p < gathered; ++p) {
              if (from == begin || tile % period[p] != 0) now[moved++] = p;
            }
            if (moved > 0) {
              for_each_run(plan, from, from + n,
                           [&](const std::array<int64_t, N>& offset, int64_t position, int64_t length) {
                             for (size_t k = 0; k < moved; ++k) {
                               const size_t p = now[k], size = input_sizes_[which[p]];
                               spread(frame.gathered(p) + size_t(position - from) * size,
                                      call.inputs[which[p]].data + size_t(offset[p]) * size,
                                      plan.stride[p][inner], length, size);
                             }
                           });
            }
            run(from, n);
          }
        }
        fence(call.stream);
      },
      align);
}

}  // namespace graft::fused
