#include "stager/daemon/run/host_directories.h"

#include "stager/daemon/base/children.h"
#include "stager/daemon/jobs/job_directory.h"
#include "transport/base/log.h"
#include "transport/base/random_value.h"
#include "transport/os/names_in.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

namespace stage {
namespace {

/// Not decimal, as the directories of jobs are.
constexpr std::string_view kPrefix = ".host.";

}  // namespace

HostDirectories::HostDirectories(Loop& loop,
                                 Children& children,
                                 const Logger& log,
                                 UniqueFd stage_root,
                                 std::string path,
                                 Pauses pauses)
    : loop_{loop},
      children_{children},
      log_{log},
      stage_root_{std::move(stage_root)},
      path_{std::move(path)},
      pauses_{pauses},
      pause_{pauses.first},
      alarm_{loop, [this] { try_again(); }} {
    for (const std::string& name : names_in(stage_root_.get())) {
        if (name.starts_with(kPrefix)) {
            left_[name];
        }
    }
    go_on();
}

/// The number is drawn: a directory of an earlier daemon's host may still be there.
Result<std::string> HostDirectories::make() {
    std::string name{kPrefix};
    name += std::to_string(random_value<std::uint64_t>());
    if (::mkdirat(stage_root_.get(), name.c_str(), 0700) != 0) {
        return Error::from_errno(Blame::node, "making " + path_of(name));
    }
    return name;
}

Status HostDirectories::give(const std::string& name, std::uint32_t uid, std::uint32_t gid) {
    if (::fchownat(stage_root_.get(), name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) != 0) {
        return Error::from_errno(Blame::node, "giving a PMIx host's directory to its user");
    }
    return {};
}

void HostDirectories::remove(const std::string& name) {
    left_[name];
    go_on();
}

void HostDirectories::remove_empty(const std::string& name) const {
    static_cast<void>(::unlinkat(stage_root_.get(), name.c_str(), AT_REMOVEDIR));
}

/// Only root can change StageRoot, so a directory's owner is the user that give() named.
void HostDirectories::go_on() {
    for (auto one = left_.begin(); one != left_.end();) {
        const auto here = one++;
        auto& [name, left] = *here;
        if (left.is_running || left.has_failed) {
            continue;
        }
        const Result<Owner> owner = owner_of(stage_root_.get(), name);
        if (is_gone(owner)) {
            left_.erase(here);
        } else if (!owner) {
            keep(name, left, owner.error().sentence());
        } else if (!busy_.contains(owner->uid)) {
            left.is_running = start(name, owner->uid, owner->gid);
        }
    }
    if (left_.empty()) {
        pause_ = pauses_.first;
    }
}

/// Removes it as the user; what that leaves, as root.
bool HostDirectories::start(const std::string& name, std::uint32_t uid, std::uint32_t gid) {
    const RemoveRequest what{
        .path = {name}, .user = {.uid = uid, .gid = gid, .name = {}}, .has_lists = false};
    const auto started = children_.remove_tree(
        stage_root_.get(), what, [this, name, uid](const SpawnEvent& event) {
            if (event.kind != SpawnEvent::Kind::started) {
                on_event(name, uid, event);
            }
        });
    if (!started) {
        keep(name, left_.at(name), started.error().sentence());
        return false;
    }
    busy_.insert(uid);
    return true;
}

void HostDirectories::on_event(const std::string& name,
                               std::uint32_t uid,
                               const SpawnEvent& event) {
    busy_.erase(uid);
    Left& left = left_.at(name);
    left.is_running = false;
    if (!event.sentence.empty()) {
        keep(name, left, event.sentence);
    } else if (is_gone(owner_of(stage_root_.get(), name))) {
        left_.erase(name);
    } else {
        keep(name, left, event.status_text());
    }
    go_on();
}

void HostDirectories::keep(const std::string& name, Left& left, const std::string& why) {
    left.has_failed = true;
    if (!std::exchange(left.is_logged, true)) {
        log_.warn("a PMIx host's directory can't be removed now; stagecastd tries again",
                  {{"directory", path_of(name)}, {"why", why}});
    }
    if (!std::exchange(is_waiting_, true)) {
        alarm_.set(loop_.now() + pause_);
    }
}

void HostDirectories::try_again() {
    is_waiting_ = false;
    pause_ = std::min(2 * pause_, pauses_.most);
    for (auto& [name, left] : left_) {
        left.has_failed = false;
    }
    go_on();
}

}  // namespace stage
