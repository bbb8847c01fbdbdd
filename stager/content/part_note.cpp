#include "stager/content/part_note.h"

#include "stager/disk/disk_io.h"
#include "transport/base/codec.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kMagic = "stagecast part 1";
constexpr std::size_t kHeadBytes = kMagic.size() + SourceStamp{}.size() + sizeof(std::uint64_t);

}  // namespace

std::size_t part_block_count(std::uint64_t size) {
    return size / kBlockBytes + (size % kBlockBytes != 0 ? 1 : 0);
}

std::uint64_t note_bytes(std::uint64_t size) {
    return note_offset_of(part_block_count(size));
}

std::uint64_t note_offset_of(std::size_t block) {
    return kHeadBytes + block * sizeof(Digest128);
}

std::vector<std::byte> encode_note(const SourceStamp& stamp,
                                   std::uint64_t size,
                                   const std::vector<Digest128>& leaves) {
    ByteWriter writer;
    writer.raw(std::as_bytes(std::span{kMagic})).raw(stamp).u64(size);
    return writer.raw(std::as_bytes(std::span{leaves})).take();
}

std::optional<std::vector<Digest128>> decode_note(Bytes bytes,
                                                  const SourceStamp& stamp,
                                                  std::uint64_t size) {
    ByteReader reader{bytes};
    const Bytes magic = reader.raw(kMagic.size());
    const Bytes about = reader.raw(stamp.size());
    const bool is_about_it = reader.u64() == size && reader.ok() &&
                             std::ranges::equal(magic, std::as_bytes(std::span{kMagic})) &&
                             std::ranges::equal(about, stamp);
    if (!is_about_it) {
        return std::nullopt;
    }
    std::vector<Digest128> leaves(part_block_count(size));
    for (Digest128& leaf : leaves) {
        const Bytes noted = reader.raw(std::min(reader.left(), leaf.size()));
        if (noted.size() == leaf.size()) {  // A note that ends early lacks the last blocks.
            std::ranges::copy(noted, leaf.begin());
        }
    }
    return leaves;
}

std::optional<std::vector<Digest128>> read_note(int file,
                                                const SourceStamp& stamp,
                                                std::uint64_t size) {
    std::vector<std::byte> room(note_bytes(size));
    const std::int64_t length = read_fully(file, room, size);
    const auto read = static_cast<std::size_t>(std::max<std::int64_t>(length, 0));
    return decode_note(Bytes{room}.first(read), stamp, size);
}

}  // namespace stage
