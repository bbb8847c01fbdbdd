#include "stager/files/decompression.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stage {
namespace {

using namespace std::string_view_literals;

/// Nobody packs more often; each costs memory.
constexpr int kMaxLayers = 8;
constexpr std::size_t kMagicBytes = 8;
constexpr std::size_t kStepBytes = 256U << 10U;

struct Magic {
    std::string_view bytes;
    std::unique_ptr<ByteStream> (*make)(ByteStream& from, ReadTrouble& trouble);
};

template <Filter kFilter>
std::unique_ptr<ByteStream> filtered(ByteStream& from, ReadTrouble& trouble) {
    return filtered_stream(kFilter, from, trouble);
}

constexpr std::array kMagics{
    Magic{"\x1f\x8b\x08"sv, gzip_stream},
    Magic{"\x04\x22\x4d\x18"sv, lz4_stream},
    Magic{"\x02\x21\x4c\x18"sv, filtered<Filter::old_lz4>},
    Magic{"\x28\xb5\x2f\xfd"sv, filtered<Filter::zstd>},
    Magic{"\xfd\x37zXZ\x00"sv, filtered<Filter::xz>},
    Magic{"BZh"sv, filtered<Filter::bzip2>},
};

/// A frame that decoders of zstd and of lz4 skip, and pzstd begins with: the bytes of it that
/// are behind its head.
std::optional<std::uint32_t> skippable(std::string_view head) {
    if (head.size() < kMagicBytes || (static_cast<unsigned char>(head[0]) & 0xf0U) != 0x50 ||
        head.substr(1, 3) != "\x2a\x4d\x18"sv) {
        return std::nullopt;
    }
    std::uint32_t size = 0;
    for (std::size_t i = kMagicBytes; i-- > 4;) {
        size = (size << 8U) | static_cast<unsigned char>(head[i]);
    }
    return size;
}

}  // namespace

Decompression::Decompression(ArrivedBytes& bytes, ReadTrouble& trouble) : trouble_{trouble} {
    streams_.push_back(arrived_stream(bytes, trouble));
}

bool Decompression::open() {
    for (int layers = 0; layers <= kMaxLayers;) {
        std::vector<std::byte> head(kMagicBytes);
        const std::int64_t count = read_all(plain(), head);
        if (count < 0) {
            return false;
        }
        head.resize(static_cast<std::size_t>(count));
        const std::string_view text{reinterpret_cast<const char*>(head.data()), head.size()};
        if (const auto rest = skippable(text)) {
            if (!skip(*rest)) {
                return false;
            }
            continue;
        }
        const auto* const magic = std::ranges::find_if(
            kMagics, [&](const Magic& one) { return text.starts_with(one.bytes); });
        streams_.push_back(stream_again(std::move(head), plain()));
        if (magic == kMagics.end()) {
            return true;
        }
        streams_.push_back(magic->make(plain(), trouble_));
        has_any_ = true;
        ++layers;
    }
    trouble_.set({.kind = ReadTrouble::Kind::unsupported,
                  .why = "compressed more than " + std::to_string(kMaxLayers) + " times"});
    return false;
}

bool Decompression::skip(std::uint64_t count) {
    std::vector<std::byte> room(kStepBytes);
    while (count > 0) {
        const std::size_t step = std::min<std::uint64_t>(count, room.size());
        const std::int64_t got = plain().read(MutableBytes{room}.first(step));
        if (got <= 0) {
            return got == 0;
        }
        count -= static_cast<std::uint64_t>(got);
    }
    return true;
}

bool Decompression::finish() {
    std::vector<std::byte> room(kStepBytes);
    for (auto one = streams_.rbegin(); has_any_ && one != streams_.rend(); ++one) {
        std::int64_t got = 1;
        while (got > 0) {
            got = (*one)->read(room);
        }
        if (got < 0) {
            return false;
        }
    }
    return true;
}

}  // namespace stage
