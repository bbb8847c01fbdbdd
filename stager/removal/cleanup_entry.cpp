#include "stager/removal/cleanup_entry.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

namespace stage {
namespace {

constexpr char kUseMark = 'U';
constexpr char kLibraryMark = 'L';
constexpr std::string_view kParentEnd = "/.";

}  // namespace

std::string use_entry(const std::string& path) {
    return kUseMark + path;
}

std::string removal_entry(const std::string& path, int own) {
    const std::string identity = file_identity(own, "");
    return identity.empty() ? path : identity + ':' + path;
}

std::string library_entry(const std::string& entry) {
    return std::string{kLibraryMark} + (entry.starts_with('/') ? ":" : "") + entry;
}

std::string parent_entry(const std::string& path) {
    return path + std::string{kParentEnd};
}

std::string file_identity(int at, const std::string& name) {
    struct statx facts {};
    constexpr unsigned kWanted = STATX_INO | STATX_BTIME;
    const int flags = AT_SYMLINK_NOFOLLOW | (name.empty() ? AT_EMPTY_PATH : 0);
    if (::statx(at, name.c_str(), flags, kWanted, &facts) != 0) {
        return {};
    }
    // Inode numbers are reused: the time of birth, where known, tells two files apart.
    const bool has_birth = (facts.stx_mask & STATX_BTIME) != 0;
    return std::to_string(facts.stx_ino) + '.' +
           (has_birth ? std::to_string(facts.stx_btime.tv_sec) + '.' +
                            std::to_string(facts.stx_btime.tv_nsec)
                      : "0");
}

CleanupEntry parse_cleanup_entry(const std::string& text) {
    CleanupEntry entry;
    if (text == kAllUsesListed) {
        entry.kind = CleanupEntry::Kind::all_listed;
        return entry;
    }
    std::string rest = text;
    if (rest.starts_with(kUseMark)) {
        entry.kind = CleanupEntry::Kind::use;
        rest.erase(0, 1);
    } else if (rest.starts_with(kLibraryMark)) {
        entry.is_library = true;
        rest.erase(0, 1);
    }
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (slash > 0 && rest[slash - 1] == ':') {
        entry.identity = rest.substr(0, slash - 1);
        rest.erase(0, slash);
    }
    entry.is_parent = rest.size() > kParentEnd.size() && rest.ends_with(kParentEnd);
    if (entry.is_parent) {
        rest.resize(rest.size() - kParentEnd.size());
    }
    entry.is_directory = rest.size() > 1 && rest.ends_with('/');
    if (entry.is_directory) {
        rest.pop_back();
    }
    entry.path = std::move(rest);
    return entry;
}

std::vector<std::string> split_cleanup_list(std::string_view text) {
    std::vector<std::string> entries;
    for (std::size_t end = text.find('\0'); end != std::string_view::npos;
         end = text.find('\0')) {
        entries.emplace_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return entries;
}

}  // namespace stage
