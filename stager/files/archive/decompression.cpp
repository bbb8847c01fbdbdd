#include "stager/files/archive/decompression.h"

#include "transport/base/text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace stage {
namespace {

using namespace std::string_view_literals;

/// The maximum number of compressions over each other; each takes up to kDecoderBytesMax.
constexpr int kMaxLayers = 2;
constexpr std::size_t kMagicBytes = 10;
constexpr std::size_t kFrameHeadBytes = 8;
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
    Magic{"\xfd\x37zXZ\x00"sv, xz_stream},
    Magic{"BZh"sv, filtered<Filter::bzip2>},
};

/// A tar's first entry may be named BZhang, so bzip2 is recognised by the block that follows:
/// the first one or the end mark.
bool has_block(const Magic& magic, std::string_view head) {
    return magic.bytes != "BZh"sv ||
           (head.size() >= kMagicBytes && head[3] >= '1' && head[3] <= '9' &&
            (head.substr(4, 6) == "1AY&SY"sv || head.substr(4, 6) == "\x17rE8P\x90"sv));
}

/// The length, without its header, of a frame that decoders of zstd and lz4 skip; pzstd begins
/// with one.
std::optional<std::uint32_t> skippable(std::string_view head) {
    if (head.size() < kFrameHeadBytes ||
        (static_cast<unsigned char>(head[0]) & 0xf0U) != 0x50 ||
        head.substr(1, 3) != "\x2a\x4d\x18"sv) {
        return std::nullopt;
    }
    std::uint32_t size = 0;
    for (std::size_t i = kFrameHeadBytes; i-- > 4;) {
        size = (size << 8U) | static_cast<unsigned char>(head[i]);
    }
    return size;
}

}  // namespace

Decompression::Decompression(ArrivedBytes& bytes, ReadTrouble& trouble) : trouble_{trouble} {
    streams_.push_back(arrived_stream(bytes, trouble));
}

bool Decompression::open() {
    std::vector<std::byte> head;
    for (int layers = 0; layers <= kMaxLayers;) {
        if (!fill(head)) {
            return false;
        }
        const std::string_view text = as_text(head);
        if (const auto rest = skippable(text)) {
            const std::size_t held = head.size() - kFrameHeadBytes;
            const std::size_t dropped = std::min<std::size_t>(*rest, held);
            head.erase(head.begin(),
                       head.begin() + static_cast<std::ptrdiff_t>(kFrameHeadBytes + dropped));
            if (!skip(*rest - dropped)) {
                return false;
            }
            continue;
        }
        const auto* const magic = std::ranges::find_if(kMagics, [&](const Magic& one) {
            return text.starts_with(one.bytes) && has_block(one, text);
        });
        streams_.push_back(stream_again(std::exchange(head, {}), plain()));
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

/// Reads as many bytes as a magic number may need, or all that there are.
bool Decompression::fill(std::vector<std::byte>& head) {
    const std::size_t held = head.size();
    head.resize(kMagicBytes);
    const std::int64_t count = read_all(plain(), MutableBytes{head}.subspan(held));
    head.resize(held + static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
    return count >= 0;
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
