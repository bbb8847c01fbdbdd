// g++ 12 reports a null pointer in the code that Boost's typed_value generates here; there is
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

/// An option with a value; `preset` is null if it has no default.
struct OptionText {
    const char* name;
    const char* preset;
    const char* help;
};

constexpr std::array kOptions{
    OptionText{"members", nullptr, "number of members, with the source"},
    OptionText{"towards",
               nullptr,
               "address of the launcher's host: without --interface= the interface that leads "
               "there is used"},
    OptionText{"source", nullptr, "file or directory to send; makes this member the source"},
    OptionText{
        "dest",
        nullptr,
        "destination on this host; if the path ends in / or is a directory, the source's "
        "name is appended. An existing file is replaced"},
    OptionText{"look",
               nullptr,
               "room or content: transfer nothing, and only inspect this host. With --source: "
               "describe it. Otherwise: check the space or the content at --dest. Prints JSON"},
    OptionText{"manifest",
               nullptr,
               "with --look and --dest: the manifest that --look printed at the source"},
    OptionText{"durable", "no", "yes or no: sync the file to the disk before it gets its name"},
    OptionText{"transport",
               "auto",
               "udp (multicast), tcp (unicast from member to member), auto: multicast, and "
               "tcp if it does not reach every member, or verbs: multicast by RDMA devices "
               "where all members have one, otherwise as auto"},
    OptionText{
        "relay",
        "auto",
        "with --transport=tcp, at the source: chain (each member passes on to the next), "
        "trees (two trees, by each of which goes half of the file) or auto"},
    OptionText{"interface",
               nullptr,
               "network interface for the multicast, or several that are used together, as "
               "eth0+eth1, each with a flow of its own; after a comma the alternatives for "
               "hosts without them. Default: see --towards, or else Interface= of the host's "
               "stagecast.conf"},
    OptionText{"broadcast",
               "no",
               "yes: instead of multicast send to all hosts of the LAN, also to those outside "
               "of the group, where the network drops multicast; the same for all members"},
    OptionText{"ttl", "1", "TTL of multicast packets: routers on the way, plus one; 1 to 255"},
    OptionText{"dscp", "8", "DSCP of all packets, 0 to 63; 8 (CS1) has low priority"},
    OptionText{"rate-max", nullptr, "maximum sending rate: 400mbit, 1gbit, 25MB/s"},
    OptionText{"rate", nullptr, "send at exactly this rate, without searching for one"},
    OptionText{"compress", "auto", "auto or no: compress blocks if that increases throughput"},
    OptionText{
        "rate-remembered",
        nullptr,
        "rate that an earlier broadcast found on these paths (rate_found_mbps in its line "
        "of JSON): start with it, and search from there"},
    OptionText{"rate-control",
               "quantile",
               "adapt the rate to quantile (most) or acker (slowest member)"},
    OptionText{"repair-peers",
               "random",
               "peers for repair requests: random (any peer) or ring (the neighbour)"},
    OptionText{"readiness",
               "fence",
               "start of the source: fence (once all members receive) or none (at once)"},
    OptionText{
        "flows",
        "1",
        "flows that the multicast is distributed over, each received by its own thread: 1 to "
        "16, the same for all members; at least one for each interface"},
    OptionText{"protection", "encrypt", "encrypt, auth or none"},
    OptionText{"timeout", "600", "time limit of the whole broadcast, seconds"},
    OptionText{"connect-timeout", nullptr, "time limit to meet, seconds; default: timeout"},
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

/// Parses one option's text after another, and remembers the first invalid value.
class Values {
  public:
    explicit Values(const po::variables_map& map) : map_{map} {}

    [[nodiscard]] std::string text(const char* name) const {
        return map_.count(name) == 0 ? std::string{} : map_[name].as<std::string>();
    }
    template <class Number>
    void number(const char* name, Number& target) {
        const auto value = read_count(text(name));
        take(name, value && *value <= std::numeric_limits<Number>::max());
        target = static_cast<Number>(value.value_or(0));
    }
    /// Parses a number from `least` to `most`.
    void number_within(const char* name,
                       std::uint8_t& target,
                       std::pair<std::uint8_t, std::uint8_t> bounds) {
        number(name, target);
        take(name, target >= bounds.first && target <= bounds.second);
    }
    template <class Choice>
    void choice(const char* name, Choice& target) {
        const auto value = read_choice<Choice>(text(name));
        take(name, value.has_value());
        target = value.value_or(target);
    }
    void flag(const char* name, bool& target) {
        const auto value = read_flag(text(name));
        take(name, value.has_value());
        target = value.value_or(target);
    }
    void time(const char* name, std::chrono::milliseconds& target) {
        const auto value = read_seconds(text(name));
        take(name, value && value->count() > 0);
        target =
            std::chrono::duration_cast<std::chrono::milliseconds>(value.value_or(Duration{}));
    }
    /// Parses a rate, bits per second; 0 if it wasn't given.
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
            wrong_ = std::string{"--"} + name + "=" + text(name) + " is not a valid value";
        }
    }
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

  private:
    const po::variables_map& map_;
    std::string wrong_;
};

void take_policies(Values& values, Policies& policies) {
    values.choice("rate-control", policies.rate);
    values.choice("repair-peers", policies.peers);
    values.choice("readiness", policies.readiness);
    values.number_within("flows", policies.flows, {1, kPolicyFlowsMax});
}

Result<EngineOptions> read(const po::variables_map& map, const std::string& directory) {
    EngineOptions options;
    Values values{map};
    if (map.count("members") != 0) {
        values.number("members", options.members);
        values.take("members", options.members > 0);
    }
    options.towards = parse_ip(values.text("towards"));
    values.take("towards", map.count("towards") == 0 || options.towards);
    options.source = absolute(values.text("source"), directory);
    options.destination = absolute(values.text("dest"), directory);
    if (const std::string look = values.text("look"); !look.empty()) {
        values.take("look", look == "room" || look == "content");
        options.look =
            look == "room" ? EngineOptions::Look::room : EngineOptions::Look::content;
    }
    options.manifest = values.text("manifest");
    const auto interfaces = read_interfaces(values.text("interface"));
    values.take("interface", interfaces.has_value());
    options.interfaces = interfaces.value_or(std::vector<RailNames>{});
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
    values.choice("transport", options.transport);
    values.choice("relay", options.relay);
    values.flag("broadcast", options.broadcasts);
    values.flag("durable", options.is_durable);
    auto compress = Compress::automatic;
    values.choice("compress", compress);
    options.may_compress = compress == Compress::automatic;
    options.rate_max = values.rate("rate-max");
    options.configured_rate = values.rate("rate");
    options.rate_remembered = values.rate("rate-remembered");
    take_policies(values, options.policies);
    values.choice("protection", options.protection);
    if (!values.wrong().empty()) {
        return misuse(values.wrong());
    }
    return options;
}

/// Checks the options against each other.
Status check_together(const EngineOptions& options) {
    if (options.source.empty() && options.destination.empty()) {
        return misuse("neither --source= nor --dest= is given");
    }
    if (options.look != EngineOptions::Look::none) {
        return options.source.empty() == options.manifest.empty()
                   ? misuse("--look= needs --source=, or --dest= and --manifest=")
                   : Status{};
    }
    return options.members == 0
               ? misuse("--members= is needed; stagecast push --launcher= gives it")
               : Status{};
}

}  // namespace

Result<EngineOptions> parse_engine_options(const std::vector<std::string>& arguments,
                                           const std::string& directory) {
    po::variables_map map;
    try {  // Boost reports a wrong command line by an exception.
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
    TRY(check_together(*options));
    return options;
}

std::string engine_help() {
    std::ostringstream text;
    text
        << "stagecast-worker: sends a file to a group of hosts at once, without daemon.\n"
           "\n"
           "  stagecast-worker --members=N --source=PATH      on the source\n"
           "  stagecast-worker --members=N --dest=PATH        elsewhere\n"
           "\n"
           "Its launcher, such as stagecast push --launcher=, writes the group's key to stdin; "
           "each\n"
           "member writes its card to stdout, and the launcher all cards to the stdin of "
           "all.\n"
           "\n"
           "Exit code 0: every host of the group has the complete, verified file. One line of "
           "JSON on\n"
           "stdout gives statistics; an error message is on stderr. 64: wrong use.\n"
           "\n"
        << described();
    return text.str();
}

}  // namespace stage
