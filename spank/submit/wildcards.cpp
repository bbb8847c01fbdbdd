#include "spank/submit/wildcards.h"

#include "spank/submit/source_check.h"
#include "stager/control/message.h"
#include "stager/spec/name_pattern.h"

#include <glob.h>

#include <memory>
#include <string>

namespace stage {
namespace {

constexpr const char* kWildcards = "*?[";

/// The words of the user's source from the first one with a wildcard on: "*.h5" of "a/*.h5".
std::string_view pattern_in(std::string_view written) {
    const std::size_t first = written.find_first_of(kWildcards);
    const std::size_t slash = first == 0 ? std::string_view::npos : written.rfind('/', first);
    return first == std::string_view::npos ? std::string_view{} : written.substr(slash + 1);
}

std::string without_wildcards(std::string_view directory) {
    std::string literal;
    for (const char c : directory) {
        if (c == '\\' || std::string_view{kWildcards}.find(c) != std::string_view::npos) {
            literal += '\\';
        }
        literal += c;
    }
    return literal;
}

std::vector<std::string> names_like(const std::string& pattern) {
    glob_t found{};
    const std::unique_ptr<glob_t, void (*)(glob_t*)> freed{&found, ::globfree};
    std::vector<std::string> names;
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    return names;
}

}  // namespace

Result<std::vector<StageSpec>> expand_wildcards(const StageSpec& spec,
                                                std::string_view written) {
    const std::string_view pattern = pattern_in(written);
    const bool is_name = pattern.empty() || spec.is_list || spec.is_late ||
                         is_file_or_directory(plain_name(spec.source));
    if (is_name) {
        return std::vector{spec};
    }
    if (has_value_pattern(spec.source)) {
        return Error{Blame::user,
                     printable(spec.source) +
                         ": wildcards are expanded at submission, and %j and the like only "
                         "when the job starts"}
            .remedy("name the files in a list, a line each: --stage-file=@LIST");
    }
    const std::string directory = spec.source.substr(0, spec.source.size() - pattern.size());
    const auto names =
        names_like(without_wildcards(plain_name(directory)) + plain_name(std::string{pattern}));
    if (names.size() > 1 && !spec.destination.empty() && !spec.destination.ends_with('/')) {
        return Error{Blame::user,
                     printable(spec.source) + ": " + std::to_string(names.size()) +
                         " files match, and all would be called " + printable(spec.destination)}
            .remedy("write a / behind the name of a directory for them");
    }
    std::vector<StageSpec> specs;
    for (const std::string& name : names) {
        specs.push_back(spec);
        specs.back().source = literal_name(name);
    }
    return specs.empty() ? std::vector{spec} : std::move(specs);
}

}  // namespace stage
