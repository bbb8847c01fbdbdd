#include "stager/spawn/child_work.h"

#include "stager/spawn/child.h"
#include "stager/spawn/event.h"
#include "stager/spawn/remove_tree.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

namespace stage {
namespace {

constexpr int kCouldNotStart = 127;
constexpr int kFirstFd = 3;  ///< The number that arrange_descriptors() gives the first one.

void write_report(int report, std::string_view sentence) {
    [[maybe_unused]] const auto written =
        ::write(report, sentence.data(), std::min(sentence.size(), kSpawnSentenceMax));
}

/// Makes `fd`, or /dev/null for -1, stdout and stderr.
bool open_output(int fd) {
    const UniqueFd null{fd < 0 ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1};
    const int output = fd < 0 ? null.get() : fd;
    return ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0;
}

std::vector<int> numbers(const std::vector<UniqueFd>& fds) {
    std::vector<int> out;
    out.reserve(fds.size());
    for (const UniqueFd& fd : fds) {
        out.push_back(fd.get());
    }
    return out;
}

}  // namespace

int do_program(const ProgramRequest& program,
               const std::vector<UniqueFd>& fds,
               ChildPlace place) {
    std::vector<int> given = numbers(fds);
    const bool is_open = open_output(program.has_output && !given.empty() ? given.back() : -1);
    if (program.has_output && !given.empty()) {
        given.pop_back();
    }
    const auto kept = is_open
                          ? arrange_descriptors(given, place.report)
                          : Result<int>{Error::from_errno(Blame::node, "opening its output")};
    const Error why = kept ? run_program(program, place.cgroup, place.parent) : kept.error();
    write_report(kept ? *kept : place.report, why.sentence());
    return kCouldNotStart;
}

int do_role(const SpawnRole& role, const std::vector<UniqueFd>& fds, ChildPlace place) {
    if (!arrange_descriptors(numbers(fds), -1) || !die_with(place.parent)) {
        return kCouldNotStart;
    }
    static_cast<void>(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    return role(kFirstFd);
}

int do_removal(const RemoveRequest& remove,
               const std::vector<UniqueFd>& fds,
               ChildPlace place) {
    const auto kept = arrange_descriptors(numbers(fds), place.report);
    if (!kept) {
        return kCouldNotStart;
    }
    const Status removed = remove_tree(kFirstFd, remove);
    if (!removed) {
        write_report(*kept, removed.error().sentence());
    }
    return removed ? 0 : 1;
}

}  // namespace stage
