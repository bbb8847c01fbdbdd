// The site's configuration: stagecast.conf, parsed and validated.
//
// The file has one `Key=Value` per line, as slurm.conf has. One table (table.cpp) defines each
// key's name, kind, default, limits and help text; parsing, the defaults, and the printed
// commented file use it. A file with any error is refused as a whole, naming file, line and the
// allowed values, so that a typo cannot silently disable a limit.
#pragma once

#include "transport/base/log.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/settings/policies.h"

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

enum class Compress : unsigned char { automatic = 0, no = 1 };
constexpr auto words(Compress /*any*/) {
    return std::array<std::string_view, 2>{"auto", "no"};
}

/// What announces a job: the plugin's prolog, or the site's own script by `stagecast prolog`.
enum class StageFrom : unsigned char { spank = 0, prolog_script = 1 };
constexpr auto words(StageFrom /*any*/) {
    return std::array<std::string_view, 2>{"spank", "prolog-script"};
}

/// What happens to a job whose staging failed by a node's fault, not by its user's. drop: a job
/// with --stage-no-kill goes on without the nodes that fail while its files are on their way.
enum class OnNodeFault : unsigned char { fail = 0, requeue = 1, drop = 2 };
constexpr auto words(OnNodeFault /*any*/) {
    return std::array<std::string_view, 3>{"fail", "requeue", "drop"};
}

constexpr auto words(LogLevel /*any*/) {
    return std::array<std::string_view, 4>{"debug", "info", "warn", "error"};
}

/// An IPv4 address as a number, 239.1.2.3 = 0xef010203, for arithmetic on ranges.
using GroupAddress = std::uint32_t;

/// MulticastGroups=broadcast: all hosts of the LAN, 255.255.255.255; the only "group" then.
inline constexpr GroupAddress kBroadcastGroup = 0xffffffffU;

/// Names of interfaces that a node uses together (rails) if it has all of them.
using RailNames = std::vector<std::string>;

/// Inclusive at both ends.
template <class Number>
struct ConfigRange {
    Number first{};
    Number last{};
    bool operator==(const ConfigRange&) const = default;
};

/// An item NAME=VALUE of a list.
struct NamedText {
    std::string name;
    std::string value;

    bool operator==(const NamedText&) const = default;
};

/// The values of all keys, including defaults. Sizes are bytes, rates bytes per second.
struct Config {
    bool enabled = true;
    std::string node_name;  ///< NodeName; empty: the local slurmd's.
    std::string stage_root;
    bool allow_ram_stage_root = false;
    std::vector<std::string> dest_roots;  ///< Absolute, without trailing slash, "." or "..".
    std::vector<std::string> push_roots;
    std::vector<std::string> push_from;    ///< push_sources.h; empty: from no other node.
    bool push_set_id = false;              ///< A push keeps owners, ACLs and set-id bits.
    std::string cluster_name;              ///< Known to other clusters; empty: to none.
    std::vector<NamedText> cluster_keys;   ///< By cluster: the file of the key with it.
    std::vector<NamedText> routes;         ///< "clusterb/gw1": its numeric address. Best first.
    std::vector<std::string> accept_from;  ///< Clusters whose pushes this gateway carries on.
    std::string ticket_key;                ///< The file of the tickets' key; empty: no tickets.
    Duration ticket_lifetime{};            ///< The longest.
    std::uint64_t max_bytes = 0;           ///< 0: no limit.
    std::uint32_t max_stages_per_node = 0;
    std::string cache_dir;
    std::uint64_t cache_size = 0;  ///< 0: no cache.
    std::uint64_t rate_max = 0;    ///< Never 0.
    bool rate_search = true;       ///< False: stages are sent at rate_max.
    Policies policies;             ///< Flows: at most as many as data_port_range has ports.
    Duration stage_timeout{};
    Duration stall_timeout{};
    Duration connect_timeout{};
    Duration announce_timeout{};
    Duration watch_interval{};
    std::vector<RailNames> interfaces;  ///< Best first. Empty: no multicast.
    std::vector<ConfigRange<GroupAddress>> multicast_groups;
    std::uint16_t port = 0;
    ConfigRange<std::uint16_t> data_port_range;
    /// The default is `encrypt`, because any local user can join a multicast group.
    Protection protection = Protection::encrypt;
    Transport transport = Transport::automatic;
    WideArea wide_area = WideArea::automatic;
    Compress compress = Compress::automatic;
    StageFrom stage_from = StageFrom::spank;
    OnNodeFault on_node_fault = OnNodeFault::fail;
    bool stage_report = true;   ///< Read by the plugin, at submission.
    bool admin_comment = true;  ///< Jobs' AdminComment says how their stages go.
    std::uint32_t tree_width = 0;
    std::uint32_t ttl = 0;
    std::uint32_t dscp = 0;
    std::uint64_t socket_buffer = 0;
    std::uint32_t spare_hosts = 0;    ///< PMIx hosts kept warm.
    std::optional<uid_t> slurm_user;  ///< Trusted like root between daemons.
    std::string auth_key_file;        ///< Empty: the daemons log in to each other by munge.
    std::string munge_socket;         ///< Empty: libmunge's own.
    std::string run_dir;              ///< Holds stagecastd.sock and jobs/.
    std::string libexec_dir;          ///< Holds stagecast-worker and stagecast-pmix-host.
    std::string metrics_file;         ///< Empty: none.
    LogLevel log_level = LogLevel::info;

    bool operator==(const Config&) const = default;

    /// The number of rails of the entry of `interfaces` with the most; at least 1.
    [[nodiscard]] std::size_t most_rails() const;
    /// The number of addresses in multicast_groups that are followed by `rails` - 1 more in the
    /// same range; at least 1 for most_rails() or fewer. Rails share the broadcast address.
    [[nodiscard]] std::uint64_t group_count(std::size_t rails = 1) const;
    /// The `index`-th of these addresses, index < group_count(rails). Draw the index, not the
    /// address.
    [[nodiscard]] GroupAddress group_at(std::uint64_t index, std::size_t rails = 1) const;
    [[nodiscard]] bool broadcasts() const { return group_at(0) == kBroadcastGroup; }
};

/// The configuration of an empty file.
[[nodiscard]] Config default_config();

/// `file` is only used in errors: "FILE, line 3: TreeWidth=0: ...; allowed: 1 to 256".
[[nodiscard]] Result<Config> parse_config(std::string_view text, std::string_view file);

/// Reads and parses `path`. Refuses a file that other users than root could have written,
/// because it determines where root makes directories. For a missing file cause() is ENOENT.
[[nodiscard]] Result<Config> load_config(const std::string& path);

/// Prints a stagecast.conf for `config`, each key with its help; a key at its default is
/// commented out. The printed file parses to the same Config.
[[nodiscard]] std::string print_config(const Config& config);

/// Prints the manual page stagecast.conf(5) in troff (manual.cpp).
[[nodiscard]] std::string print_manual();

}  // namespace stage
