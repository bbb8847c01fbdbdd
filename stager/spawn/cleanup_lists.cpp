#include "stager/spawn/cleanup_lists.h"

#include "stager/removal/cleanup_entry.h"
#include "transport/base/text.h"
#include "transport/os/names_in.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace stage {
namespace {

constexpr std::string_view kStepPart = ".step.";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kList = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

UniqueFd find_cleanup_directory(int root) {
    return UniqueFd{::openat(root, kCleanupDirectory, kDirectory)};
}

/// Removes a decimal number without sign or leading zeros from the beginning of `text`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (error != std::errc{} || (length > 1 && text.front() == '0')) {
        return std::nullopt;
    }
    text.remove_prefix(length);
    return value;
}

std::optional<std::uint32_t> take_number_and(std::string_view& text, std::string_view next) {
    const auto number = take_number(text);
    if (!number || !text.starts_with(next)) {
        return std::nullopt;
    }
    text.remove_prefix(next.size());
    return number;
}

}  // namespace

bool CleanupListName::is_of(const std::vector<std::string>& path) const {
    const std::string own = cleanup_list_name(uid, gid, path).stage;
    return stage == own || (path.size() == 1 && stage.starts_with(own + '.'));
}

std::uint32_t CleanupListName::job_id() const {
    std::string_view text = stage;
    return take_number(text).value_or(0);
}

CleanupListName cleanup_list_name(uid_t uid, gid_t gid, const std::vector<std::string>& path) {
    return {.uid = uid, .gid = gid, .stage = joined(path, ".")};
}

std::string to_text(const CleanupListName& name) {
    return std::to_string(name.uid) + '.' + std::to_string(name.gid) + '.' + name.stage;
}

std::optional<CleanupListName> parse_cleanup_list_name(std::string_view text) {
    const auto uid = take_number_and(text, ".");
    const auto gid = uid ? take_number_and(text, ".") : std::nullopt;
    std::string_view rest = text;
    const auto job = gid ? take_number(rest) : std::nullopt;
    bool is_whole = job && rest.empty();
    if (job && rest.starts_with(kStepPart)) {
        rest.remove_prefix(kStepPart.size());
        is_whole = take_number(rest) && rest.empty();
    }
    if (!is_whole) {
        return std::nullopt;
    }
    return CleanupListName{.uid = *uid, .gid = *gid, .stage = std::string{text}};
}

std::vector<CleanupListName> cleanup_lists(int root) {
    std::vector<CleanupListName> lists;
    for (const std::string& name : names_in(find_cleanup_directory(root).get())) {
        if (auto list = parse_cleanup_list_name(name)) {
            lists.push_back(*std::move(list));
        }
    }
    return lists;
}

UniqueFd open_cleanup_list(int root, const CleanupListName& name) {
    return UniqueFd{::openat(find_cleanup_directory(root).get(), to_text(name).c_str(), kList)};
}

void remove_cleanup_list(int root, const CleanupListName& name) {
    static_cast<void>(::unlinkat(find_cleanup_directory(root).get(), to_text(name).c_str(), 0));
    remove_empty_cleanup_directory(root);
}

void remove_empty_cleanup_directory(int root) {
    static_cast<void>(::unlinkat(root, kCleanupDirectory, AT_REMOVEDIR));
}

Result<std::string> set_directory_aside(int root, const std::string& job) {
    constexpr int kNamesMax = 40;
    const UniqueFd place = open_cleanup_directory(root);
    for (int number = 0; number < kNamesMax; ++number) {
        std::string name =
            kSetAsidePrefix + job + (number == 0 ? "" : '.' + std::to_string(number));
        if (::renameat2(root, job.c_str(), place.get(), name.c_str(), RENAME_NOREPLACE) == 0) {
            return name;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return Error::from_errno(Blame::node, "moving " + job + " to StageRoot/.stagecast");
}

std::vector<std::string> directories_set_aside(int root) {
    std::vector<std::string> names = names_in(find_cleanup_directory(root).get());
    std::erase_if(names,
                  [](const std::string& name) { return !name.starts_with(kSetAsidePrefix); });
    return names;
}

std::set<std::uint32_t> jobs_with_cleanup_lists(int root) {
    std::set<std::uint32_t> jobs;
    for (const CleanupListName& list : cleanup_lists(root)) {
        jobs.insert(list.job_id());
    }
    return jobs;
}

UniqueFd open_cleanup_directory(int root) {
    static_cast<void>(::mkdirat(root, kCleanupDirectory, 0700));
    return find_cleanup_directory(root);
}

Result<CleanupList> CleanupList::open(int root, const CleanupListName& name) {
    UniqueFd file;
    // The end of another stage may remove the empty directory in between.
    for (int tries = 0; tries < 3 && !file; ++tries) {
        const UniqueFd directory = open_cleanup_directory(root);
        file.reset(::openat(directory.get(), to_text(name).c_str(), kList | O_CREAT, 0600));
    }
    if (!file) {
        return Error::from_errno(Blame::node,
                                 "making the cleanup list " + to_text(name) + " in StageRoot");
    }
    return CleanupList{std::move(file)};
}

Status CleanupList::add(const std::vector<std::string>& entries) {
    std::string text;
    for (const std::string& entry : entries) {
        text.append(entry).push_back('\0');
    }
    struct stat before {};
    if (::fstat(file_.get(), &before) != 0) {
        return Error::from_errno(Blame::node, "the cleanup list in StageRoot");
    }
    if (static_cast<std::uint64_t>(before.st_size) + text.size() > kCleanupListMax) {
        return Error{
            Blame::user,
            "too many files outside the job's directory: the node's list of them would "
            "exceed 64 MiB"}
            .remedy("stage a directory or an archive instead of single files");
    }
    const ssize_t written = ::write(file_.get(), text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size())) {
        return {};
    }
    const int cause = written < 0 ? errno : ENOSPC;
    static_cast<void>(!::ftruncate(file_.get(), before.st_size));
    return Error::from_errno(Blame::node, "writing the cleanup list in StageRoot", cause);
}

Status CleanupList::add_uses(const std::vector<std::string>& paths) {
    std::vector<std::string> entries;
    entries.reserve(paths.size());
    for (const std::string& path : paths) {
        entries.push_back(use_entry(path));
    }
    return add(entries);
}

Status CleanupList::end_uses() {
    return add({kAllUsesListed});
}

}  // namespace stage
