#include "transport/base/codec.h"

#include "transport/base/invariant.h"

#include <limits>

namespace stage {

ByteWriter& ByteWriter::u8(std::uint8_t value) {
    bytes_.push_back(static_cast<std::byte>(value));
    return *this;
}

ByteWriter& ByteWriter::raw(Bytes bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
}

ByteWriter& ByteWriter::blob(Bytes bytes) {
    invariant(bytes.size() <= std::numeric_limits<std::uint32_t>::max(),
              "a blob's length fits 32 bits");
    u32(static_cast<std::uint32_t>(bytes.size()));
    return raw(bytes);
}

ByteWriter& ByteWriter::text(std::string_view text) {
    return blob(as_bytes(text));
}

Bytes ByteReader::raw(std::size_t count) {
    if (count > rest_.size()) {
        fail();
        return {};
    }
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
}

Bytes ByteReader::blob(std::size_t limit) {
    const std::size_t count = u32();
    if (count > limit) {
        fail();
        return {};
    }
    return raw(count);
}

std::string ByteReader::text(std::size_t limit) {
    const Bytes bytes = blob(limit);
    std::string text;
    text.reserve(bytes.size());
    for (const std::byte byte : bytes) {
        text.push_back(static_cast<char>(byte));
    }
    return text;
}

}  // namespace stage
