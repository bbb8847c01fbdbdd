#include "stager/worker/requests/library_orders.h"

#include "stager/files/manifest/manifest.h"

#include <algorithm>
#include <functional>
#include <map>

namespace stage {
namespace {

constexpr char kOfProgram = 'L';
constexpr char kForAll = 'A';
constexpr char kPaths = 'P';
constexpr std::size_t kMaxLineBytes = 16384;

using PathByName = std::map<std::string, std::string, std::less<>>;

PathByName all_of(const LibraryClosure& closure) {
    PathByName paths;
    for (const auto* const libraries : {&closure.sent, &closure.present}) {
        for (const Library& one : *libraries) {
            paths.emplace(one.name, one.path);
        }
    }
    return paths;
}

Status check_beside(const PlacedProgram& bringing, const PlacedProgram& other) {
    const PathByName needed = all_of(other.closure);
    for (const Library& brought : bringing.closure.sent) {
        const auto found = needed.find(brought.name);
        if (found != needed.end() && have_other_bytes(brought.path, found->second)) {
            return Error{Blame::user,
                         other.source + " would load the library " + brought.name + " of " +
                             bringing.source + ", but needs " + found->second}
                .remedy(bringing.closure.is_program
                            ? "stage one of the two to a directory of its own, as in SRC:DIR/"
                            : "leave out libs, and let the program that loads it bring them");
        }
    }
    return {};
}

}  // namespace

std::string library_line(const LibraryLine& library) {
    std::string line = (library.is_for_all ? kForAll : kOfProgram) + library.name;
    return library.same_as.empty() ? line : line + '\0' + library.same_as;
}

std::optional<LibraryLine> parse_library_line(std::string_view line) {
    const char kind = line.empty() ? '\0' : line.front();
    const std::string_view names = line.substr(std::min<std::size_t>(1, line.size()));
    const std::size_t end = std::min(names.find('\0'), names.size());
    const std::string_view name = names.substr(0, end);
    const std::string_view same = names.substr(std::min(end + 1, names.size()));
    if ((kind != kOfProgram && kind != kForAll) || !is_plain_name(name) ||
        (end < names.size() && !is_plain_name(same))) {
        return std::nullopt;
    }
    return LibraryLine{
        .name = std::string{name}, .is_for_all = kind == kForAll, .same_as = std::string{same}};
}

Result<std::string> program_line(const std::vector<std::string>& paths) {
    std::string line;
    for (const std::string& path : paths) {
        line += (line.empty() ? kPaths : '\0') + path;
    }
    if (line.size() > kMaxLineBytes) {
        return Error{Blame::user, "it needs too many libraries by absolute paths"}.remedy(
            "leave out libs");
    }
    return line;
}

std::vector<std::string> parse_program_line(std::string_view line) {
    std::vector<std::string> paths;
    if (!line.starts_with(kPaths)) {
        return paths;
    }
    line.remove_prefix(1);
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find('\0', begin), line.size());
        const std::string_view path = line.substr(begin, end - begin);
        if (path.starts_with('/')) {
            paths.emplace_back(path);
        }
        begin = end + 1;
    }
    return paths;
}

Status check_libraries_agree(std::span<const PlacedProgram> programs) {
    for (std::size_t i = 0; i < programs.size() * programs.size(); ++i) {
        const PlacedProgram& bringing = programs[i / programs.size()];
        const PlacedProgram& other = programs[i % programs.size()];
        const bool is_beside =
            &bringing != &other && !bringing.closure.sent.empty() &&
            (!bringing.closure.is_program || bringing.directory == other.directory);
        Status agrees = is_beside ? check_beside(bringing, other) : Status{};
        if (!agrees) {
            return agrees;
        }
    }
    return {};
}

}  // namespace stage
