#include "stager/files/archive/unpacker.h"

#include "stager/files/archive/archive_reader.h"
#include "stager/files/manifest/member_name.h"

#include <algorithm>
#include <string_view>

namespace stage {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

/// libarchive reads a pax time's sign and fraction separately: "-99.5" as -99 s and 0.5 s. (The
/// sign of "-0.5" is lost.)
FileTime time_of(archive_entry* entry) {
    const std::int64_t seconds = archive_entry_mtime(entry);
    const long nanoseconds = archive_entry_mtime_nsec(entry);
    if (seconds >= 0 || nanoseconds == 0) {
        return {.seconds = seconds, .nanoseconds = static_cast<std::uint32_t>(nanoseconds)};
    }
    return {.seconds = seconds - 1,
            .nanoseconds = static_cast<std::uint32_t>(kNanosecondsPerSecond - nanoseconds)};
}

class Unpacking {
  public:
    Unpacking(ArrivedBytes& bytes, UnpackTree& tree, std::string name, const FileTime& mtime)
        : tree_{tree}, name_{std::move(name)}, mtime_{mtime}, reader_{bytes, trouble_} {}

    Status run() {
        if (!reader_.open()) {
            return trouble_.is_set() ? failed() : unknown();
        }
        using Next = ArchiveReader::Next;
        Next next = reader_.next();
        for (; next == Next::member; next = reader_.next()) {
            if (Status added = add(reader_.entry()); !added) {
                return named(std::move(added).error());
            }
        }
        if (next == Next::failed || !reader_.finish()) {
            return failed();
        }
        if (!reader_.is_ended()) {
            return wrong("ends too early, the mark of a tar's end is missing");
        }
        return tree_.finish(mtime_);
    }

  private:
    [[nodiscard]] Error wrong(const std::string& what) const {
        return Error{Blame::user, name_ + ": " + what}.remedy("make or copy the archive again");
    }
    [[nodiscard]] Error unknown() const {
        return Error{Blame::user, name_ + ": is not an archive that can be unpacked"}.remedy(
            "give a tar, plain or by gzip, zstd, xz, bzip2 or lz4, or a zip, or leave out "
            "extract");
    }
    /// The error for the trouble, in the library's words.
    [[nodiscard]] Error failed() const {
        const std::string where =
            member_.empty() ? std::string{} : " at or behind '" + member_ + "'";
        const std::string why = trouble_.why.empty() ? "" : " (" + trouble_.why + ")";
        switch (trouble_.kind) {
            case ReadTrouble::Kind::unreadable:
                return Error::from_errno(
                    Blame::node, name_ + ": the received bytes can't be read", trouble_.cause);
            case ReadTrouble::Kind::unsupported:
                return Error{Blame::user, name_ + ": can't be unpacked here" + where + why}
                    .remedy("unpack it first, and stage the directory");
            default:
                return wrong("is damaged or cut off" + where + why);
        }
    }
    /// Errors that are caused by the disk name its path already.
    [[nodiscard]] Error named(Error why) const {
        if (why.cause() != 0 || trouble_.is_set()) {
            return why;
        }
        return std::move(why).within(name_ + ": '" + member_ + "'");
    }

    Status add(archive_entry* entry) {
        const std::optional<std::string> name = reader_.name();
        if (!name) {
            return wrong("has a member without a name").within("behind '" + member_ + "'");
        }
        member_ = *name;
        TRY(auto parts, member_parts(member_));
        Member member = describe(entry, std::move(parts));
        if (const char* original = archive_entry_hardlink(entry); original != nullptr) {
            const Result<std::vector<std::string>> place = member_parts(original);
            return place ? tree_.add_hard_link(member, *place)
                         : Status{place.error().within("is a hard link that")};
        }
        const auto type = archive_entry_filetype(entry);
        if (type == AE_IFDIR || (type == AE_IFREG && member_.ends_with('/'))) {
            // A zip may mark a directory only by its name, and give it a file's mode.
            member.mode |= type == AE_IFDIR ? 0U : 0111U;
            return tree_.add_directory(member);
        }
        switch (type) {
            case AE_IFLNK:
                return add_symlink(entry, member);
            case AE_IFREG:
                return add_file(entry, member);
            default:
                return tree_.add_device(member);
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
        std::uint64_t offset = 0;
        Bytes bytes;
        using Next = ArchiveReader::Next;
        Next next = reader_.data(bytes, offset);
        for (; next == Next::member; next = reader_.data(bytes, offset)) {
            if (Status written = tree_.write(offset, bytes); !written) {
                return written;
            }
            end = std::max(end, offset + bytes.size());
        }
        if (next == Next::failed) {
            return failed();
        }
        const la_int64_t size = archive_entry_size(entry);
        return tree_.end_file(member, std::max(end, static_cast<std::uint64_t>(size)));
    }

    Member describe(archive_entry* entry, std::vector<std::string> parts) const {
        Member member;
        member.parts = std::move(parts);
        member.mode = reader_.mode();
        const long nanoseconds = archive_entry_mtime_nsec(entry);
        const bool has_time = archive_entry_mtime_is_set(entry) != 0 && nanoseconds >= 0 &&
                              nanoseconds < kNanosecondsPerSecond;
        member.mtime = has_time ? time_of(entry) : mtime_;
        const char* name = nullptr;
        const void* value = nullptr;
        std::size_t size = 0;
        static_cast<void>(archive_entry_xattr_reset(entry));
        while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
            // ("system." attributes would be ACLs from an untrusted author.)
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

    UnpackTree& tree_;
    std::string name_;
    FileTime mtime_;
    ReadTrouble trouble_;
    ArchiveReader reader_;  ///< Sets trouble_.
    std::string member_;
};

}  // namespace

Status unpack(ArrivedBytes& bytes,
              UnpackTree& tree,
              const std::string& name,
              const FileTime& mtime) {
    return Unpacking{bytes, tree, name, mtime}.run();
}

}  // namespace stage
