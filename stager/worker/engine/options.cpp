// g++ 12 sees a null pointer in the code that Boost's typed_value generates here; there is
// none.
#pragma GCC diagnostic ignored "-Wnull-dereference"

#include "stager/worker/engine/options.h"

#include "stager/config/value.h"

#include <boost/program_options.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

namespace stage {
namespace {

namespace po = boost::program_options;

constexpr std::chrono::milliseconds kStallTimeout = std::chrono::seconds{30};

/// An option with a value; `preset` is null where there is none.
struct OptionText {
    const char* name;
    const char* preset;
    const char* help;
};

constexpr std::array kOptions{
    OptionText{"hosts",
               nullptr,
               "file of the members' addresses, one a line; the line, from 0, is the rank. "
               "Without it PMIx (srun --mpi=pmix, mpirun) says who we are"},
    OptionText{
        "group",
        nullptr,
        "instead of hosts, rank and key-file, as `stagecast push --launcher=` hands them "
        "over: - reads them from standard input, else it is a munge credential. The rank "
        "is the line with an address of this host"},
    OptionText{"rank", nullptr, "this member's line in the file of hosts"},
    OptionText{"root", "0", "rank of the member that has the file"},
    OptionText{
        "source", nullptr, "file or directory to send, at the root; elsewhere it is ignored"},
    OptionText{"dest",
               nullptr,
               "where the file goes here; a path that ends in / or is a directory gets the "
               "source's name added. What is there is replaced"},
    OptionText{"look",
               nullptr,
               "room or content: bring nothing, only look, alone. With --source: what is it? "
               "Else: has it room at --dest, or what lies there? A line of JSON says it"},
    OptionText{"manifest",
               nullptr,
               "with --look and --dest: what to look for, as a look at the source said"},
    OptionText{"durable", "no", "yes or no: on the disk (fsync) before it has its name"},
    OptionText{"transport", "auto", "auto or udp"},
    OptionText{"interface",
               nullptr,
               "network interface for the multicast, or several that are used together, as "
               "eth0+eth1, each with a flow of its own; behind a comma what to take where they "
               "are not. Default: the one with our address in the file of hosts"},
    OptionText{"ttl", "1", "routers that the multicast may cross, and one: 1 to 255"},
    OptionText{"dscp", "8", "class of all packets, 0 to 63; 8 (CS1) gives way to others"},
    OptionText{"port", "6830", "TCP port at rank 0 where the members meet"},
    OptionText{"rate-max", nullptr, "fastest to send: 400mbit, 1gbit, 25MB/s"},
    OptionText{"rate", nullptr, "send at it, without looking for what the path takes"},
    OptionText{"compress", "auto", "auto or no: blocks, while that makes it faster"},
    OptionText{"rate-remembered",
               nullptr,
               "what an earlier broadcast found on these paths (rate_found_mbps in its line of "
               "JSON): begin with it, and look on from there"},
    OptionText{
        "rate-control", "quantile", "what is followed: quantile (most) or acker (slowest)"},
    OptionText{"repair-peers",
               "random",
               "who is asked for what was missed: random (anybody) or ring (the neighbour)"},
    OptionText{"readiness",
               "fence",
               "when the root begins: fence (once all hear it) or none (at once)"},
    OptionText{"group-leave",
               "never",
               "who leaves the multicast group: never (nobody) or congested (whose link other "
               "traffic fills, to fetch beside it)"},
    OptionText{
        "flows",
        "1",
        "flows that the multicast is spread over, each received by a thread of its own: 1 "
        "to 16, the same for all members; at least one for each interface"},
    OptionText{"protection", "encrypt", "encrypt, auth or none"},
    OptionText{"key-file",
               nullptr,
               "file of 32 bytes (or 64 hexadecimal digits), the same for all members and "
               "readable by nobody else; not needed with --protection=none, nor under PMIx "
               "where munge is"},
    OptionText{"timeout", "600", "seconds for the whole of it"},
    OptionText{"connect-timeout", nullptr, "seconds for the members to meet; default: timeout"},
    OptionText{"stall-timeout",
               nullptr,
               "seconds without progress; default: 30, or half of the timeout if that is less"},
};

po::options_description described() {
    po::options_description table{"Options", 96};
    for (const OptionText& option : kOptions) {
        auto* value = po::value<std::string>();
        if (option.preset != nullptr) {
            value->default_value(option.preset);
        }
        table.add_options()(option.name, value, option.help);
    }
    table.add_options()("help", "this text")("version", "the program's version");
    return table;
}

Error misuse(const std::string& what) {
    return Error{Blame::user, what}.remedy("see stagecast-worker --help");
}

std::string absolute(const std::string& path, const std::string& directory) {
    return path.empty() || path.starts_with('/') ? path : directory + '/' + path;
}

/// One option's text, and whether all of it could be read so far.
class Values {
  public:
    explicit Values(const po::variables_map& map) : map_{map} {}

    [[nodiscard]] std::string text(const char* name) const {
        return map_.count(name) == 0 ? std::string{} : map_[name].as<std::string>();
    }
    template <class Number>
    void number(const char* name, Number& target) {
        const auto value = read_count(text(name));
        take(name, value && *value <= std::numeric_limits<typename Rep<Number>::type>::max());
        if (value) {
            target = Number{static_cast<typename Rep<Number>::type>(*value)};
        }
    }
    /// A number from `least` to `most`.
    void number_within(const char* name,
                       std::uint8_t& target,
                       std::pair<std::uint8_t, std::uint8_t> bounds) {
        number(name, target);
        take(name, target >= bounds.first && target <= bounds.second);
    }
    void time(const char* name, std::chrono::milliseconds& target) {
        const auto value = read_seconds(text(name));
        take(name, value && value->count() > 0);
        target =
            std::chrono::duration_cast<std::chrono::milliseconds>(value.value_or(Duration{}));
    }
    /// Bits per second; 0 if it wasn't given.
    std::uint64_t rate(const char* name) {
        if (map_.count(name) == 0) {
            return 0;
        }
        const auto bytes = read_rate(text(name));
        take(name, bytes && *bytes > 0);
        return bytes.value_or(0) * 8;
    }
    void take(const char* name, bool is_right) {
        if (!is_right && wrong_.empty()) {
            wrong_ = std::string{"--"} + name + "=" + text(name) + " makes no sense";
        }
    }
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

  private:
    template <class Number>
    struct Rep {
        using type = Number;
    };
    template <class Tag, class Inner>
    struct Rep<Ordinal<Tag, Inner>> {
        using type = Inner;
    };

    const po::variables_map& map_;
    std::string wrong_;
};

void take_policies(Values& values, Policies& policies) {
    const std::string rate_control = values.text("rate-control");
    values.take("rate-control", rate_control == "quantile" || rate_control == "acker");
    const std::string repair_peers = values.text("repair-peers");
    values.take("repair-peers", repair_peers == "random" || repair_peers == "ring");
    const std::string readiness = values.text("readiness");
    values.take("readiness", readiness == "fence" || readiness == "none");
    const std::string group_leave = values.text("group-leave");
    values.take("group-leave", group_leave == "never" || group_leave == "congested");
    policies = {
        .rate_control = rate_control == "acker" ? RateControl::acker : RateControl::quantile,
        .repair_peers = repair_peers == "ring" ? RepairPeers::ring : RepairPeers::random,
        .readiness = readiness == "none" ? ReadyWait::none : ReadyWait::fence,
        .group_leave = group_leave == "congested" ? GroupLeave::congested : GroupLeave::never};
    values.number_within("flows", policies.flows, {1, kPolicyFlowsMax});
}

Result<EngineOptions> read(const po::variables_map& map, const std::string& directory) {
    EngineOptions options;
    Values values{map};
    options.hosts = absolute(values.text("hosts"), directory);
    options.group = values.text("group");
    options.source = absolute(values.text("source"), directory);
    options.destination = absolute(values.text("dest"), directory);
    if (const std::string look = values.text("look"); !look.empty()) {
        values.take("look", look == "room" || look == "content");
        options.look =
            look == "room" ? EngineOptions::Look::room : EngineOptions::Look::content;
    }
    options.manifest = values.text("manifest");
    options.key_file = absolute(values.text("key-file"), directory);
    const auto interfaces = read_interfaces(values.text("interface"));
    values.take("interface", interfaces.has_value());
    options.interfaces = interfaces.value_or(std::vector<RailNames>{});
    if (!options.hosts.empty()) {
        values.number("rank", options.rank);
    }
    values.number("root", options.root);
    values.number("port", options.port);
    values.take("port", options.port != 0);
    values.number_within("ttl", options.ttl, {1, 255});
    values.number_within("dscp", options.dscp, {0, 63});
    values.time("timeout", options.timeout);
    options.connect_timeout = options.timeout;
    if (map.count("connect-timeout") != 0) {
        values.time("connect-timeout", options.connect_timeout);
    }
    options.stall_timeout = std::min(kStallTimeout, options.timeout / 2);
    if (map.count("stall-timeout") != 0) {
        values.time("stall-timeout", options.stall_timeout);
    }
    const std::string transport = values.text("transport");
    values.take("transport", transport == "auto" || transport == "udp");
    const auto durable = read_flag(values.text("durable"));
    values.take("durable", durable.has_value());
    options.is_durable = durable.value_or(false);
    const std::string compress = values.text("compress");
    values.take("compress", compress == "auto" || compress == "no");
    options.may_compress = compress == "auto";
    options.rate_max = values.rate("rate-max");
    options.rate_told = values.rate("rate");
    options.rate_remembered = values.rate("rate-remembered");
    take_policies(values, options.policies);
    const Result<seal::Protection> protection =
        seal::read_protection(values.text("protection"));
    values.take("protection", protection.ok());
    if (!values.wrong().empty()) {
        return misuse(values.wrong());
    }
    options.protection = *protection;
    return options;
}

/// What no single option can say.
Status check_together(const EngineOptions& options) {
    if (options.source.empty() && options.destination.empty()) {
        return misuse("neither --source= nor --dest= is given");
    }
    if (options.look != EngineOptions::Look::none) {
        return options.source.empty() == options.manifest.empty()
                   ? misuse("--look= needs --source=, or --dest= and --manifest=")
                   : Status{};
    }
    if (!options.hosts.empty() && !options.group.empty()) {
        return misuse("--hosts= and --group= are two ways to say the same");
    }
    if (options.hosts.empty()) {
        return {};
    }
    if (options.rank == options.root && options.source.empty()) {
        return misuse("the root needs --source=");
    }
    if (options.rank != options.root && options.destination.empty()) {
        return misuse("a member that is not the root needs --dest=");
    }
    if (options.key_file.empty() && options.protection != seal::Protection::none) {
        return misuse("--key-file= is needed, unless --protection=none");
    }
    return {};
}

}  // namespace

Result<EngineOptions> parse_engine_options(const std::vector<std::string>& arguments,
                                           const std::string& directory) {
    po::variables_map map;
    try {  // Boost's way to say that a command line is wrong.
        const po::options_description table = described();
        const po::positional_options_description none;
        po::store(po::command_line_parser{arguments}.options(table).positional(none).run(),
                  map);
        po::notify(map);
    } catch (const po::error& wrong) {
        return misuse(wrong.what());
    }
    if (map.count("help") != 0 || map.count("version") != 0) {
        EngineOptions options;
        options.wants_help = map.count("help") != 0;
        options.wants_version = map.count("version") != 0;
        return options;
    }
    Result<EngineOptions> options = read(map, directory);
    if (!options) {
        return options;
    }
    if (Status sound = check_together(*options); !sound) {
        return std::move(sound).error();
    }
    return options;
}

std::string engine_help() {
    std::ostringstream text;
    text << "stagecast-worker: brings a file to a group of hosts at once, without daemon or "
            "Slurm.\n"
            "\n"
            "  stagecast-worker --hosts=FILE --rank=0 --source=PATH --key-file=KEY      on the "
            "source\n"
            "  stagecast-worker --hosts=FILE --rank=K --dest=PATH --key-file=KEY        "
            "elsewhere\n"
            "  srun --mpi=pmix stagecast-worker --source=PATH --dest=PATH               in a "
            "job\n"
            "\n"
            "Exit code 0: every host of the group has the whole, verified file. One line of "
            "JSON on\n"
            "stdout tells how; what went wrong is a sentence on stderr. 64: wrong use.\n"
            "\n"
         << described();
    return text.str();
}

}  // namespace stage
