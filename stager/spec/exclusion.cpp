#include "stager/spec/exclusion.h"

#include <fnmatch.h>

#include <algorithm>

namespace stage {
namespace {

bool matches(const std::string& pattern, std::string_view path) {
    const int flags = pattern.find("**") == std::string::npos ? FNM_PATHNAME : 0;
    return ::fnmatch(pattern.c_str(), std::string{path}.c_str(), flags) == 0;
}

bool excludes(std::string pattern, std::string_view path, bool is_directory) {
    if (pattern.ends_with('/')) {
        if (!is_directory) {
            return false;
        }
        pattern.pop_back();
    }
    // rsync's: "**/" also stands for no directory, and "/***" for one and all in it.
    constexpr std::string_view kAll = "/***";
    if (is_directory && pattern.size() > kAll.size() && pattern.ends_with(kAll) &&
        excludes(pattern.substr(0, pattern.size() - kAll.size()), path, true)) {
        return true;
    }
    if (pattern.starts_with('/')) {
        return matches(pattern.substr(1), path);
    }
    if (pattern.starts_with("**/") && excludes('/' + pattern.substr(3), path, is_directory)) {
        return true;
    }
    const bool is_of_name =
        pattern.find('/') == std::string::npos && pattern.find("**") == std::string::npos;
    for (std::size_t begin = is_of_name ? path.rfind('/') + 1 : 0;;) {
        if (matches(pattern, path.substr(begin))) {
            return true;
        }
        const std::size_t slash = path.find('/', begin);
        if (slash == std::string_view::npos) {
            return false;
        }
        begin = slash + 1;
    }
}

}  // namespace

bool is_excluded(const std::vector<std::string>& patterns,
                 std::string_view path,
                 bool is_directory) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
        return excludes(pattern, path, is_directory);
    });
}

std::string_view reason_against_exclusion(std::string_view pattern) {
    if (pattern.find_first_not_of('/') == std::string_view::npos) {
        return "exclude= needs a pattern, as in exclude=*.log";
    }
    if (pattern.size() > kMaxExclusionBytes) {
        return "a pattern of exclude= is longer than 1024 bytes";
    }
    return pattern.find('\0') == std::string_view::npos ? std::string_view{}
                                                        : "a pattern holds a zero byte";
}

}  // namespace stage
