// Layouts after PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
#include "runtime/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "error.h"
#include "runtime/files.h"

namespace graft::runtime {
namespace {

constexpr uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50,
                   end64_mark = 0x06064b50, locator64_mark = 0x07064b50;
constexpr uint32_t in_zip64 = 0xffffffff;
constexpr size_t local_size = 30, central_size = 46, end_size = 22, locator64_size = 20;

/// Reads little-endian numbers out of an archive, never beyond its end.
class Bytes {
 public:
  explicit Bytes(const std::string& all) : all_(all) {}
  size_t size() const { return all_.size(); }
  std::string part(uint64_t at, uint64_t size) const {
    if (at > all_.size() || size > all_.size() - at)
      throw std::runtime_error("the archive is cut short or damaged");
    return all_.substr(at, size);
  }
  uint64_t number(uint64_t at, size_t size) const {
    const std::string bytes = part(at, size);
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }

 private:
  const std::string& all_;
};

struct Member {
  std::string name;
  uint64_t method, crc, packed_size, size, offset;
};

struct Directory {
  uint64_t count, offset;
};

Directory find_directory(const Bytes& bytes) {
  if (bytes.size() < end_size || bytes.number(0, 4) != local_mark) {
    if (bytes.size() < end_size || bytes.number(0, 4) != end_mark)
      throw std::runtime_error("it is not a zip archive");
  }
  const size_t furthest =
      bytes.size() > end_size + 65535 ? bytes.size() - end_size - 65535 : 0;  // a comment may follow
  for (size_t at = bytes.size() - end_size + 1; at-- > furthest;) {
    if (bytes.number(at, 4) != end_mark) continue;
    Directory directory{bytes.number(at + 10, 2), bytes.number(at + 16, 4)};
    if (at >= locator64_size && bytes.number(at - locator64_size, 4) == locator64_mark) {
      const uint64_t end64 = bytes.number(at - locator64_size + 8, 8);
      if (bytes.number(end64, 4) == end64_mark)
        directory = {bytes.number(end64 + 32, 8), bytes.number(end64 + 48, 8)};
    }
    return directory;
  }
  throw std::runtime_error("the archive is cut short: its directory is missing");
}

/// Replaces the sizes that do not fit 32 bits by those of the zip64 field.
void apply_zip64(const Bytes& bytes, uint64_t at, uint64_t end, Member& member) {
  while (at + 4 <= end) {
    const uint64_t tag = bytes.number(at, 2), size = bytes.number(at + 2, 2);
    at += 4;
    if (tag == 1) {
      uint64_t from = at;
      for (uint64_t* value : {&member.size, &member.packed_size, &member.offset}) {
        if (*value != in_zip64) continue;
        *value = bytes.number(from, 8);
        from += 8;
      }
      return;
    }
    at += size;
  }
}

std::string inflate_all(const std::string& packed, uint64_t size) {
  if (size > packed.size() * 1032 + 64)
    throw std::runtime_error("a member claims an impossible size");  // deflate's limit
  std::string plain(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::runtime_error("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  uint64_t unread = packed.size(), unwritten = size;
  int state = Z_OK;
  while (state == Z_OK) {  // zlib counts in 32 bits
    constexpr uint64_t step = 1u << 30;
    stream.avail_in = static_cast<uInt>(std::min(unread, step));
    stream.avail_out = static_cast<uInt>(std::min(unwritten, step));
    const uInt in = stream.avail_in, out = stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    unread -= in - stream.avail_in;
    unwritten -= out - stream.avail_out;
    if (in == stream.avail_in && out == stream.avail_out) break;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || unwritten != 0) throw std::runtime_error("a member cannot be unpacked");
  return plain;
}

uint32_t crc_of(const std::string& content) {
  return static_cast<uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

std::string read_member(const Bytes& bytes, const Member& member) {
  if (bytes.number(member.offset, 4) != local_mark)
    throw std::runtime_error("its directory points to nowhere");
  const uint64_t data =
      member.offset + local_size + bytes.number(member.offset + 26, 2) + bytes.number(member.offset + 28, 2);
  std::string content = bytes.part(data, member.packed_size);
  if (member.method == 8) {
    content = inflate_all(content, member.size);
  } else if (member.method != 0) {
    throw std::runtime_error(fmt::format("member {} is packed by method {}", member.name, member.method));
  }
  if (crc_of(content) != member.crc)
    throw std::runtime_error(fmt::format("member {} is damaged (its CRC differs)", member.name));
  return content;
}

void append(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

ZipMembers read_zip(const std::filesystem::path& file) {
  const std::string all = read_file(file);
  const Bytes bytes(all);
  ZipMembers members;
  try {
    const Directory directory = find_directory(bytes);
    uint64_t at = directory.offset;
    for (uint64_t i = 0; i < directory.count; ++i) {
      if (bytes.number(at, 4) != central_mark) throw std::runtime_error("its directory is damaged");
      const uint64_t name = bytes.number(at + 28, 2), extra = bytes.number(at + 30, 2),
                     comment = bytes.number(at + 32, 2);
      Member member{bytes.part(at + central_size, name),
                    bytes.number(at + 10, 2),
                    bytes.number(at + 16, 4),
                    bytes.number(at + 20, 4),
                    bytes.number(at + 24, 4),
                    bytes.number(at + 42, 4)};
      apply_zip64(bytes, at + central_size + name, at + central_size + name + extra, member);
      members.emplace_back(member.name, read_member(bytes, member));
      at += central_size + name + extra + comment;
    }
  } catch (const std::exception& error) {
    throw InputError(fmt::format("{}: cannot be read: {}", file.string(), error.what()));
  }
  return members;
}

void write_zip(const std::filesystem::path& file, const ZipMembers& members) {
  std::string all, directory;
  for (const auto& [name, content] : members) {
    const uint64_t offset = all.size();
    std::string common;  // the fields that both headers share
    append(common, 20, 2);
    append(common, 0, 2);
    append(common, 0, 2);       // stored
    append(common, 0, 2);       // time
    append(common, 0x0021, 2);  // 1980-01-01, so that the same arrays give the same bytes
    append(common, crc_of(content), 4);
    append(common, content.size(), 4);
    append(common, content.size(), 4);
    append(common, name.size(), 2);
    append(common, 0, 2);
    append(all, local_mark, 4);
    all += common + name + content;
    append(directory, central_mark, 4);
    append(directory, 20, 2);
    directory += common;
    append(directory, 0, 8);  // length of the comment, disk, attributes
    append(directory, 0, 2);
    append(directory, offset, 4);
    directory += name;
  }
  const uint64_t start = all.size();
  if (start >= in_zip64) throw InputError(fmt::format("{}: more than 4 GiB do not fit", file.string()));
  all += directory;
  append(all, end_mark, 4);
  append(all, 0, 4);
  append(all, members.size(), 2);
  append(all, members.size(), 2);
  append(all, directory.size(), 4);
  append(all, start, 4);
  append(all, 0, 2);
  write_file(file, all);
}

}  // namespace graft::runtime
