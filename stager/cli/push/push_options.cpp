#include "stager/cli/push/push_options.h"

#include "stager/cli/common/command_line.h"
#include "stager/config/value.h"
#include "stager/spec/destination.h"
#include "stager/spec/spec_list.h"

#include <array>
#include <fstream>

namespace stage {
namespace {

constexpr std::array kOptions{
    OptionName{"nodes", 'w', true},
    OptionName{"dry-run", 'n', false},
    OptionName{"verify", 0, false},
    OptionName{"resume", 0, false},
    OptionName{"rate", 0, true},
    OptionName{"timeout", 0, true},
    OptionName{"ack", 0, true},
    OptionName{"json", 0, false},
    OptionName{"launcher", 0, true},
    OptionName{"interface", 0, true},
    OptionName{"config", 'c', true},
};

Error misuse(const std::string& what) {
    return Error{Blame::user, what}.remedy("stagecast --help has more");
}

/// Reads one name or list per line; blanks and # comments are allowed.
Result<std::string> read_node_file(const std::string& path) {
    std::ifstream file{path};
    if (!file) {
        return Error{Blame::user, path + ": the file of nodes can't be read"};
    }
    std::string list;
    for (std::string line; std::getline(file, line);) {
        const std::string_view names =
            trimmed(std::string_view{line}.substr(0, line.find('#')));
        if (!names.empty()) {
            list += (list.empty() ? "" : ",") + std::string{names};
        }
    }
    return list;
}

Result<std::string> node_list_of(const std::string& value) {
    return value.starts_with('@') ? read_node_file(value.substr(1))
                                  : Result<std::string>{value};
}

/// Parses the options for the mode of operation; false for any other option.
bool take_mode(PushOptions& options, const std::string& name) {
    if (name == "dry-run") {
        options.mode = PushMode::look;
    } else if (name == "verify") {
        options.mode = PushMode::compare;
    } else if (name == "resume") {
        options.is_resumable = true;
    } else if (name == "json") {
        options.wants_json = true;
    } else {
        return false;
    }
    return true;
}

Status take_nodes(PushOptions& options, const std::string& value) {
    const auto list = node_list_of(value);
    options.node_list = list ? *list : "";
    return list ? Status{} : Status{list.error()};
}

Status take_rate(PushOptions& options, const std::string& value) {
    options.rate = read_rate(value).value_or(0) * 8;
    return options.rate > 0 ? Status{}
                            : Status{misuse("--rate=" + value + " is no rate, as 1gbit is")};
}

Status take_timeout(PushOptions& options, const std::string& value) {
    const auto seconds = read_count(value);
    const bool fits = seconds && *seconds > 0 && *seconds <= kMaxStageTimeoutS;
    options.timeout_s = fits ? static_cast<std::uint32_t>(*seconds) : 0;
    return fits ? Status{}
                : Status{misuse("--timeout=" + value + " is no number of seconds from 1 to " +
                                std::to_string(kMaxStageTimeoutS))};
}

Status take_launcher(PushOptions& options, const std::string& value) {
    const auto launcher = read_launcher(value);
    options.launcher = launcher.value_or(Launcher::none);
    return launcher ? Status{}
                    : Status{misuse("--launcher=" + value + " is none of srun, ssh, clush")};
}

Status take_ack(PushOptions& options, const std::string& value) {
    options.ends_at_gateway = value == "gateway";
    return value == "gateway" || value == "nodes"
               ? Status{}
               : Status{misuse("--ack=" + value + " is neither nodes nor gateway")};
}

Status take(PushOptions& options, const std::string& name, const std::string& value) {
    if (take_mode(options, name)) {
        return {};
    }
    if (name == "config" || name == "interface") {
        (name == "config" ? options.config : options.interface) = value;
        return {};
    }
    return name == "nodes"     ? take_nodes(options, value)
           : name == "rate"    ? take_rate(options, value)
           : name == "timeout" ? take_timeout(options, value)
           : name == "ack"     ? take_ack(options, value)
                               : take_launcher(options, value);
}

Status complete(PushOptions& options,
                const std::vector<std::string>& places,
                const std::string& directory) {
    if (options.node_list.empty()) {
        return misuse("push needs -w NODES");
    }
    if (places.size() != 2) {
        return misuse("push needs one SRC and one DST");
    }
    options.source = places[0].starts_with('/') ? places[0] : directory + '/' + places[0];
    options.destination = places[1];
    if (!options.destination.starts_with('/')) {
        return misuse("the destination " + printable(options.destination) +
                      " is not absolute, and there is no job's directory here");
    }
    if (options.launcher != Launcher::none && options.is_resumable) {
        return misuse("--resume needs the nodes' daemons; it goes without --launcher");
    }
    if (options.node_list.size() > kMaxNodeListBytes) {
        return misuse("the list of nodes is longer than 20 KiB; write it as n[0-999]");
    }
    return {};
}

}  // namespace

Result<PushOptions> parse_push_options(std::span<char* const> words,
                                       const std::string& directory) {
    TRY(const auto line, read_command_line(words, kOptions));
    PushOptions options;
    for (const auto& [name, value] : line.options) {
        TRY(take(options, name, value));
    }
    TRY(complete(options, line.operands, directory));
    return options;
}

Result<std::string> specs_of(const PushOptions& options) {
    StageSpec spec;
    spec.source = options.source;
    spec.destination = options.destination;
    spec.existing = Existing::overwrite;
    spec.is_durable = true;
    spec.is_resumable = options.is_resumable;
    TRY(destination_of(spec));
    const std::array one{spec};
    return serialize(one, {.timeout_s = options.timeout_s, .is_verbose = false});
}

}  // namespace stage
