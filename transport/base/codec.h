// Encodes numbers and strings as bytes, and decodes untrusted bytes.
//
// Network byte order. A writer fills a growing vector or a fixed span. A reader checks every
// bound; after the first field that does not fit it returns zeros and stays failed, so a parser
// reads all its fields and then asks ok() once. A length is checked against the bytes that are
// there before anything is allocated.
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace stage {

/// Appends to a vector that it owns. Big-endian.
class ByteWriter {
  public:
    template <class Unsigned>
    ByteWriter& number(Unsigned value) {
        static_assert(std::is_unsigned_v<Unsigned>, "the wire carries unsigned numbers");
        const std::uint64_t wide = value;
        for (std::size_t shift = sizeof(Unsigned); shift-- > 0;) {
            bytes_.push_back(static_cast<std::byte>((wide >> (shift * 8U)) & 0xffU));
        }
        return *this;
    }
    ByteWriter& u8(std::uint8_t value);
    ByteWriter& u16(std::uint16_t value) { return number(value); }
    ByteWriter& u32(std::uint32_t value) { return number(value); }
    ByteWriter& u64(std::uint64_t value) { return number(value); }
    ByteWriter& raw(Bytes bytes);
    /// A 32-bit length, then the bytes.
    ByteWriter& blob(Bytes bytes);
    ByteWriter& text(std::string_view text);

    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    [[nodiscard]] Bytes view() const { return bytes_; }
    [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

/// Reads from borrowed bytes, which must outlive the reader and whatever span it hands out.
class ByteReader {
  public:
    explicit ByteReader(Bytes bytes) : rest_{bytes} {}

    [[nodiscard]] std::uint8_t u8() { return number<std::uint8_t>(); }
    [[nodiscard]] std::uint16_t u16() { return number<std::uint16_t>(); }
    [[nodiscard]] std::uint32_t u32() { return number<std::uint32_t>(); }
    [[nodiscard]] std::uint64_t u64() { return number<std::uint64_t>(); }
    /// The next `count` bytes, or an empty span and a failed reader.
    [[nodiscard]] Bytes raw(std::size_t count);
    /// A length of at most `limit`, followed by that number of bytes.
    [[nodiscard]] Bytes blob(std::size_t limit);
    [[nodiscard]] std::string text(std::size_t limit);

    /// Everything so far was there.
    [[nodiscard]] bool ok() const { return ok_; }
    /// Everything was there and nothing is left.
    [[nodiscard]] bool finished() const { return ok_ && rest_.empty(); }
    [[nodiscard]] std::size_t left() const { return rest_.size(); }
    void fail() {
        ok_ = false;
        rest_ = {};
    }

  private:
    template <class Unsigned>
    [[nodiscard]] Unsigned number() {
        const Bytes bytes = raw(sizeof(Unsigned));
        std::uint64_t value = 0;
        for (const std::byte byte : bytes) {
            value = (value << 8U) | std::to_integer<std::uint64_t>(byte);
        }
        return static_cast<Unsigned>(value);
    }

    Bytes rest_;
    bool ok_ = true;
};

/// The bytes of a string, borrowed.
[[nodiscard]] inline Bytes as_bytes(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

}  // namespace stage
