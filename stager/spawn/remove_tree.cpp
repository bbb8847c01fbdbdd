#include "stager/spawn/remove_tree.h"

#include "stager/removal/empty_directory.h"
#include "stager/removal/removal.h"
#include "stager/spawn/child.h"
#include "stager/spawn/cleanup_lists.h"
#include "transport/base/text.h"
#include "transport/os/open_unmounted.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stage {
namespace {

constexpr int kRetries = 40;
constexpr std::chrono::milliseconds kRetryAfter{250};

enum class End : int { all = 0, not_all = 1, stays = 2, broken_off = 3 };

/// The result of a part that ran as the user.
struct Acted {
    End end = End::broken_off;
    std::string why{};  ///< What was not removed, and why.
};
constexpr std::size_t kWhyMax = 1024;  ///< A pipe takes it at once.

/// Runs in the child and does not return; acts as the user. (Root, for a push.)
[[noreturn]] void act(const UserIdentity& user,
                      std::chrono::seconds longest,
                      int report,
                      const std::function<Acted()>& work) {
    // Only a signal ends a call into a file system that does not answer.
    static_cast<void>(::alarm(static_cast<unsigned>(longest.count())));
    if (user.uid != 0 && !become_user(user)) {
        ::_exit(static_cast<int>(End::broken_off));
    }
    const Acted acted = work();
    static_cast<void>(!::write(report, acted.why.data(), std::min(acted.why.size(), kWhyMax)));
    ::_exit(static_cast<int>(acted.end));
}

std::string read_report(int report) {
    std::array<char, kWhyMax> text{};
    const ssize_t got = ::read(report, text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

/// Whatever the user does to the child (stop it or kill it), and whatever hangs, root continues
/// afterwards; it leaves the child behind if not even a signal ends it.
Acted do_as_user(const UserIdentity& user,
                 std::chrono::seconds longest,
                 const std::function<Acted()>& work) {
    constexpr int kLookEvery = 200;  // ms; the child's end is seen at once.
    const auto give_up = std::chrono::steady_clock::now() + longest + std::chrono::seconds{2};
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        return {};
    }
    const UniqueFd report{ends[0]};
    const UniqueFd writing_end{ends[1]};
    const pid_t pid = ::fork();
    if (pid == 0) {
        act(user, longest, writing_end.get(), work);
    }
    const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    int status = 0;
    pid_t got = pid > 0 ? 0 : -1;
    while ((got == 0 || (got == pid && WIFSTOPPED(status))) &&
           std::chrono::steady_clock::now() < give_up) {
        if (got == pid) {
            static_cast<void>(::kill(pid, SIGKILL));
        }
        pollfd one{process.get(), POLLIN, 0};
        static_cast<void>(::poll(&one, 1, kLookEvery));
        got = ::waitpid(pid, &status, WUNTRACED | WNOHANG);
    }
    const bool is_exit = got == pid && WIFEXITED(status);
    return {.end = is_exit ? static_cast<End>(WEXITSTATUS(status)) : End::broken_off,
            .why = read_report(report.get())};
}

/// Removes, as the user, the files that the lists name.
Acted follow(const std::vector<UniqueFd>& own, const std::vector<UniqueFd>& others) {
    const Removed removed = follow_cleanup_lists(own, others);
    if (!removed.why_kept.empty()) {
        return {.end = End::not_all, .why = removed.why_kept};
    }
    return {.end = removed.why_stays.empty() ? End::all : End::stays, .why = removed.why_stays};
}

/// Removes what the stage placed elsewhere. Lists that were not worked off to their end stay
/// for the next sweep.
Status follow_lists(int root, const RemoveRequest& what, std::chrono::seconds longest) {
    std::vector<CleanupListName> names;
    std::vector<UniqueFd> own;
    std::vector<UniqueFd> others;
    for (const CleanupListName& name : cleanup_lists(root)) {
        UniqueFd list = name.uid == what.user.uid ? open_cleanup_list(root, name) : UniqueFd{};
        if (list && name.is_of(what.path)) {
            names.push_back(name);
            own.push_back(std::move(list));
        } else if (list) {
            others.push_back(std::move(list));
        }
    }
    if (own.empty() || ::geteuid() != 0) {
        return {};
    }
    const Acted acted = do_as_user(what.user, longest, [&] { return follow(own, others); });
    if (acted.end == End::broken_off || acted.end == End::not_all) {
        const std::string why = acted.end == End::not_all
                                    ? acted.why
                                    : "a file system there did not answer, or the process that "
                                      "removes it was killed";
        return Error{Blame::user,
                     "not all files staged outside the job's directory were removed: " + why}
            .remedy("the next sweep tries again");
    }
    for (const CleanupListName& name : names) {
        remove_cleanup_list(root, name);
    }
    return acted.end == End::all
               ? Status{}
               : Status{
                     Error{Blame::user,
                           "some files staged outside the job's directory were not removed: " +
                               acted.why}};
}

/// Empties only directories of the user, except for a push, whose directory is root's. The
/// user's subordinate uids are looked up only if there is a directory of another uid.
Status empty_as_root(int top, const UserIdentity& user) {
    if (user.uid == 0) {
        return empty_directory(top);
    }
    UidRanges own{just(user.uid)};
    Status emptied = empty_directory(top, own);
    if (!emptied && emptied.error().cause() == EPERM) {
        const UidRanges more = subordinate_uids(user.uid, name_of(user));
        own.insert(own.end(), more.begin(), more.end());
        emptied = more.empty() ? emptied : empty_directory(top, own);
    }
    return emptied;
}

/// What belongs to another user stays: the user who moved it there has no right to remove it.
Status set_aside(int root, const std::string& job, const Error& why) {
    const auto name = set_directory_aside(root, job);
    if (!name) {
        return why;
    }
    return Error{Blame::user, why.sentence()}.remedy(
        "it has been moved to StageRoot/.stagecast/" + *name +
        "; return it to its owner, or remove it; the rest is then removed by the next sweep");
}

/// The open directory of the last name in `path`, and its parent.
struct Found {
    UniqueFd parent;
    UniqueFd top;
};

/// Fails with cause() ENOENT if it does not exist.
Result<Found> find(int root, const std::vector<std::string>& path) {
    const std::string text = joined(path, "/");
    Found found;
    found.parent.reset(::fcntl(root, F_DUPFD_CLOEXEC, 3));
    for (const std::string& name : path) {
        if (found.top) {
            found.parent = std::move(found.top);
        }
        found.top = open_to_empty(found.parent.get(), name.c_str());
        if (!found.top) {
            return errno == EXDEV ? mount_point(text) : Error::from_errno(Blame::user, text);
        }
        const auto above = place_of(found.parent.get());
        const auto here = place_of(found.top.get());
        if (!above || !here || !above->same_mount(*here)) {
            return mount_point(text);
        }
    }
    return found;
}

Status remove_directory(int root, const RemoveRequest& what, std::chrono::seconds longest) {
    const std::string text = joined(what.path, "/");
    const Result<Found> found = find(root, what.path);
    if (!found) {
        return found.error().cause() == ENOENT ? Status{} : Status{found.error()};
    }
    const int top = found->top.get();
    for (int left = kRetries;; --left) {
        if (what.user.uid != 0 && ::geteuid() == 0) {
            static_cast<void>(do_as_user(what.user, longest, [top] {
                return Acted{.end = empty_directory(top) ? End::all : End::not_all};
            }));
        }
        const Status emptied = empty_as_root(top, what.user);
        if (::unlinkat(found->parent.get(), what.path.back().c_str(), AT_REMOVEDIR) == 0 ||
            errno == ENOENT) {
            return {};
        }
        const bool is_refilled = emptied && (errno == ENOTEMPTY || errno == EEXIST);
        if (!is_refilled || left == 0) {
            const Error stays = Error::from_errno(Blame::user, text);
            const Error why = emptied ? stays : emptied.error().within(text);
            const bool is_anothers = !emptied && why.cause() == EPERM;
            return is_anothers && what.path.size() == 1 ? set_aside(root, text, why)
                                                        : Status{why};
        }
        // A process that outlives its job still makes files here.
        std::this_thread::sleep_for(kRetryAfter);
    }
}

}  // namespace

Status remove_tree(int root, const RemoveRequest& what, RemovalLimits limits) {
    Status followed = what.has_lists ? follow_lists(root, what, limits.lists) : Status{};
    Status removed =
        what.has_directory ? remove_directory(root, what, limits.directory) : Status{};
    remove_empty_cleanup_directory(root);
    return removed ? followed : removed;
}

}  // namespace stage
