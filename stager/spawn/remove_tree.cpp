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

/// Who acts, and for how long at most.
struct Acting {
    const UserIdentity& user;
    std::chrono::seconds longest;
    bool was_late = false;
};

/// In a child of its own, because becoming the user is for good. Whatever the user does to that
/// child (it can be stopped or killed), and whatever hangs, root goes on afterwards.
void do_as(Acting& acting, const std::function<bool()>& work) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        // Kills it where only that ends a call: in a file system that does not answer.
        static_cast<void>(::alarm(static_cast<unsigned>(acting.longest.count())));
        ::_exit(become_user(acting.user) && work() ? 0 : 1);
    }
    for (int status = 0; pid > 0;) {
        const pid_t got = ::waitpid(pid, &status, WUNTRACED);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != pid || !WIFSTOPPED(status)) {
            acting.was_late |= got == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
            return;
        }
        static_cast<void>(::kill(pid, SIGKILL));
    }
}

void empty_as_user(int top, const RemoveRequest& what, Acting& acting) {
    if (::geteuid() != 0) {
        return;
    }
    if (what.user.uid == 0) {  // A push: root's own list, of what lies below PushRoots.
        static_cast<void>(remove_listed(top, what.used));
        return;
    }
    do_as(acting, [top, &what] {
        // First what the stage left elsewhere: the list of it lies in here.
        static_cast<void>(remove_listed(top, what.used));
        return empty_directory(top).ok();
    });
}

/// What the stage left elsewhere, though the job may have removed the list of it.
void follow_kept_lists(int root, const RemoveRequest& what, Acting& acting) {
    if (::geteuid() != 0) {
        return;
    }
    if (!what.heirs.empty()) {
        keep_remove_list(root, what.path);
        bequeath_kept_lists(root, what.path, what.heirs);
    }
    const std::vector<UniqueFd> lists = open_kept_lists(root, what.path, what.user.uid);
    const auto follow = [&] {
        for (const UniqueFd& list : lists) {
            static_cast<void>(remove_by_list(list.get(), what.used));
        }
        return true;
    };
    if (what.user.uid == 0) {
        follow();
    } else if (!lists.empty()) {
        do_as(acting, follow);
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
Status remove_directory(int root, const RemoveRequest& what, Acting& acting) {
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
        empty_as_user(top.get(), what, acting);
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
    Acting acting{.user = what.user, .longest = longest};
    follow_kept_lists(root, what, acting);
    Status removed = remove_directory(root, what, acting);
    if (removed && acting.was_late) {
        return Error{Blame::user,
                     "what was staged elsewhere is not all removed: a file system there did "
                     "not answer"};
    }
    return removed;
}

}  // namespace stage
