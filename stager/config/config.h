// What has the site decided?
//
// stagecast.conf, `Key=Value` a line as in slurm.conf. One table (config.cpp) knows each key's
// name, kind, default, limits and sentence of help; from it the file is parsed, an empty one is
// filled with defaults, and a commented stagecast.conf is printed. A file with anything wrong
// in it is refused whole, naming file, line and what would be allowed: a site must never
// believe in a limit that a typo has switched off.
#pragma once

#include "stager/config/policies.h"
#include "transport/base/log.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// How packets are protected; `encrypt` because any local user can join a multicast group.
enum class Protection : unsigned char { none = 0, auth = 1, encrypt = 2 };
enum class Transport : unsigned char { automatic = 0, udp = 1 };
enum class Compress : unsigned char { automatic = 0, no = 1 };
/// Who announces a job: the plugin's prolog, or the site's own script by `stagecast prolog`.
enum class StageFrom : unsigned char { spank = 0, prolog_script = 1 };

/// What becomes of a job that could not be staged by a node's fault, not by its user's.
enum class OnNodeFault : unsigned char { fail = 0, requeue = 1 };

/// An IPv4 address as a number, 239.1.2.3 = 0xef010203: what a range is counted in.
using GroupAddress = std::uint32_t;

/// Names of interfaces that a node uses together, if it has all of them.
using RailNames = std::vector<std::string>;

/// Both ends are meant.
template <class Number>
struct ConfigRange {
    Number first{};
    Number last{};
    bool operator==(const ConfigRange&) const = default;
};

/// Every decision, defaults filled in. Sizes are bytes, rates bytes per second.
struct Config {
    bool enabled = true;
    std::string node_name;  ///< NodeName of this node; empty: what the local slurmd says.
    std::string stage_root;
    bool allow_ram_stage_root = false;
    std::vector<std::string> dest_roots;  ///< Absolute, without trailing slash, "." or "..".
    std::vector<std::string> push_roots;
    std::vector<std::string> push_from;  ///< push_sources.h; empty: from no other node.
    bool push_set_id = false;            ///< A push keeps owners, ACLs and set-id bits.
    std::uint64_t max_bytes = 0;         ///< 0: no limit.
    std::uint32_t max_stages_per_node = 0;
    std::string cache_dir;
    std::uint64_t cache_size = 0;  ///< 0: no cache.
    std::uint64_t rate_max = 0;    ///< Never 0.
    RateControl rate_control = RateControl::quantile;
    RepairPeers repair_peers = RepairPeers::random;
    ReadyWait readiness = ReadyWait::fence;
    GroupLeave group_leave = GroupLeave::never;
    std::uint32_t flows = 1;  ///< At most as many as data_port_range has ports.
    bool rate_search = true;  ///< Else stages are sent at rate_max.
    Duration stage_timeout{};
    Duration stall_timeout{};
    Duration connect_timeout{};
    Duration announce_timeout{};
    Duration watch_interval{};
    std::vector<RailNames> interfaces;  ///< Best first. Empty: no multicast may leave here.
    std::vector<ConfigRange<GroupAddress>> multicast_groups;
    std::uint16_t port = 0;
    ConfigRange<std::uint16_t> data_port_range;
    Protection protection = Protection::encrypt;
    Transport transport = Transport::automatic;
    Compress compress = Compress::automatic;
    StageFrom stage_from = StageFrom::spank;
    OnNodeFault on_node_fault = OnNodeFault::fail;
    std::uint32_t tree_width = 0;
    std::uint32_t ttl = 0;
    std::uint32_t dscp = 0;
    std::uint64_t socket_buffer = 0;
    std::uint32_t spare_hosts = 0;    ///< PMIx hosts kept warm.
    std::optional<uid_t> slurm_user;  ///< Trusted beside root on the daemons' links, if given.
    std::string munge_socket;         ///< Empty: libmunge's own.
    std::string run_dir;              ///< Holds stagecastd.sock and jobs/.
    std::string libexec_dir;          ///< Holds stagecast-worker and stagecast-pmix-host.
    std::string metrics_file;         ///< Empty: none.
    LogLevel log_level = LogLevel::info;

    bool operator==(const Config&) const = default;

    /// Of the entry of `interfaces` that has most; at least 1.
    [[nodiscard]] std::size_t most_rails() const;
    /// How many addresses multicast_groups holds from which on there are `rails` in one range;
    /// at least 1 for most_rails() or fewer.
    [[nodiscard]] std::uint64_t group_count(std::size_t rails = 1) const;
    /// The `index`-th of them, index < group_count(rails). Draw the index, not the address.
    [[nodiscard]] GroupAddress group_at(std::uint64_t index, std::size_t rails = 1) const;
};

/// What an empty file says.
[[nodiscard]] Config default_config();

/// `file` is only named in errors: "FILE, line 3: TreeWidth=0: ...; allowed: 1 to 256".
[[nodiscard]] Result<Config> parse_config(std::string_view text, std::string_view file);

/// Reads and parses `path`. Refuses a file that others than root could have written, because it
/// says where root puts directories. A missing file has cause() ENOENT.
[[nodiscard]] Result<Config> load_config(const std::string& path);

/// A stagecast.conf that says `config`, each key with its help; a key at its default is
/// commented out. What is printed parses to the same Config.
[[nodiscard]] std::string print_config(const Config& config);

/// stagecast.conf(5), in troff (manual.cpp).
[[nodiscard]] std::string print_manual();

}  // namespace stage
