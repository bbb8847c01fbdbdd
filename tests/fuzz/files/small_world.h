// A directory in which a target can make and remove files without harm.
//
// The directory is made anew for each input. A thread of its own works there as the
// user nobody, with the directory as its root. Only root can arrange that;
// is_possible() checks it.
#pragma once

#include "transport/base/invariant.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>

namespace stage {

class SmallWorld {
  public:
    [[nodiscard]] static bool is_possible() { return ::geteuid() == 0; }

    /// `populate` makes what is there; `work` is done there, in a thread of its own, with "/".
    static void with(const std::function<void(SmallWorld&)>& populate,
                     const std::function<void()>& work) {
        SmallWorld world;
        populate(world);
        std::thread{[&] {
            world.enter();
            work();
        }}.join();
    }

    void directory(const std::string& below) const {
        std::filesystem::create_directories(path_ + below);
        for (std::size_t end = below.find('/'); true; end = below.find('/', end + 1)) {
            own(below.substr(0, end));
            if (end == std::string::npos) {
                return;
            }
        }
    }
    void file(const std::string& below) const {
        const int fd = ::open((path_ + below).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        invariant(fd >= 0 && ::close(fd) == 0, "a file can be made");
        own(below);
    }
    void link(const std::string& below, const std::string& to) const {
        invariant(::symlink(to.c_str(), (path_ + below).c_str()) == 0, "a link can be made");
        own(below);
    }

    /// The names of all that is there, seen from within.
    static std::set<std::string> names() {
        std::set<std::string> all;
        constexpr auto kSkip = std::filesystem::directory_options::skip_permission_denied;
        for (const auto& entry : std::filesystem::recursive_directory_iterator{"/", kSkip}) {
            all.insert(entry.path().string());
        }
        return all;
    }

  private:
    static constexpr uid_t kNobody = 65534;

    SmallWorld() {
        std::string path = "/dev/shm/stagecast-fuzz.XXXXXX";
        invariant(::mkdtemp(path.data()) != nullptr, "a directory can be made");
        path_ = path + '/';
        own("");
    }
    ~SmallWorld() { std::filesystem::remove_all(path_); }

    void own(const std::string& below) const {
        invariant(::lchown((path_ + below).c_str(), kNobody, kNobody) == 0, "root gives away");
    }
    /// This thread, and no other: so by the calls themselves, not by the C library's.
    void enter() const {
        const bool is_there = ::unshare(CLONE_FS) == 0 && ::chroot(path_.c_str()) == 0 &&
                              ::chdir("/") == 0 && ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
                              ::syscall(SYS_setresgid, kNobody, kNobody, kNobody) == 0 &&
                              ::syscall(SYS_setresuid, kNobody, kNobody, kNobody) == 0;
        invariant(is_there, "a thread can go there");
    }

    std::string path_;
};

}  // namespace stage
