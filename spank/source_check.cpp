#include "spank/source_check.h"

#include "stager/control/message.h"
#include "transport/base/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace stage {

Status check_source(const StageSpec& spec) {
    const std::string shown = printable(spec.source);
    struct stat found {};
    if (::stat(spec.source.c_str(), &found) != 0) {
        const int cause = errno;
        Error error = Error::from_errno(Blame::user, shown, cause);
        return cause == ENOENT ? std::move(error).remedy(
                                     "if a job that this one depends on makes it, write " +
                                     std::string{"SRC::late"})
                               : std::move(error).remedy("check the path");
    }
    const bool is_directory = S_ISDIR(found.st_mode);
    if (is_directory && spec.is_list) {
        return Error{Blame::user, shown + " is a directory"}.remedy(
            "a list is a file of names; for the directory itself leave the @ out");
    }
    if (is_directory && ::access(spec.source.c_str(), X_OK) != 0) {
        return Error::from_errno(Blame::user, shown).remedy("make it searchable for yourself");
    }
    if (!is_directory && !S_ISREG(found.st_mode)) {
        return Error{Blame::user, shown + " is not a regular file"}.remedy(
            "name a regular file or a directory");
    }
    const UniqueFd fd{
        ::open(spec.source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!fd) {
        return Error::from_errno(Blame::user, shown).remedy("make it readable for yourself");
    }
    return {};
}

}  // namespace stage
