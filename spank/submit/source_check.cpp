#include "spank/submit/source_check.h"

#include "stager/control/message.h"
#include "stager/spec/name_pattern.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace stage {

namespace {

/// True if a shell would have made several names of this one: "a{1,2}", "a{1..9}".
bool has_braces(const std::string& source) {
    const std::size_t open = source.find('{');
    const std::size_t close = source.find('}', std::min(open, source.size()));
    const std::string inside =
        close == std::string::npos ? "" : source.substr(open, close - open);
    return inside.find(',') != std::string::npos || inside.find("..") != std::string::npos;
}

/// True for a pattern of sbatch's output file names that is not one of stagecast's.
bool has_unknown_pattern(std::string_view source) {
    constexpr std::string_view kOthers = "JNstx";
    while (source.find('%') != std::string_view::npos) {
        source.remove_prefix(source.find('%') + 1);
        const std::size_t letter = source.find_first_not_of("0123456789");
        if (letter == std::string_view::npos) {
            return false;
        }
        if (kOthers.find(source[letter]) != std::string_view::npos) {
            return true;
        }
        source.remove_prefix(letter + (source[letter] == '%' ? 1 : 0));
    }
    return false;
}

/// What the user may have meant by the name of no file.
std::string advice_for_absent(const StageSpec& spec, const std::string& source) {
    if (source.find_first_of("*?[") != std::string::npos) {
        return spec.is_list ? "wildcards are not expanded in a list's name" : "no file matches";
    }
    if (has_braces(source)) {
        return "nothing expands braces here, write the option once for each file, or name the "
               "files in a list, a line each: --stage-file=@LIST";
    }
    if (source.find("/~") != std::string::npos) {
        return "nothing expands ~USER here, write the whole path of that directory";
    }
    if (spec.is_list && source.ends_with("/-")) {
        return "a list is read when the job starts and can't be the standard input, write it "
               "to a file";
    }
    if (has_unknown_pattern(spec.source)) {
        return "only %j, %A, %a and %u are expanded in a source";
    }
    if (source.find_first_of(", ") != std::string::npos) {
        return "one option names one file, write it once for each file, or name the files in a "
               "list, a line each: --stage-file=@LIST";
    }
    return "if a job that this one depends on makes it, write SRC::late";
}

}  // namespace

std::string plain_name(const std::string& name) {
    if (!has_pattern(name) || has_value_pattern(name)) {
        return name;
    }
    const auto plain = expanded({.source = name}, {});
    return plain ? plain->source : name;
}

std::uint64_t known_bytes(const StageSpec& spec) {
    if (spec.is_late || spec.is_list || has_value_pattern(spec.source)) {
        return 0;
    }
    const std::string source = plain_name(spec.source);
    struct stat found {};
    if (::stat(source.c_str(), &found) != 0 || !S_ISREG(found.st_mode) ||
        ::access(source.c_str(), R_OK) != 0) {
        return 0;
    }
    constexpr std::uint64_t kStatBlock = 512;
    return std::min(static_cast<std::uint64_t>(found.st_size),
                    kStatBlock * static_cast<std::uint64_t>(found.st_blocks));
}

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
        return std::move(error).remedy(cause == ENOENT ? advice_for_absent(spec, source)
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
    // (A process that holds a lease on the file is asked for it; only the job's start waits.)
    if (!fd && errno != EWOULDBLOCK) {
        return Error::from_errno(Blame::user, shown).remedy("make it readable for yourself");
    }
    return {};
}

}  // namespace stage
