#include "stager/spawn/remove_tree.h"

#include "stager/files/empty_directory.h"
#include "stager/files/stage_lists.h"
#include "stager/spawn/child.h"
#include "stager/spawn/kept_lists.h"
#include "transport/base/open_unmounted.h"
#include "transport/base/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
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

/// Who acts, for how long at most, and what must stay.
struct Acting {
    const RemoveRequest& what;
    std::chrono::seconds longest;
    std::vector<UniqueFd> files_of_heirs;
    bool was_late = false;
};

/// What others use: as the daemon was told, and as their own lists say. As the user.
UsedPaths used_by_others(const Acting& acting) {
    UsedPaths used = acting.what.used;
    for (const UniqueFd& list : acting.files_of_heirs) {
        for (std::string& path : read_stage_list(list.get())) {
            if (!path.empty()) {
                used.push_back(std::move(path));
            }
        }
    }
    return used;
}

/// In a child of its own, because becoming the user is for good. Whatever the user does to that
/// child (it can be stopped or killed), and whatever hangs, root goes on afterwards. True if
/// `work` came to its end and was.
bool do_as_user(Acting& acting, const std::function<bool()>& work) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        // Kills it where only that ends a call: in a file system that does not answer.
        static_cast<void>(::alarm(static_cast<unsigned>(acting.longest.count())));
        const UserIdentity& user = acting.what.user;  // Root's is a push.
        ::_exit((user.uid == 0 || become_user(user)) && work() ? 0 : 1);
    }
    for (int status = 0; pid > 0;) {
        const pid_t got = ::waitpid(pid, &status, WUNTRACED);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != pid || !WIFSTOPPED(status)) {
            acting.was_late |= got == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
            return got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        static_cast<void>(::kill(pid, SIGKILL));
    }
    return false;
}

void empty_as_user(int top, Acting& acting) {
    if (::geteuid() != 0) {
        return;
    }
    do_as_user(acting, [top, &acting] {
        // First what the stage left elsewhere: the list of it lies in here.
        static_cast<void>(remove_listed(top, used_by_others(acting)));
        return acting.what.user.uid == 0 || empty_directory(top).ok();
    });
}

/// What the stage left elsewhere, though the job may have removed the list of it.
void follow_kept_lists(int root, Acting& acting) {
    const RemoveRequest& what = acting.what;
    const std::vector<UniqueFd> lists = open_kept_lists(root, what.path, what.user.uid);
    const bool is_all_gone = ::geteuid() == 0 && !lists.empty() && do_as_user(acting, [&] {
                                 const UsedPaths used = used_by_others(acting);
                                 std::size_t withheld = 0;
                                 for (const UniqueFd& list : lists) {
                                     withheld += remove_by_list(list.get(), used).withheld;
                                 }
                                 return withheld == 0;
                             });
    if (is_all_gone) {
        disinherit_kept_lists(root, what.path, what.heirs);
    }
    forget_kept_lists(root, what.path);
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
    Acting acting{.what = what,
                  .longest = longest,
                  .files_of_heirs = open_files_lists(root, what.heirs, what.user.uid)};
    follow_kept_lists(root, acting);
    Status removed = remove_directory(root, acting);
    if (removed && acting.was_late) {
        return Error{Blame::user,
                     "what was staged elsewhere is not all removed: a file system there did "
                     "not answer"};
    }
    return removed;
}

}  // namespace stage
