#include "stager/files/libraries/library_links.h"

#include "stager/disk/disk_error.h"
#include "stager/removal/empty_directory.h"
#include "stager/removal/stage_lists.h"
#include "transport/os/names_in.h"
#include "transport/os/unique_fd.h"

#include <boost/filesystem.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace stage {
namespace {

constexpr const char* kLinks = "libs";
constexpr const char* kSame = "same";  ///< Has a directory of links for each program, and
constexpr char kSameMark = '=';        ///< its number has this mark among the links to them.
constexpr const char* kAnyProgram = "all";

/// Opens the directory `name` in `parent`, and makes it if it is missing.
UniqueFd enter(int parent, const std::string& name) {
    if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
        return {};
    }
    return UniqueFd{
        ::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

/// The path by which the kernel, and so the loader, names an open directory.
Result<std::string> origin_of(int directory) {
    if (directory < 0) {
        return std::string{'/'} + kAnyProgram;
    }
    const std::string name = "/proc/self/fd/" + std::to_string(directory);
    boost::system::error_code failed;
    const auto path = boost::filesystem::read_symlink(name, failed);
    return failed ? Result<std::string>{target_error(name, failed.value())} : path.string();
}

/// The path below ".stagecast". (A program in "/" finds its libraries at the number itself.)
std::string link_path(const std::string& number, const std::string& origin) {
    return std::string{kLinks} + '/' + number + (origin == "/" ? "" : origin);
}

/// Makes a link to `directory` at `below`, such as "a/b/c".
bool put_link(UniqueFd at, std::string_view below, const std::string& directory) {
    for (std::size_t slash = below.find('/'); at && slash != std::string_view::npos;
         slash = below.find('/')) {
        if (slash != 0) {
            at = enter(at.get(), std::string{below.substr(0, slash)});
        }
        below.remove_prefix(slash + 1);
    }
    const std::string name{below};
    return at && ::symlinkat(directory.c_str(), at.get(), name.c_str()) == 0;
}

/// Makes the link `number` of a program at `origin` to `directory`.
Result<std::string> link_at(const std::string& base,
                            const std::string& number,
                            const std::string& directory,
                            int program) {
    TRY(auto lists, open_list_directory(base));
    TRY(const auto origin, origin_of(program));
    const std::string lists_path = base + '/' + kListDirectory + '/';
    const std::string below = link_path(number, origin);
    if (const UniqueFd links = enter(lists.get(), kLinks)) {  // Links of an earlier run.
        static_cast<void>(remove_entry(links.get(), number));
    }
    if (!put_link(std::move(lists), below, directory)) {
        return target_error(lists_path + below, errno);
    }
    return lists_path + link_path(number, program < 0 ? origin : "/$ORIGIN");
}

}  // namespace

Result<std::string> link_to_libraries(const std::string& base, const LibraryLink& link) {
    return link_at(base, std::to_string(link.number), link.directory, link.origin);
}

Result<std::string> link_to_same(const std::string& base,
                                 const LibraryLink& link,
                                 const std::map<std::string, std::string>& names) {
    TRY(const auto lists, open_list_directory(base));
    const std::string number = std::to_string(link.number);
    const std::string path = base + '/' + kListDirectory + '/' + kSame + '/' + number;
    const UniqueFd all = enter(lists.get(), kSame);
    if (all) {  // Links of an earlier run.
        static_cast<void>(remove_entry(all.get(), number));
    }
    const UniqueFd own = all ? enter(all.get(), number) : UniqueFd{};
    for (const auto& [name, other] : names) {
        const std::string file = link.directory + '/' + other;
        if (!own || ::symlinkat(file.c_str(), own.get(), name.c_str()) != 0) {
            return target_error(path + '/' + name, errno);
        }
    }
    return link_at(base, number + kSameMark, path, link.origin);
}

std::vector<std::string> linked_from(const std::string& base, int origin) {
    std::vector<std::string> directories;
    const std::string lists = base + '/' + kListDirectory + '/';
    const UniqueFd links{
        ::open((lists + kLinks).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    const Result<std::string> at = origin_of(origin);
    for (const std::string& number : at&& links ? names_in(links.get()) : directories) {
        boost::system::error_code failed;
        const auto target =
            boost::filesystem::read_symlink(lists + link_path(number, *at), failed);
        if (!failed) {
            directories.push_back(target.string());
        }
    }
    return directories;
}

}  // namespace stage
