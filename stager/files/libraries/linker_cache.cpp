#include "stager/files/libraries/linker_cache.h"

#include "transport/base/text.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kOldHeadBytes = 16;
constexpr std::size_t kOldEntryBytes = 12;
constexpr std::size_t kHeadBytes = 48;
constexpr std::size_t kEntryBytes = 24;

static_assert(std::endian::native == std::endian::little, "the list is the machine's own");

std::uint32_t number_at(Bytes bytes, std::size_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

/// Skips the old list, if it precedes the new one.
Bytes new_list(Bytes bytes) {
    if (as_text(bytes).starts_with(kOldMagic) && bytes.size() > kOldHeadBytes) {
        const std::uint64_t end =
            kOldHeadBytes + std::uint64_t{number_at(bytes, 12)} * kOldEntryBytes;
        const std::uint64_t begin = (end + 7) / 8 * 8;
        bytes = bytes.subspan(std::min<std::uint64_t>(begin, bytes.size()));
    }
    const bool is_one = as_text(bytes).starts_with(kMagic) && bytes.size() >= kHeadBytes;
    return is_one ? bytes : Bytes{};
}

std::optional<std::string> text_at(Bytes list, std::uint32_t offset) {
    constexpr std::size_t kMaxTextBytes = 4096;
    if (offset >= list.size()) {
        return std::nullopt;
    }
    const std::string_view text = as_text(list.subspan(offset)).substr(0, kMaxTextBytes);
    const std::size_t end = text.find('\0');
    return end == std::string_view::npos ? std::nullopt
                                         : std::optional{std::string{text.substr(0, end)}};
}

}  // namespace

LinkerCache parse_linker_cache(Bytes bytes) {
    LinkerCache cache;
    const Bytes list = new_list(bytes);
    if (list.empty()) {
        return cache;
    }
    const std::size_t count = std::min<std::size_t>(number_at(list, kMagic.size()),
                                                    (list.size() - kHeadBytes) / kEntryBytes);
    for (std::size_t i = 0; i < std::min(count, kMaxLinkerCacheEntries); ++i) {
        const std::size_t at = kHeadBytes + i * kEntryBytes;
        auto name = text_at(list, number_at(list, at + 4));
        auto path = text_at(list, number_at(list, at + 8));
        if (!name || !path) {
            return {};
        }
        if (path->starts_with('/')) {
            cache.emplace(*std::move(name), *std::move(path));
        }
    }
    return cache;
}

}  // namespace stage
