#include "stager/files/unpacker.h"

#include "stager/files/member_name.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace stage {
namespace {

constexpr std::size_t kReadBytes = 256U << 10U;
constexpr std::size_t kTarBlockBytes = 512;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

struct CloseArchive {
    void operator()(archive* one) const { static_cast<void>(archive_read_free(one)); }
};
using Archive = std::unique_ptr<archive, CloseArchive>;

/// What libarchive's callbacks get: where it reads, and how far it came.
class Reader {
  public:
    explicit Reader(ArrivedBytes& bytes) : bytes_{bytes}, room_(kReadBytes) {}

    la_ssize_t read(const void** out) {
        const std::int64_t count = bytes_.read(at_, room_);
        at_ += static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
        *out = room_.data();
        return count;
    }
    la_int64_t skip(la_int64_t wanted) {
        const std::uint64_t left = bytes_.size() - std::min(at_, bytes_.size());
        const auto count = std::min(static_cast<std::uint64_t>(wanted), left);
        at_ += count;
        return static_cast<la_int64_t>(count);
    }
    la_int64_t seek(la_int64_t offset, int whence) {
        const std::uint64_t from = whence == SEEK_END ? bytes_.size() : at_;
        const auto base = whence == SEEK_SET ? 0 : static_cast<la_int64_t>(from);
        if (offset < -base || offset > static_cast<la_int64_t>(bytes_.size()) - base) {
            return ARCHIVE_FATAL;
        }
        at_ = static_cast<std::uint64_t>(base + offset);
        return base + offset;
    }

  private:
    ArrivedBytes& bytes_;
    std::vector<std::byte> room_;
    std::uint64_t at_ = 0;
};

/// A zip's directory stands at its end; nothing else needs to go there.
bool is_zip(ArrivedBytes& bytes) {
    std::array<std::byte, 4> head{};
    if (bytes.read(0, head) != static_cast<std::int64_t>(head.size())) {
        return false;
    }
    const std::string_view text{reinterpret_cast<const char*>(head.data()), head.size()};
    return text == "PK\x03\x04" || text == "PK\x05\x06";
}

/// A format or filter that this libarchive would have an outside program for is refused.
bool is_all_known(archive* one, bool zip) {
    if (zip) {
        return archive_read_support_format_zip_seekable(one) == ARCHIVE_OK;
    }
    return archive_read_support_format_tar(one) == ARCHIVE_OK &&
           archive_read_support_format_gnutar(one) == ARCHIVE_OK &&
           archive_read_support_filter_gzip(one) == ARCHIVE_OK &&
           archive_read_support_filter_zstd(one) == ARCHIVE_OK &&
           archive_read_support_filter_xz(one) == ARCHIVE_OK &&
           archive_read_support_filter_bzip2(one) == ARCHIVE_OK &&
           archive_read_support_filter_lz4(one) == ARCHIVE_OK;
}

class Unpacking {
  public:
    Unpacking(ArrivedBytes& bytes, UnpackTree& tree, std::string name, const FileTime& mtime)
        : bytes_{bytes},
          tree_{tree},
          name_{std::move(name)},
          mtime_{mtime},
          reader_{bytes},
          archive_{archive_read_new()} {}

    Status run() {
        if (Status opened = open(); !opened) {
            return opened;
        }
        archive_entry* entry = nullptr;
        while (true) {
            const int got = archive_read_next_header(archive_.get(), &entry);
            if (got == ARCHIVE_EOF) {
                break;
            }
            if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
                return damaged();
            }
            has_members_ = true;
            if (Status added = add(entry); !added) {
                return named(std::move(added).error());
            }
        }
        if (!is_ended()) {
            return wrong("ends too early, the mark of a tar's end is missing");
        }
        return tree_.finish(mtime_);
    }

  private:
    Status open() {
        const auto read = [](archive*, void* data, const void** out) {
            return static_cast<Reader*>(data)->read(out);
        };
        const auto skip = [](archive*, void* data, la_int64_t count) {
            return static_cast<Reader*>(data)->skip(count);
        };
        const auto seek = [](archive*, void* data, la_int64_t offset, int whence) {
            return static_cast<Reader*>(data)->seek(offset, whence);
        };
        archive* one = archive_.get();
        const bool zip = is_zip(bytes_);
        const bool is_set = one != nullptr && is_all_known(one, zip) &&
                            archive_read_set_callback_data(one, &reader_) == ARCHIVE_OK &&
                            archive_read_set_read_callback(one, read) == ARCHIVE_OK &&
                            archive_read_set_skip_callback(one, skip) == ARCHIVE_OK &&
                            (!zip || archive_read_set_seek_callback(one, seek) == ARCHIVE_OK);
        if (!is_set) {
            return Error{Blame::node, "libarchive here can't read archives"};
        }
        // Names are bytes, whatever the locale.
        static_cast<void>(archive_read_set_options(one, "hdrcharset=BINARY"));
        if (bytes_.size() == 0 || archive_read_open1(one) != ARCHIVE_OK) {
            return unknown();
        }
        return {};
    }

    [[nodiscard]] Error wrong(const std::string& what) const {
        return Error{Blame::user, name_ + ": " + what}.remedy("make or copy the archive again");
    }
    [[nodiscard]] Error unknown() const {
        return Error{Blame::user, name_ + ": is no archive that can be unpacked"}.remedy(
            "give a tar, plain or by gzip, zstd, xz, bzip2 or lz4, or a zip, or leave out "
            "extract");
    }
    [[nodiscard]] Error damaged() const {
        if (!has_members_) {
            return unknown();
        }
        const char* why = archive_error_string(archive_.get());
        return wrong("is damaged or cut off" +
                     (member_.empty() ? std::string{} : " at or behind '" + member_ + "'") +
                     (why == nullptr ? std::string{} : " (" + std::string{why} + ")"));
    }
    /// What the disk is to blame for names the disk's path already.
    [[nodiscard]] Error named(Error why) const {
        if (why.cause() != 0 || is_told_) {
            return why;
        }
        return std::move(why).within(name_ + ": '" + member_ + "'");
    }

    Status add(archive_entry* entry) {
        const char* name = archive_entry_pathname(entry);
        if (name == nullptr) {
            name = archive_entry_pathname_utf8(entry);
        }
        member_ = name == nullptr ? "" : name;
        Result<std::vector<std::string>> parts = member_parts(member_);
        if (!parts) {
            return std::move(parts).error();
        }
        const Member member = describe(entry, *std::move(parts));
        if (const char* original = archive_entry_hardlink(entry); original != nullptr) {
            const Result<std::vector<std::string>> place = member_parts(original);
            return place ? tree_.add_hard_link(member, *place)
                         : Status{place.error().within("is a hard link that")};
        }
        switch (archive_entry_filetype(entry)) {
            case AE_IFDIR:
                return tree_.add_directory(member);
            case AE_IFLNK:
                return add_symlink(entry, member);
            case AE_IFREG:
                return add_file(entry, member);
            default:
                return Error{Blame::user, "is a device, a pipe or a socket"}.remedy(
                    "only files, directories and links can be unpacked, take it out");
        }
    }

    Status add_symlink(archive_entry* entry, const Member& member) {
        const char* text = archive_entry_symlink(entry);
        if (text == nullptr) {
            text = archive_entry_symlink_utf8(entry);
        }
        return tree_.add_symlink(member, text == nullptr ? "" : text);
    }

    Status add_file(archive_entry* entry, const Member& member) {
        if (Status begun = tree_.begin_file(member); !begun) {
            return begun;
        }
        std::uint64_t end = 0;
        while (true) {
            const void* data = nullptr;
            std::size_t size = 0;
            la_int64_t offset = 0;
            const int got = archive_read_data_block(archive_.get(), &data, &size, &offset);
            if (got == ARCHIVE_EOF) {
                break;
            }
            if (got != ARCHIVE_OK || offset < 0) {
                is_told_ = true;
                return damaged();
            }
            const Bytes bytes{static_cast<const std::byte*>(data), size};
            if (Status written = tree_.write(static_cast<std::uint64_t>(offset), bytes);
                !written) {
                return written;
            }
            end = std::max(end, static_cast<std::uint64_t>(offset) + size);
        }
        const la_int64_t size = archive_entry_size(entry);
        return tree_.end_file(member, std::max(end, static_cast<std::uint64_t>(size)));
    }

    Member describe(archive_entry* entry, std::vector<std::string> parts) const {
        Member member;
        member.parts = std::move(parts);
        member.mode = static_cast<std::uint16_t>(archive_entry_perm(entry) & 07777U);
        const long nanoseconds = archive_entry_mtime_nsec(entry);
        const bool has_time = archive_entry_mtime_is_set(entry) != 0 && nanoseconds >= 0 &&
                              nanoseconds < kNanosecondsPerSecond;
        member.mtime = has_time
                           ? FileTime{.seconds = archive_entry_mtime(entry),
                                      .nanoseconds = static_cast<std::uint32_t>(nanoseconds)}
                           : mtime_;
        const char* name = nullptr;
        const void* value = nullptr;
        std::size_t size = 0;
        static_cast<void>(archive_entry_xattr_reset(entry));
        while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
            // ("system." ones are ACLs in somebody else's bytes.)
            const bool is_taken = name != nullptr && is_carried(name) &&
                                  std::string_view{name}.starts_with("user.") &&
                                  size <= kMaxAttributeBytes &&
                                  member.attributes.size() < kMaxTreeAttributes;
            if (is_taken) {
                const auto* bytes = static_cast<const std::byte*>(value);
                member.attributes.push_back({.name = name, .value = {bytes, bytes + size}});
            }
        }
        return member;
    }

    /// A plain tar ends in zeros. Of a compressed one the filter tells whether it is whole.
    [[nodiscard]] bool is_ended() {
        const bool is_plain =
            archive_filter_count(archive_.get()) == 1 &&
            (archive_format(archive_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
        if (!is_plain || bytes_.size() < kTarBlockBytes) {
            return true;
        }
        std::array<std::byte, kTarBlockBytes> last{};
        return bytes_.read(bytes_.size() - kTarBlockBytes, last) == kTarBlockBytes &&
               std::ranges::all_of(last, [](std::byte one) { return one == std::byte{0}; });
    }

    ArrivedBytes& bytes_;
    UnpackTree& tree_;
    std::string name_;
    FileTime mtime_;
    Reader reader_;
    Archive archive_;  ///< Reads by reader_.
    std::string member_;
    bool has_members_ = false;
    bool is_told_ = false;
};

}  // namespace

Status unpack(ArrivedBytes& bytes,
              UnpackTree& tree,
              const std::string& name,
              const FileTime& mtime) {
    return Unpacking{bytes, tree, name, mtime}.run();
}

}  // namespace stage
