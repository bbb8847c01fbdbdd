#include "stager/files/archive/zip_directory.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace stage {
namespace {

using namespace std::string_view_literals;

// APPNOTE.TXT 4.3.12 to 4.3.16, 4.5.3; the numbers are little-endian.
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kCommentBytesMax = 65'535;
constexpr std::size_t kLocatorBytes = 20;  ///< The locator of zip64, before the end.
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kEntryBytes = 46;
/// Enough for 1.5 million entries. In memory it takes up to five times as much.
constexpr std::uint64_t kDirectoryBytesMax = 128U << 20U;
constexpr std::uint32_t kIn64 = 0xffffffffU;
constexpr std::uint16_t kIn64Disk = 0xffffU;
constexpr unsigned kExtra64 = 0x0001;
constexpr unsigned kExtraUnicodePath = 0x7075;
constexpr unsigned kMadeByDos = 0;
constexpr unsigned kMadeByUnix = 3;

std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;) {
        value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
    }
    return value;
}
std::uint16_t u16(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint16_t>(number(bytes, at, 2));
}
std::uint32_t u32(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint32_t>(number(bytes, at, 4));
}

class Finder {
  public:
    Finder(ArrivedBytes& bytes, ReadTrouble& trouble) : bytes_{bytes}, trouble_{trouble} {}

    std::optional<ZipDirectory> find() {
        std::string tail;
        const std::uint64_t tail_bytes = std::min<std::uint64_t>(
            bytes_.size(), kEndBytes + kCommentBytesMax + kLocatorBytes);
        const std::uint64_t tail_at = bytes_.size() - tail_bytes;
        if (!read(tail_at, tail_bytes, tail)) {
            return std::nullopt;
        }
        for (std::size_t at = tail.size(); at-- > 0;) {
            if (tail.compare(at, 4, "PK\x05\x06") == 0 && is_end(tail, at, tail_at)) {
                return list(tail_at + at);
            }
        }
        return std::nullopt;
    }

  private:
    bool read(std::uint64_t at, std::uint64_t count, std::string& out) {
        out.resize(count);
        std::size_t filled = 0;
        while (filled < count) {
            const auto room = std::as_writable_bytes(std::span{out}).subspan(filled);
            const std::int64_t got = bytes_.read(at + filled, room);
            if (got <= 0) {
                trouble_.set(
                    {.kind = ReadTrouble::Kind::unreadable, .cause = got < 0 ? errno : EIO});
                return false;
            }
            filled += static_cast<std::size_t>(got);
        }
        return true;
    }

    /// A comment, or a member that is itself a zip, may contain the mark, too.
    bool is_end(std::string_view tail, std::size_t at, std::uint64_t tail_at) {
        if (tail.size() - at < kEndBytes) {
            return false;
        }
        end_ = tail.substr(at, kEndBytes);
        has_locator_ =
            at >= kLocatorBytes && tail.substr(at - kLocatorBytes, 4) == "PK\x06\x07"sv;
        locator_ = has_locator_ ? tail.substr(at - kLocatorBytes, kLocatorBytes) : ""sv;
        return at + kEndBytes + u16(end_, 20) <= tail.size() &&
               (has_locator_ || u32(end_, 12) <= tail_at + at);
    }

    struct Where {
        std::uint64_t count = 0;
        std::uint64_t bytes = 0;
        std::uint64_t offset = 0;  ///< The recorded offset, relative to the zip's beginning.
        std::uint64_t end = 0;     ///< The end of the directory.
    };

    std::optional<Where> where(std::uint64_t end_at) {
        Where there{.count = u16(end_, 10),
                    .bytes = u32(end_, 12),
                    .offset = u32(end_, 16),
                    .end = end_at};
        if (has_locator_) {
            // It is where the locator says, or, if the zip follows other bytes, right before
            // it.
            const std::uint64_t last = end_at - kLocatorBytes - kEnd64Bytes;
            std::string end64;
            for (const std::uint64_t at : {number(locator_, 8, 8), last}) {
                if (end_at < kLocatorBytes + kEnd64Bytes || at > last) {
                    continue;
                }
                if (!read(at, kEnd64Bytes, end64)) {
                    return std::nullopt;
                }
                if (end64.starts_with("PK\x06\x06")) {
                    return Where{.count = number(end64, 32, 8),
                                 .bytes = number(end64, 40, 8),
                                 .offset = number(end64, 48, 8),
                                 .end = at};
                }
            }
            there.bytes = kDirectoryBytesMax + 1;
        }
        return there;
    }

    std::optional<ZipDirectory> list(std::uint64_t end_at) {
        if (u16(end_, 4) != 0 && u16(end_, 4) != kIn64Disk) {
            trouble_.set({.kind = ReadTrouble::Kind::unsupported,
                          .why = "it is the last part of a zip of several"});
            return std::nullopt;
        }
        const std::optional<Where> there = where(end_at);
        if (!there) {
            return std::nullopt;
        }
        if (there->bytes > there->end || there->bytes > kDirectoryBytesMax ||
            there->offset > there->end - there->bytes) {
            return damaged("the directory of the zip is not where its end says");
        }
        std::string all;
        if (!read(there->end - there->bytes, there->bytes, all)) {
            return std::nullopt;
        }
        ZipDirectory directory{.members = {},
                               .begin = there->end - there->bytes - there->offset,
                               .end = end_at + kEndBytes};
        std::string_view rest = all;
        while (!rest.empty()) {
            if (!take_entry(rest, directory.members)) {
                return damaged("the directory of the zip has an invalid entry");
            }
        }
        // Without zip64 the count is limited to 65,535, and some programs exceed it.
        const std::uint64_t mask = has_locator_ ? ~std::uint64_t{0} : 0xffffU;
        if ((directory.members.size() & mask) != there->count) {
            return damaged("the directory of the zip lacks entries");
        }
        const auto by_offset = [](const ZipMember& a, const ZipMember& b) {
            return a.offset < b.offset;
        };
        std::stable_sort(directory.members.begin(), directory.members.end(), by_offset);
        const auto repeated = std::ranges::unique(directory.members, {}, &ZipMember::offset);
        directory.members.erase(repeated.begin(), repeated.end());
        return directory;
    }

    static bool take_entry(std::string_view& rest, std::vector<ZipMember>& members) {
        if (rest.size() < kEntryBytes || !rest.starts_with("PK\x01\x02")) {
            return false;
        }
        const std::size_t name_bytes = u16(rest, 28);
        const std::size_t extra_bytes = u16(rest, 30);
        const std::size_t all = kEntryBytes + name_bytes + extra_bytes + u16(rest, 32);
        if (rest.size() < all || name_bytes == 0) {
            return false;
        }
        ZipMember member{.offset = u32(rest, 42),
                         .name = std::string{rest.substr(kEntryBytes, name_bytes)}};
        if (!take_extras(rest.substr(kEntryBytes + name_bytes, extra_bytes), rest, member)) {
            return false;
        }
        const unsigned made_by = u16(rest, 4) >> 8U;
        if (made_by == kMadeByDos &&
            member.name.find('/') == std::string::npos) {  // As in unzip(1).
            std::ranges::replace(member.name, '\\', '/');
        }
        if (made_by != kMadeByUnix) {
            const std::uint32_t unix_half = made_by == kMadeByDos ? 0xffff0000U : 0U;
            member.mode =
                mode_of(u32(rest, 38) & (unix_half | 0xffU), member.name.ends_with('/'));
        }
        members.push_back(std::move(member));
        rest.remove_prefix(all);
        return true;
    }

    /// DOS attributes tell only what is read-only and what is a directory. Python on Windows
    /// and others write a mode beside them. As in unzip(1), it is used if it agrees with them,
    /// and a name that ends in a slash makes a directory of any entry.
    static std::uint16_t mode_of(std::uint32_t attributes, bool is_named_directory) {
        const bool is_read_only = (attributes & 0x01U) != 0;
        const bool is_directory = is_named_directory || (attributes & 0x10U) != 0;
        const std::uint32_t mode = (attributes >> 16U) & 0777U;
        const std::uint32_t rights =
            0444U | (is_read_only ? 0U : 0222U) | (is_directory ? 0111U : 0U);
        return static_cast<std::uint16_t>((mode & 0700U) == (rights & 0700U) ? mode : rights);
    }

    /// Reads the offset, and the name in UTF-8 if it belongs to the entry's name.
    static bool take_extras(std::string_view extras,
                            std::string_view entry,
                            ZipMember& member) {
        while (extras.size() >= 4) {
            const unsigned kind = u16(extras, 0);
            const std::size_t size = u16(extras, 2);
            extras.remove_prefix(4);
            if (extras.size() < size) {
                return true;  // Some programs pad the extra fields.
            }
            const std::string_view one = extras.substr(0, size);
            extras.remove_prefix(size);
            if (kind == kExtra64 && u32(entry, 42) == kIn64) {
                // Each value is present only if its own field is too small for it.
                const std::size_t at =
                    (u32(entry, 24) == kIn64 ? 8U : 0U) + (u32(entry, 20) == kIn64 ? 8U : 0U);
                if (one.size() < at + 8) {
                    return false;
                }
                member.offset = number(one, at, 8);
            }
            if (kind == kExtraUnicodePath && size > 5 && one[0] == 1) {
                const auto* name = reinterpret_cast<const Bytef*>(member.name.data());
                const auto length = static_cast<uInt>(member.name.size());
                if (::crc32(0, name, length) == u32(one, 1)) {
                    member.name = one.substr(5);
                }
            }
        }
        return true;
    }

    std::optional<ZipDirectory> damaged(const char* why) {
        trouble_.set({.kind = ReadTrouble::Kind::damaged, .why = why});
        return std::nullopt;
    }

    ArrivedBytes& bytes_;
    ReadTrouble& trouble_;
    std::string_view end_;      ///< Part of the tail; valid while the tail is searched.
    std::string_view locator_;  ///< Part of the tail, too.
    bool has_locator_ = false;
};

}  // namespace

std::optional<ZipDirectory> read_zip_directory(ArrivedBytes& bytes, ReadTrouble& trouble) {
    return Finder{bytes, trouble}.find();
}

}  // namespace stage
