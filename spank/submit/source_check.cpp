#include "spank/submit/source_check.h"

#include "stager/control/message.h"
#include "stager/spec/name_pattern.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace stage {

namespace {

std::string advice_for_absent(const std::string& source) {
    return source.find_first_of("*?[") == std::string::npos
               ? "if a job that this one depends on makes it, write SRC::late"
               : "there are no wildcards, name the files in a list, a line each: "
                 "--stage-file=@LIST";
}

/// What `name` is called on the disk. (Patterns whose value only nodes know are left.)
std::string plain_name(const std::string& name) {
    if (!has_pattern(name) || has_value_pattern(name)) {
        return name;
    }
    const auto plain = expanded({.source = name}, {});
    return plain ? plain->source : name;
}

}  // namespace

bool is_file_or_directory(const std::string& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 &&
           (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
}

Status check_variables(const StageSpec& spec) {
    // The directory may be that of submission, which the user did not write.
    const std::size_t slash = std::min(spec.source.rfind('/'), spec.source.size());
    const bool is_there = is_file_or_directory(plain_name(spec.source.substr(0, slash)));
    const std::string_view variable =
        variable_in(std::string_view{spec.source}.substr(is_there ? slash : 0));
    if (variable.empty() || is_file_or_directory(plain_name(spec.source))) {
        return {};
    }
    return Error{Blame::user,
                 printable(spec.source) + ": nothing expands " + printable(variable) + " here"}
        .remedy(
            "write its value, or %u for the user, %j for the job, %A and %a for an array and "
            "its task");
}

Status check_source(const StageSpec& spec) {
    std::string source = spec.source;
    if (has_pattern(source)) {
        if (is_file_or_directory(source)) {
            return Error{Blame::user, printable(source) + ": a part of this name is expanded"}
                .remedy("write %% for a percent sign in it");
        }
        if (has_value_pattern(source)) {
            return {};  // Only the nodes know it.
        }
        source = plain_name(source);
    }
    const std::string shown = printable(source);
    struct stat found {};
    if (::stat(source.c_str(), &found) != 0) {
        const int cause = errno;
        Error error = Error::from_errno(Blame::user, shown, cause);
        return std::move(error).remedy(cause == ENOENT ? advice_for_absent(source)
                                                       : "check the path");
    }
    const bool is_directory = S_ISDIR(found.st_mode);
    if (is_directory && spec.is_list) {
        return Error{Blame::user, shown + " is a directory"}.remedy(
            "a list is a file of names; for the directory itself leave the @ out");
    }
    if (is_directory && ::access(source.c_str(), X_OK) != 0) {
        return Error::from_errno(Blame::user, shown).remedy("make it searchable for yourself");
    }
    if (!is_directory && !S_ISREG(found.st_mode)) {
        return Error{Blame::user, shown + " is not a regular file"}.remedy(
            "name a regular file or a directory");
    }
    const UniqueFd fd{::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!fd) {
        return Error::from_errno(Blame::user, shown).remedy("make it readable for yourself");
    }
    return {};
}

}  // namespace stage
