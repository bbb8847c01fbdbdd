#include "stager/spawn/remove_tree.h"

#include "stager/files/empty_directory.h"
#include "stager/files/removal.h"
#include "stager/spawn/child.h"
#include "stager/spawn/kept_lists.h"
#include "transport/base/open_unmounted.h"
#include "transport/base/unique_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stage {
namespace {

constexpr int kRetries = 40;
constexpr std::chrono::milliseconds kRetryAfter{250};

/// For whom, and for how long at most.
struct Acting {
    const RemoveRequest& what;
    std::chrono::seconds longest;
    bool is_broken_off = false;  ///< Once: then lists are left for another time.
};

enum class End : int { all = 0, not_all = 1, broken_off = 2 };

/// In the child, for good: as the user. (Root's is a push's.)
[[noreturn]] void act(const Acting& acting, const std::function<bool()>& work) {
    // Kills it where only that ends a call: in a file system that does not answer.
    static_cast<void>(::alarm(static_cast<unsigned>(acting.longest.count())));
    const UserIdentity& user = acting.what.user;
    if (user.uid != 0 && !become_user(user)) {
        ::_exit(static_cast<int>(End::broken_off));
    }
    ::_exit(static_cast<int>(work() ? End::all : End::not_all));
}

/// Whatever the user does to the child (it can be stopped or killed), and whatever hangs, root
/// goes on afterwards: without the child, where not even a signal ends it.
End do_as_user(Acting& acting, const std::function<bool()>& work) {
    constexpr int kLookEvery = 200;  // ms; its end is seen at once.
    const auto give_up =
        std::chrono::steady_clock::now() + acting.longest + std::chrono::seconds{2};
    const pid_t pid = ::fork();
    if (pid == 0) {
        act(acting, work);
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
    const End end = is_exit ? static_cast<End>(WEXITSTATUS(status)) : End::broken_off;
    acting.is_broken_off |= end == End::broken_off;
    return end;
}

void empty_as_user(int top, Acting& acting) {
    if (::geteuid() != 0) {
        return;
    }
    do_as_user(acting, [top, &acting] {
        // First what the stage left elsewhere: the list of it lies in here.
        if (!acting.is_broken_off) {
            static_cast<void>(remove_listed(top, acting.what.used));
        }
        return acting.what.user.uid == 0 || empty_directory(top).ok();
    });
}

/// What the stage left elsewhere, though the job may have removed the list of it. A list that
/// was not followed to its end is for the next sweep.
void follow_kept_lists(int root, Acting& acting) {
    const RemoveRequest& what = acting.what;
    for (const std::string& name : kept_lists(root, what.path)) {
        const UniqueFd list = open_kept_list(root, name, what.user.uid);
        if (!list || ::geteuid() != 0) {
            forget_kept_list(root, name);
            continue;
        }
        if (acting.is_broken_off) {
            continue;
        }
        const End end = do_as_user(
            acting, [&] { return remove_by_list(list.get(), what.used).withheld == 0; });
        if (end == End::all) {
            disinherit_kept_list(root, name, what.heirs);
        }
        if (end != End::broken_off) {
            forget_kept_list(root, name);
        }
    }
}

std::string text_of(const std::vector<std::string>& path) {
    std::string text;
    for (const std::string& name : path) {
        text += (text.empty() ? "" : "/") + name;
    }
    return text;
}

/// With what other users left in it, and its name.
Status remove_directory(int root, Acting& acting) {
    const RemoveRequest& what = acting.what;
    const std::string path = text_of(what.path);
    UniqueFd parent{::fcntl(root, F_DUPFD_CLOEXEC, 3)};
    UniqueFd top;
    for (const std::string& name : what.path) {
        if (top) {
            parent = std::move(top);
        }
        top = open_to_empty(parent.get(), name.c_str());
        if (!top) {
            return errno == ENOENT  ? Status{}
                   : errno == EXDEV ? Status{mount_point(path)}
                                    : Status{Error::from_errno(Blame::user, path)};
        }
        const auto above = place_of(parent.get());
        const auto here = place_of(top.get());
        if (!above || !here || !above->same_mount(*here)) {
            return mount_point(path);
        }
    }
    for (int left = kRetries;; --left) {
        empty_as_user(top.get(), acting);
        const Status emptied = empty_directory(top.get());
        if (::unlinkat(parent.get(), what.path.back().c_str(), AT_REMOVEDIR) == 0 ||
            errno == ENOENT) {
            return {};
        }
        const bool is_refilled = emptied && (errno == ENOTEMPTY || errno == EEXIST);
        if (!is_refilled || left == 0) {
            const Error stays = Error::from_errno(Blame::user, path);
            return emptied ? stays : emptied.error().within(path);
        }
        // A process of the job's that outlives it still makes files here.
        std::this_thread::sleep_for(kRetryAfter);
    }
}

}  // namespace

Status remove_tree(int root, const RemoveRequest& what, std::chrono::seconds longest) {
    Acting acting{.what = what, .longest = longest};
    follow_kept_lists(root, acting);
    const bool is_left = acting.is_broken_off;
    Status removed = remove_directory(root, acting);
    if (removed && is_left) {
        return Error{Blame::user,
                     "what was staged elsewhere is not all removed, for a file system there "
                     "did not answer, or who removes it was killed"}
            .remedy("the next sweep tries again");
    }
    return removed;
}

}  // namespace stage
