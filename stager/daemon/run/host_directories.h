// Makes the directories of PMIx hosts, StageRoot/.host.N, and removes them.
//
// From the time when a host serves a stage its directory belongs to the stage's user, who can
// write in it, fill it and delay its removal (by a process that makes files in it, by a file
// system that is mounted there). Therefore it lies on the disk that users may fill anyway, not
// in RunDir, which is on the small tmpfs of system services. What can't be removed is tried
// again, less and less often. Of one user's directories one is removed at a time, so that a
// removal that hangs occupies one process of its user.
#pragma once

#include "stager/daemon/base/loop.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace stage {

class Children;
class Logger;
struct SpawnEvent;

class HostDirectories {
  public:
    /// Until what could not be removed is tried again; each time twice as long.
    struct Pauses {
        Duration first = std::chrono::seconds{10};
        Duration most = std::chrono::hours{1};
    };

    /// Removes the directories of an earlier daemon's hosts, which ended with it. `stage_root`
    /// is `path`, opened. The references outlive the object.
    HostDirectories(Loop& loop,
                    Children& children,
                    const Logger& log,
                    UniqueFd stage_root,
                    std::string path,
                    Pauses pauses);

    /// Makes a directory of root's that no host has had before; returns its name.
    [[nodiscard]] Result<std::string> make();
    /// From now on the directory is the user's.
    [[nodiscard]] Status give(const std::string& name, std::uint32_t uid, std::uint32_t gid);
    /// To be called when the host has ended.
    void remove(const std::string& name);
    /// Removes it at once if nothing is in it, as in that of a spare host. The host may still
    /// live: a daemon that ends leaves no directories of spare hosts.
    void remove_empty(const std::string& name) const;

    [[nodiscard]] std::string path_of(const std::string& name) const {
        return path_ + '/' + name;
    }
    /// Directories that are still to be removed.
    [[nodiscard]] std::size_t left() const { return left_.size(); }

  private:
    struct Left {
        bool is_running = false;  ///< The removal is running.
        bool has_failed = false;  ///< Since the last time that all were tried again.
        bool is_logged = false;
    };

    void go_on();
    [[nodiscard]] bool start(const std::string& name, std::uint32_t uid, std::uint32_t gid);
    void on_event(const std::string& name, std::uint32_t uid, const SpawnEvent& event);
    void keep(const std::string& name, Left& left, const std::string& why);
    void try_again();

    Loop& loop_;
    Children& children_;
    const Logger& log_;
    UniqueFd stage_root_;
    std::string path_;
    std::map<std::string, Left> left_;
    std::set<std::uint32_t> busy_;  ///< Users one of whose directories is being removed.
    Pauses pauses_;
    Duration pause_;
    bool is_waiting_ = false;  ///< For the alarm.
    Alarm alarm_;
};

}  // namespace stage
