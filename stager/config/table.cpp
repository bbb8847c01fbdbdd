// The table of all keys of stagecast.conf, and the suggestion for an unknown key.
#include "stager/config/key.h"
#include "stager/config/value.h"
#include "transport/base/text.h"

#include <algorithm>
#include <array>
#include <limits>

namespace stage {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kAnySize = std::numeric_limits<std::int64_t>::max();

constexpr std::array kKeys{
    ConfigKey{"Enabled",
              FlagKey{&Config::enabled},
              "yes",
              "Set it to no to switch staging off without editing plugstack.conf: jobs that "
              "ask for staging then fail with a message that says so."},
    ConfigKey{"NodeName",
              NameKey{&Config::node_name},
              "",
              "This node's NodeName in Slurm. Empty: the name that the local slurmd reports.",
              Reread::at_restart},
    ConfigKey{"StageRoot",
              PathKey{&Config::stage_root, false},
              "/var/spool/stagecast",
              "The directory of the jobs' directories, StageRoot/JOBID. It must be a "
              "directory on a local disk, owned by root and writable by root only, preferably "
              "on a file system of its own: if SlurmdSpoolDir is on the same one, a job that "
              "fills it drains the node. After a change jobs with files below the old "
              "directory keep it, and those files are removed with the jobs.",
              Reread::at_restart},
    ConfigKey{"StageFrom",
              ChoiceKey{&Config::stage_from},
              "spank",
              "When a node stages: spank, before the site's Prolog script runs; "
              "prolog-script, when that script calls `stagecast prolog`, after it has made its "
              "scratch directories."},
    ConfigKey{"AllowRamStageRoot",
              FlagKey{&Config::allow_ram_stage_root},
              "no",
              "Accept a StageRoot on tmpfs, overlay or a network file system."},
    ConfigKey{"DestRoots",
              PathListKey{&Config::dest_roots},
              "/tmp,/var/tmp",
              "Absolute destinations are allowed below these directories only."},
    ConfigKey{"PushRoots",
              PathListKey{&Config::push_roots},
              "",
              "`stagecast push` may write below these directories only. They must belong to "
              "root, and no other user may be able to write to them or to replace them by a "
              "link. Empty: only pushes that leave nothing are accepted, as `stagecast doctor "
              "--multicast` makes them: to their own directory in StageRoot."},
    ConfigKey{"PushFrom",
              SourcesKey{&Config::push_from},
              "",
              "Nodes and addresses from which this node accepts pushes, such as "
              "login1,10.0.0.0/24. A node that is named must also connect from the address "
              "that Slurm, or else the resolver, has for its name. Empty: only from this node "
              "itself."},
    ConfigKey{"PushSetId",
              FlagKey{&Config::push_set_id},
              "no",
              "With yes a push keeps owners, ACLs and set-user-id and set-group-id bits: root "
              "of each node in PushFrom can then become any user on this node. With no all "
              "files belong to root, and a file with such a bit is refused."},
    ConfigKey{"ClusterName",
              NameKey{&Config::cluster_name},
              "",
              "This cluster's name in other clusters' AcceptFrom and Routes. Empty: no push "
              "leaves this cluster, and none comes from another.",
              Reread::at_restart},
    ConfigKey{"ClusterKeys",
              NamedListKey{&Config::cluster_keys, false},
              "",
              "For each other cluster the file of a key that both have, such as "
              "clusterb=/etc/stagecast/clusterb.key. On gateways, and on nodes from which "
              "pushes leave.",
              Reread::at_restart},
    ConfigKey{"Routes",
              NamedListKey{&Config::routes, true},
              "",
              "The gateways of other clusters, by NodeName, with their addresses, such as "
              "clusterb/gw1=192.0.2.7,clusterb/gw2=192.0.2.8. Of one cluster the first is "
              "asked first, and the next where that one fails."},
    ConfigKey{
        "AcceptFrom",
        NameListKey{&Config::accept_from},
        "",
        "Clusters whose pushes this node carries on as a gateway, to nodes whose PushFrom "
        "names this one. Empty: none."},
    ConfigKey{"TicketKey",
              PathKey{&Config::ticket_key, true},
              "",
              "A file with 32 to 4096 secret bytes, root's and with no rights for others, by "
              "which this cluster's tickets are made and checked: the same one where users run "
              "stagecast ticket and on gateways that send files to other clusters' jobs, and "
              "on no other cluster. Empty: no ticket is issued or taken here."},
    ConfigKey{"TicketLifetime",
              TimeKey{&Config::ticket_lifetime, seconds{60}, hours{24 * 90}},
              "86400",
              "How long a ticket is good, at most. A job that waits in the queue needs one "
              "until it begins."},
    ConfigKey{"WideArea",
              ChoiceKey{&Config::wide_area},
              "auto",
              "auto: what goes to another cluster or comes from one goes by UDP with a rate "
              "control for long paths, or by TCP where UDP does not pass. tcp: always by TCP; "
              "one end of the path that says so suffices."},
    ConfigKey{"MaxBytes",
              SizeKey{&Config::max_bytes, 0, kAnySize},
              "0",
              "Limit of the bytes that one job may stage on this node. If the files exceed a "
              "node's limit, staging fails before the transfer. 0: no limit but the disk's."},
    ConfigKey{
        "MaxStagesPerNode",
        CountKey{&Config::max_stages_per_node, 1, 1000},
        "16",
        "Stages that may run at once on their jobs' first node; one user may have half "
        "of them. Further ones wait there, within StageTimeout. A node takes part in at "
        "most eight times as many stages of other first nodes, and each stage needs a port "
        "of DataPortRange; further ones fail."},
    ConfigKey{"CacheSize",
              SizeKey{&Config::cache_size, 0, kAnySize},
              "0",
              "Size of the node cache, which keeps a user's staged files, so that the user's "
              "next job with the same file reads and transfers nothing. 0: no cache.",
              Reread::at_restart},
    ConfigKey{"CacheDir",
              PathKey{&Config::cache_dir, false},
              "/var/cache/stagecast",
              "Directory of the node cache. It must hold nothing else and meets the same "
              "conditions as StageRoot, outside of it and preferably on the same file system.",
              Reread::at_restart},
    ConfigKey{"RateMax",
              RateKey{&Config::rate_max, 1000, 1'000'000'000'000},
              "100gbit",
              "Highest sending rate of one stage. The source searches for the rate that "
              "links, receivers and other traffic allow."},
    ConfigKey{"RateSearch",
              FlagKey{&Config::rate_search},
              "yes",
              "With no, RateMax is taken as the network's capacity: stages are sent at this "
              "rate from the first packet on, without regard to congestion."},
    ConfigKey{"RateControl",
              ChoiceKey{&Policies::rate},
              "quantile",
              "Which receivers determine the rate. quantile: most receivers; a slow one loses "
              "packets and gets them from its peers. acker: the slowest one, as with TCP."},
    ConfigKey{"RepairPeers",
              ChoiceKey{&Policies::peers},
              "random",
              "Which peer a node asks for missing data. random: any other node. ring: the "
              "preceding node in the list of nodes, then the one before that."},
    ConfigKey{"Readiness",
              ChoiceKey{&Policies::readiness},
              "fence",
              "When the source begins. fence: when all nodes have confirmed that multicast "
              "reaches them. none: at once; a node that starts late gets what it missed from "
              "its peers. Packets are then no larger than an MTU of 1500 allows."},
    ConfigKey{"Flows",
              CountKey{&Policies::flows, 1, kPolicyFlowsMax},
              "1",
              "Number of parallel multicast flows of a stage, each with a port of its own and "
              "a receiving thread of its own; at least one for each interface in use. Use "
              "more for 25 Gbit/s and faster: one flow uses one receive queue and one core."},
    ConfigKey{"StageTimeout",
              TimeKey{&Config::stage_timeout, seconds{1}, hours{24}},
              "600",
              "A stage that takes longer fails. Keep it 30 s below Slurm's PrologTimeout "
              "(25.05 and later) or PrologEpilogTimeout."},
    ConfigKey{"StallTimeout",
              TimeKey{&Config::stall_timeout, seconds{1}, hours{24}},
              "30",
              "A stage that makes no progress for this long fails. Shorter outages have no "
              "effect; another node's daemon may be unresponsive for twice as long."},
    ConfigKey{"ConnectTimeout",
              TimeKey{&Config::connect_timeout, milliseconds{100}, seconds{600}},
              "5",
              "Time limit for a connection to a node's daemon, including authentication, and "
              "for the first TCP connection that carries files from node to node."},
    ConfigKey{"AnnounceTimeout",
              TimeKey{&Config::announce_timeout, milliseconds{100}, hours{1}},
              "30",
              "How long the other nodes wait for a node whose prolog has not begun."},
    ConfigKey{"WatchInterval",
              TimeKey{&Config::watch_interval, milliseconds{100}, seconds{600}},
              "10",
              "Interval at which a job's first node asks slurmctld during staging whether the "
              "job still exists; the first time after 2 s, if that is sooner."},
    ConfigKey{"OnNodeFault",
              ChoiceKey{&Config::on_node_fault},
              "fail",
              "What happens to a job whose staging fails on a node. fail: it fails. requeue: "
              "a batch job is requeued, as Slurm does after a node failure, unless the error "
              "is its user's, it has begun three times before or was submitted with "
              "--no-requeue. drop: a job with --stage-no-kill goes on without the nodes that "
              "fail while its files are on their way, and its tasks do not start there; other "
              "jobs fail. In each case the job's AdminComment has the reason (AdminComment)."},
    ConfigKey{"AdminComment",
              FlagKey{&Config::admin_comment},
              "yes",
              "Whether a job's AdminComment says why its staging failed and, of a batch job, "
              "how far a staging of more than 10 s is. What others wrote there is kept."},
    ConfigKey{"StageReport",
              FlagKey{&Config::stage_report},
              "yes",
              "Whether a batch job's output begins with one line on what was staged, as with "
              "--stage-verbose. The value on the host of sbatch counts."},
    ConfigKey{"Interface",
              InterfacesKey{&Config::interfaces},
              "",
              "Network interfaces of the broadcast; the first entry that this node has is "
              "used. Names joined by + (hsn0+hsn1) are rails and used together: multicast is "
              "spread over all of them, other traffic uses the first; such an entry is used "
              "if all of them are up and have a link. A stage uses as many rails as its node "
              "with the fewest. No multicast leaves an interface that is not named here."},
    ConfigKey{"MulticastGroups",
              GroupsKey{&Config::multicast_groups},
              "239.192.68.0-239.192.68.15",
              "Multicast groups; every stage draws one. Switches and routers must forward "
              "them. broadcast: the packets go to all hosts of the LAN instead, also to those "
              "outside of the stage, at the stage's rate; for a LAN that drops multicast, and "
              "only with a RateMax that each of its links carries. The first node's value "
              "counts."},
    ConfigKey{"Port",
              CountKey{&Config::port, 1, 65'535},
              "6829",
              "TCP port of the daemons, the same on all nodes.",
              Reread::at_restart},
    ConfigKey{"DataPortRange",
              PortsKey{&Config::data_port_range},
              "6830-6893",
              "UDP and TCP ports of the broadcast; firewalls must allow them."},
    ConfigKey{"Protection",
              ChoiceKey{&Config::protection},
              "encrypt",
              "encrypt: no other host or user can read or forge the files in transit. auth: "
              "any host on the network can read them, but not forge them. none: for an "
              "isolated network."},
    ConfigKey{"Compress",
              ChoiceKey{&Config::compress},
              "auto",
              "With auto the source compresses blocks (zstd) while that makes staging faster: "
              "if the link is slower than a core compresses, and the data are compressible."},
    ConfigKey{
        "Transport",
        ChoiceKey{&Config::transport},
        "auto",
        "Transport of the broadcast: udp (multicast, by Interface=), or tcp, where each node "
        "passes on to the next what it receives. With auto it is multicast if Interface= is "
        "set and multicast reaches every node of the staging, otherwise tcp. With udp a "
        "staging fails if multicast does not reach a node. With verbs it is multicast by the "
        "RDMA devices (InfiniBand, RoCE) below Interface= if every node has one, otherwise as "
        "with auto. The first node's configuration counts."},
    ConfigKey{"TreeWidth",
              CountKey{&Config::tree_width, 1, 256},
              "16",
              "Children of a node in the control tree of the daemons."},
    ConfigKey{"TTL",
              CountKey{&Config::ttl, 1, 255},
              "1",
              "IP time-to-live of the broadcast: the number of routers that it may cross, "
              "plus one. 1 stays in the subnet."},
    ConfigKey{"DSCP",
              CountKey{&Config::dscp, 0, 63},
              "8",
              "DSCP of the broadcast's packets; 8 (CS1) has lower priority than other "
              "traffic."},
    ConfigKey{"SocketBuffer",
              SizeKey{&Config::socket_buffer, 64ULL << 10U, 1ULL << 30U},
              "8M",
              "Receive buffer of a stage's multicast socket; its unicast socket gets a "
              "quarter of it."},
    ConfigKey{
        "SpareHosts",
        CountKey{&Config::spare_hosts, 0, 16},
        "1",
        "PMIx hosts that are kept ready: a job without one waits about 100 ms longer. With "
        "AuthKeyFile there are none.",
        Reread::at_restart},
    ConfigKey{"SlurmUser",
              UserKey{&Config::slurm_user},
              "",
              "A user besides root whose munge credentials the daemons accept from each "
              "other, and who may own AuthKeyFile.",
              Reread::at_restart},
    ConfigKey{"AuthKeyFile",
              PathKey{&Config::auth_key_file, true},
              "",
              "A file with the same 32 to 4096 secret bytes on all nodes, by which the daemons "
              "log in to each other instead of by munge, for instance slurm.key of Slurm's "
              "auth/slurm. It belongs to root, or to SlurmUser, no other user has rights to "
              "it, and stagecastd reads it when it starts. Empty: munge.",
              Reread::at_restart},
    ConfigKey{"MungeSocket",
              PathKey{&Config::munge_socket, true},
              "",
              "Socket of munged. Empty: munge's own default.",
              Reread::at_restart},
    ConfigKey{"RunDir",
              PathKey{&Config::run_dir, false},
              "/run/stagecast",
              "Holds the socket stagecastd.sock and the results of the node's stages.",
              Reread::at_restart},
    ConfigKey{"LibexecDir",
              PathKey{&Config::libexec_dir, false},
              STAGECAST_PREFIX "/libexec/stagecast",
              "Holds stagecast-worker and stagecast-pmix-host.",
              Reread::at_restart},
    ConfigKey{"MetricsFile",
              PathKey{&Config::metrics_file, true},
              "",
              "Where to write metrics for Prometheus every 15 s: a name that ends in .prom in "
              "the directory of node_exporter's textfile collector. Empty: none."},
    ConfigKey{"LogLevel",
              ChoiceKey{&Config::log_level},
              "info",
              "The lowest severity that is logged."},
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
    for (const ConfigKey& key : config_keys()) {
        const std::size_t far =
            name.size() > kNameShown ? kNameShown : edit_distance(key.name, name);
        if (far < least) {
            least = far;
            nearest = &key;
        }
    }
    return "no key is called " + shown + "; " +
           (nearest != nullptr
                ? "is " + std::string{nearest->name} + " meant?"
                : "the keys are " + joined(config_keys(), ", ", &ConfigKey::name));
}

}  // namespace stage
