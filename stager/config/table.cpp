// The table: every key of stagecast.conf, and what is said of a key that is none.
#include "stager/config/key.h"
#include "stager/config/value.h"

#include <algorithm>
#include <array>
#include <limits>

namespace stage {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kAnySize = std::numeric_limits<std::int64_t>::max();

/// Letters to insert, delete or replace between the two, case aside (Levenshtein).
std::size_t distance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    std::size_t last = right.size();
    for (std::size_t j = 0; j < row.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= left.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const bool same = same_word(left.substr(i - 1, 1), right.substr(j - 1, 1));
            const std::size_t best = std::min({row[j], row[j - 1]}) + 1;
            const std::size_t replaced = diagonal + (same ? 0U : 1U);
            diagonal = row[j];
            row[j] = std::min(best, replaced);
            last = row[j];
        }
    }
    return right.empty() ? left.size() : last;
}

constexpr std::array kKeys{
    ConfigKey{"Enabled",
              FlagKey{&Config::enabled},
              "yes",
              "A switch to turn staging off without touching plugstack.conf: with no, jobs "
              "that ask for staging fail with a sentence that says so."},
    ConfigKey{"NodeName",
              NameKey{&Config::node_name},
              "",
              "This node's NodeName in Slurm. Empty: the name that the local slurmd gives.",
              Reread::at_restart},
    ConfigKey{
        "StageRoot",
        PathKey{&Config::stage_root, false},
        "/var/spool/stagecast",
        "Jobs' directories are made below it, as StageRoot/JOBID. It must be a directory "
        "of root's on a local disk that no one else can write to, best on a file system of "
        "its own: where SlurmdSpoolDir is on the same one, a job that fills it drains the "
        "node. After a change jobs that have files below the old one keep it, and what lies "
        "there goes with them.",
        Reread::at_restart},
    ConfigKey{"StageFrom",
              ChoiceKey{&Config::stage_from, {"spank", "prolog-script", "", ""}},
              "spank",
              "When a node stages: spank, before the site's Prolog script runs; prolog-script, "
              "when that script calls `stagecast prolog`, having made its scratch."},
    ConfigKey{"AllowRamStageRoot",
              FlagKey{&Config::allow_ram_stage_root},
              "no",
              "Take a StageRoot on tmpfs, overlay or a network file system all the same."},
    ConfigKey{"DestRoots",
              PathListKey{&Config::dest_roots},
              "/tmp,/var/tmp",
              "Absolute destinations are allowed below these directories only."},
    ConfigKey{"PushRoots",
              PathListKey{&Config::push_roots},
              "",
              "`stagecast push` may write below these directories only: root's, which no one "
              "else can write to or replace by a link. Empty: nowhere."},
    ConfigKey{"PushFrom",
              SourcesKey{&Config::push_from},
              "",
              "Nodes and addresses from which this node takes pushes, as login1,10.0.0.0/24. A "
              "node that is named must also connect from the address that Slurm, or else the "
              "resolver, has for its name. Empty: from none but this node itself."},
    ConfigKey{"PushSetId",
              FlagKey{&Config::push_set_id},
              "no",
              "With yes a push keeps owners, ACLs and set-user-id and set-group-id bits: root "
              "of each node in PushFrom can then become any user here. With no all that comes "
              "is root's own, and a file with such a bit is refused."},
    ConfigKey{
        "MaxBytes",
        SizeKey{&Config::max_bytes, 0, kAnySize},
        "0",
        "Most bytes that one job may stage on this node: a node that allows less than the "
        "files have refuses them before the first byte. 0: no limit but the disk's."},
    ConfigKey{
        "MaxStagesPerNode",
        CountKey{&Config::max_stages_per_node, 1, 1000},
        "16",
        "Stagings that may run at once on their jobs' first node, of which one user has half "
        "at most; the next ones wait there, within StageTimeout. A node takes part in eight "
        "times as many that began on other nodes, beyond which they fail."},
    ConfigKey{"CacheSize",
              SizeKey{&Config::cache_size, 0, kAnySize},
              "0",
              "Bytes of the node cache: files that a user staged are kept here, so that the "
              "user's next job with the same file sends and reads nothing. 0: no cache.",
              Reread::at_restart},
    ConfigKey{"CacheDir",
              PathKey{&Config::cache_dir, false},
              "/var/cache/stagecast",
              "Where the node cache lies: a directory that holds nothing else, as fit as "
              "StageRoot and beside it, best on the same file system.",
              Reread::at_restart},
    ConfigKey{"RateMax",
              RateKey{&Config::rate_max, 1000, 1'000'000'000'000},
              "100gbit",
              "Fastest that one staging may send. The rate itself is found by looking: links, "
              "receivers and other traffic set it."},
    ConfigKey{"RateSearch",
              FlagKey{&Config::rate_search},
              "yes",
              "With no, RateMax is what the network carries: stagings are sent at it from the "
              "first packet on, and yield to nothing."},
    ConfigKey{
        "RateControl",
        ChoiceKey{&Config::rate_control, {"quantile", "acker", "", ""}},
        "quantile",
        "Whom the rate follows. quantile: most receivers; a slow one loses, and catches up "
        "from its peers. acker: the slowest, as a TCP to it would."},
    ConfigKey{"RepairPeers",
              ChoiceKey{&Config::repair_peers, {"random", "ring", "", ""}},
              "random",
              "Whom a node asks for what it missed. random: any other. ring: the one before it "
              "in the list of nodes, and so on backwards."},
    ConfigKey{
        "Readiness",
        ChoiceKey{&Config::readiness, {"fence", "none", "", ""}},
        "fence",
        "When the source begins. fence: once all nodes have said that they hear it. none: "
        "at once; who starts late fetches from its peers what it missed. Packets are then "
        "no larger than an MTU of 1500 allows."},
    ConfigKey{
        "GroupLeave",
        ChoiceKey{&Config::group_leave, {"never", "congested", "", ""}},
        "never",
        "Who leaves a staging's multicast group while it runs. congested: a node whose link "
        "other traffic fills, to fetch the file beside that traffic as a TCP would, while "
        "less than 60 % of the nodes do. For paths shared with other traffic, on switches "
        "that snoop IGMP; stagecast explain names who left."},
    ConfigKey{
        "Flows",
        CountKey{&Config::flows, 1, kPolicyFlowsMax},
        "1",
        "Flows that a staging's multicast is spread over, each on a port of its own and "
        "received by a thread of its own; at least one for each interface that is used. More "
        "is for 25 Gbit/s and faster: one flow is one receive queue and one core."},
    ConfigKey{"StageTimeout",
              TimeKey{&Config::stage_timeout, seconds{1}, hours{24}},
              "600",
              "A staging that takes longer fails. Keep it 30 s below Slurm's PrologTimeout "
              "(25.05 and "
              "later) or PrologEpilogTimeout."},
    ConfigKey{
        "StallTimeout",
        TimeKey{&Config::stall_timeout, seconds{1}, hours{24}},
        "30",
        "A staging that makes no progress for so long fails. An outage that is shorter ends "
        "nothing: another node's daemon may be silent for twice as long."},
    ConfigKey{"ConnectTimeout",
              TimeKey{&Config::connect_timeout, milliseconds{100}, seconds{600}},
              "5",
              "How long a connection to a node's daemon may take, login by munge included."},
    ConfigKey{"AnnounceTimeout",
              TimeKey{&Config::announce_timeout, milliseconds{100}, hours{1}},
              "30",
              "How long the other nodes wait for a node whose prolog has not begun."},
    ConfigKey{"WatchInterval",
              TimeKey{&Config::watch_interval, milliseconds{100}, seconds{600}},
              "10",
              "How often the job's first node asks slurmctld whether the job is still wanted, "
              "while it is staged; the first time after 2 s, if that is sooner."},
    ConfigKey{
        "OnNodeFault",
        ChoiceKey{&Config::on_node_fault, {"fail", "requeue", "", ""}},
        "fail",
        "What becomes of a batch job that can't be staged for a reason that is not its "
        "user's: fail; or requeue, as Slurm does after a node failure, unless it has begun "
        "three times before or was submitted with --no-requeue. Either way its AdminComment "
        "says why."},
    ConfigKey{"Interface",
              InterfacesKey{&Config::interfaces},
              "",
              "What carries the broadcast: the first entry that this node has. Names joined by "
              "+ (hsn0+hsn1) are rails, used together: the multicast is spread over all of "
              "them, the rest takes the first; such an entry counts if all are up and have a "
              "link. A staging uses as many rails as its node with the fewest. No multicast "
              "leaves an interface that is not named here."},
    ConfigKey{"MulticastGroups",
              GroupsKey{&Config::multicast_groups},
              "239.192.68.0-239.192.68.15",
              "Every staging draws one of these groups. Let switches and routers carry them."},
    ConfigKey{"Port",
              CountKey{&Config::port, 1, 65'535},
              "6829",
              "TCP port of the daemons, the same on all nodes.",
              Reread::at_restart},
    ConfigKey{"DataPortRange",
              PortsKey{&Config::data_port_range},
              "6830-6893",
              "UDP ports of the broadcast, for the firewall."},
    ConfigKey{"Protection",
              ChoiceKey{&Config::protection, {"none", "auth", "encrypt", ""}},
              "encrypt",
              "encrypt: nobody else can read or forge the files under way. auth: anybody on "
              "the network may read them. none: for an isolated fabric."},
    ConfigKey{
        "Compress",
        ChoiceKey{&Config::compress, {"auto", "no", "", ""}},
        "auto",
        "With auto the source compresses blocks (zstd) while that makes the staging faster: "
        "where the link is slower than a core, and the data give way."},
    ConfigKey{"Transport",
              ChoiceKey{&Config::transport, {"auto", "udp", "", ""}},
              "auto",
              "How the broadcast travels."},
    ConfigKey{"TreeWidth",
              CountKey{&Config::tree_width, 1, 256},
              "16",
              "Children of a node in the tree of daemons."},
    ConfigKey{"TTL",
              CountKey{&Config::ttl, 1, 255},
              "1",
              "Routers that the broadcast may cross, and one: 1 stays in the subnet."},
    ConfigKey{"DSCP",
              CountKey{&Config::dscp, 0, 63},
              "8",
              "Class of the broadcast's packets; 8 (CS1) gives way to other traffic."},
    ConfigKey{"SocketBuffer",
              SizeKey{&Config::socket_buffer, 64ULL << 10U, 1ULL << 30U},
              "8M",
              "Receive buffer that a staging asks for its multicast; what peers send gets a "
              "quarter."},
    ConfigKey{"SpareHosts",
              CountKey{&Config::spare_hosts, 0, 16},
              "1",
              "PMIx hosts that are kept ready: a job without one waits about 100 ms longer.",
              Reread::at_restart},
    ConfigKey{"SlurmUser",
              UserKey{&Config::slurm_user},
              "",
              "A user beside root whose munge credentials the daemons accept from each other.",
              Reread::at_restart},
    ConfigKey{"MungeSocket",
              PathKey{&Config::munge_socket, true},
              "",
              "Socket of munged. Empty: munge's own default.",
              Reread::at_restart},
    ConfigKey{"RunDir",
              PathKey{&Config::run_dir, false},
              "/run/stagecast",
              "Holds the socket stagecastd.sock and the verdicts of the node's jobs.",
              Reread::at_restart},
    ConfigKey{"LibexecDir",
              PathKey{&Config::libexec_dir, false},
              STAGECAST_PREFIX "/libexec/stagecast",
              "Holds stagecast-worker and stagecast-pmix-host.",
              Reread::at_restart},
    ConfigKey{
        "MetricsFile",
        PathKey{&Config::metrics_file, true},
        "",
        "Where to write numbers for Prometheus every 15 s: a name that ends in .prom in the "
        "directory of node_exporter's textfile collector. Empty: nowhere."},
    ConfigKey{"LogLevel",
              ChoiceKey{&Config::log_level, {"debug", "info", "warn", "error"}},
              "info",
              "The least important lines that are logged."},
};

}  // namespace

std::span<const ConfigKey> config_keys() {
    return kKeys;
}

const ConfigKey* find_key(std::string_view name) {
    for (const ConfigKey& key : config_keys()) {
        if (same_word(key.name, name)) {
            return &key;
        }
    }
    return nullptr;
}

std::string unknown_key(std::string_view name) {
    constexpr std::size_t kNear = 3;
    constexpr std::size_t kNameShown = 64;
    const std::string shown{name.substr(0, kNameShown)};
    const ConfigKey* nearest = nullptr;
    std::size_t least = kNear + 1;
    std::string all;
    for (const ConfigKey& key : config_keys()) {
        const std::size_t far =
            name.size() > kNameShown ? kNameShown : distance(key.name, name);
        if (far < least) {
            least = far;
            nearest = &key;
        }
        all += (all.empty() ? "" : ", ") + std::string{key.name};
    }
    return "no key is called " + shown + "; " +
           (nearest != nullptr ? "is " + std::string{nearest->name} + " meant?"
                               : "the keys are " + all);
}

}  // namespace stage
