#include "stager/cache/store.h"

#include "transport/base/hex.h"
#include "transport/os/names_in.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace stage {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::string_view kDraft = "new.";
constexpr std::string_view kStamp = "s.";
constexpr std::string_view kPart = "p.";

std::optional<std::uint32_t> uid_of(const std::string& name) {
    std::uint32_t uid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), uid);
    const bool is_number = read.ec == std::errc{} && read.ptr == name.data() + name.size();
    return is_number && std::to_string(uid) == name ? std::optional{uid} : std::nullopt;
}

std::string stamp_name(const SourceStamp& stamp) {
    return std::string{kStamp} + to_hex(stamp);
}

std::optional<SourceStamp> stamp_of_name(std::string_view name,
                                         std::string_view kind = kStamp) {
    SourceStamp stamp{};
    const bool is_one = name.starts_with(kind) && from_hex(name.substr(kind.size()), stamp);
    return is_one ? std::optional{stamp} : std::nullopt;
}

std::string name_of(const CacheKey& key) {
    return key.is_part ? std::string{kPart} + to_hex(key.content.key) : entry_name(key.content);
}

/// The key of an entry of that name in this user's directory; nothing for other names.
std::optional<CacheKey> key_of_name(std::uint32_t uid, std::string_view name) {
    if (const auto content = content_of_name(name)) {
        return CacheKey{.uid = uid, .content = *content};
    }
    const auto stamp = stamp_of_name(name, kPart);
    return stamp ? std::optional{part_of(uid, *stamp)} : std::nullopt;
}

bool is_draft(std::string_view name) {
    return name.starts_with(kDraft) && name.size() > kDraft.size() &&
           name.find_first_not_of("0123456789", kDraft.size()) == std::string_view::npos;
}

/// The content that a link records for the file it is named after.
std::optional<Content> content_behind(int directory, const std::string& link) {
    std::array<char, 256> text{};
    const ssize_t length = ::readlinkat(directory, link.c_str(), text.data(), text.size());
    return length > 0 ? content_of_name({text.data(), static_cast<std::size_t>(length)})
                      : std::nullopt;
}

CacheIndex::Size size_in(const struct stat& status, bool is_part) {
    constexpr std::uint64_t kStatBlock = 512;
    const std::uint64_t on_disk = static_cast<std::uint64_t>(status.st_blocks) * kStatBlock;
    return {.bytes = is_part ? on_disk : static_cast<std::uint64_t>(status.st_size),
            .on_disk = on_disk};
}

std::optional<CacheStore::Stored> stored_as(int directory,
                                            std::uint32_t uid,
                                            const std::string& name) {
    struct stat status {};
    const auto key = key_of_name(uid, name);
    const bool is_entry =
        key && ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && status.st_size > 0;
    if (!is_entry) {
        return std::nullopt;
    }
    return CacheStore::Stored{
        .key = *key, .size = size_in(status, key->is_part), .used_at = status.st_mtim.tv_sec};
}

void append_entries(int directory, std::uint32_t uid, std::vector<CacheStore::Stored>& all) {
    for (const std::string& name : names_in(directory)) {
        if (const auto stored = stored_as(directory, uid, name)) {
            all.push_back(*stored);
        }
    }
}

void take_away(int directory, const std::string& name) {
    static_cast<void>(::unlinkat(directory, name.c_str(), 0));
}

/// True for a directory that user_directory() made. (A job's directory has such a name, too.)
bool is_user_directory(int above, const std::string& name) {
    struct stat status {};
    return uid_of(name) && ::fstatat(above, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

bool has_user_name(const std::string& name) {
    return key_of_name(0, name) || stamp_of_name(name);
}

}  // namespace

std::string entry_name(const Content& content) {
    return to_hex(content.key) + '.' + to_hex(content.sum);
}

std::optional<Content> content_of_name(std::string_view name) {
    Content content;
    const std::size_t dot = 2 * content.key.size();
    const bool is_one = name.size() > dot && name[dot] == '.' &&
                        from_hex(name.substr(0, dot), content.key) &&
                        from_hex(name.substr(dot + 1), content.sum);
    return is_one ? std::optional{content} : std::nullopt;
}

std::optional<std::string> CacheStore::foreign_name_in(const UniqueFd& directory) {
    for (const std::string& name : names_in(directory.get())) {
        const bool is_users = is_user_directory(directory.get(), name);
        if (!is_users && !is_draft(name) && name != "lost+found") {
            return name;
        }
        const UniqueFd user{is_users ? ::openat(directory.get(), name.c_str(), kDirectory)
                                     : -1};
        const std::vector<std::string> names = names_in(user.get());
        const auto other = std::ranges::find_if_not(names, has_user_name);
        if (other != names.end()) {
            return name + '/' + *other;
        }
    }
    return std::nullopt;
}

void CacheStore::sweep(CacheIndex& index) {
    for (const std::string& name : names_in(directory_.get())) {
        const auto uid = uid_of(name);
        if (uid) {
            sweep_user(*uid, index);
        } else if (is_draft(name)) {
            take_away(directory_.get(), name);
        }
    }
}

void CacheStore::sweep_user(std::uint32_t uid, CacheIndex& index) {
    const UniqueFd directory{
        ::openat(directory_.get(), std::to_string(uid).c_str(), kDirectory)};
    std::vector<std::string> links;
    for (const std::string& name : names_in(directory.get())) {
        const auto stored = stored_as(directory.get(), uid, name);
        if (stored) {
            index.put(stored->key, stored->size, stored->used_at);
        } else if (stamp_of_name(name)) {
            links.push_back(name);
        } else if (key_of_name(uid, name)) {
            take_away(directory.get(), name);
        }
    }
    for (const std::string& name : links) {
        const auto content = content_behind(directory.get(), name);
        if (!content || !index.has({uid, *content})) {
            take_away(directory.get(), name);
            continue;
        }
        if (const auto old = index.learn(uid, *stamp_of_name(name), *content)) {
            take_away(directory.get(), stamp_name(*old));
        }
    }
}

std::vector<CacheStore::Stored> CacheStore::list() const {
    std::vector<Stored> all;
    for (const std::string& user : names_in(directory_.get())) {
        const auto uid = uid_of(user);
        const UniqueFd directory{uid ? ::openat(directory_.get(), user.c_str(), kDirectory)
                                     : -1};
        if (uid) {
            append_entries(directory.get(), *uid, all);
        }
    }
    return all;
}

UniqueFd CacheStore::user_directory(std::uint32_t uid) const {
    const std::string name = std::to_string(uid);
    static_cast<void>(::mkdirat(directory_.get(), name.c_str(), 0700));
    return UniqueFd{::openat(directory_.get(), name.c_str(), kDirectory)};
}

Result<CacheStore::Draft> CacheStore::begin() {
    Draft draft;
    draft.name = std::string{kDraft} + std::to_string(++drafts_);
    constexpr int kMake = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    take_away(directory_.get(), draft.name);
    draft.file.reset(::openat(directory_.get(), draft.name.c_str(), kMake, 0400));
    if (!draft.file) {
        return Error::from_errno(Blame::node, "CacheDir: making " + draft.name);
    }
    return draft;
}

void CacheStore::abandon(const Draft& draft) {
    take_away(directory_.get(), draft.name);
}

CacheIndex::Size CacheStore::size_of(const Draft& draft, bool is_part) {
    struct stat status {};
    return ::fstat(draft.file.get(), &status) == 0 ? size_in(status, is_part)
                                                   : CacheIndex::Size{};
}

Status CacheStore::publish(const Draft& draft, const CacheKey& key) {
    const UniqueFd directory = user_directory(key.uid);
    const std::string name = name_of(key);
    if (!directory ||
        ::renameat(directory_.get(), draft.name.c_str(), directory.get(), name.c_str()) != 0) {
        Error why = Error::from_errno(Blame::node, "CacheDir: naming an entry");
        abandon(draft);
        return why;
    }
    return {};
}

UniqueFd CacheStore::open(const CacheKey& key) const {
    const UniqueFd directory = user_directory(key.uid);
    return UniqueFd{::openat(
        directory.get(), name_of(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)};
}

void CacheStore::mark_used(const UniqueFd& entry) {
    const std::array<timespec, 2> now{{{0, UTIME_OMIT}, {0, UTIME_NOW}}};
    static_cast<void>(::futimens(entry.get(), now.data()));
}

UniqueFd CacheStore::remove(const CacheKey& key) {
    const UniqueFd directory = user_directory(key.uid);
    std::vector<SourceStamp> stamps;
    for (const std::string& name : names_in(directory.get())) {
        const auto stamp = stamp_of_name(name);
        if (stamp && content_behind(directory.get(), name) == key.content) {
            stamps.push_back(*stamp);
        }
    }
    return remove(key, stamps);
}

UniqueFd CacheStore::remove(const CacheKey& key, const std::vector<SourceStamp>& stamps) {
    const UniqueFd directory = user_directory(key.uid);
    for (const SourceStamp& stamp : stamps) {
        take_away(directory.get(), stamp_name(stamp));
    }
    UniqueFd file = open(key);
    take_away(directory.get(), name_of(key));
    return file;
}

void CacheStore::forget(std::uint32_t uid, const SourceStamp& stamp) {
    take_away(user_directory(uid).get(), stamp_name(stamp));
}

void CacheStore::remember(std::uint32_t uid, const SourceStamp& stamp, const Content& content) {
    const UniqueFd directory = user_directory(uid);
    const std::string name = stamp_name(stamp);
    take_away(directory.get(), name);
    // If the link can't be made, the file is read again next time.
    [[maybe_unused]] const int linked =
        ::symlinkat(entry_name(content).c_str(), directory.get(), name.c_str());
}

}  // namespace stage
