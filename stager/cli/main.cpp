// The command `stagecast`: dispatches to its subcommands.
//
// Exit codes: 0 success, 1 a problem was found or some nodes failed, 2 nothing was done, 64 to
// 78 wrong usage as in sysexits.h.
#include "stager/cli/cache.h"
#include "stager/cli/common/command_line.h"
#include "stager/cli/common/usage.h"
#include "stager/cli/doctor/doctor.h"
#include "stager/cli/prolog.h"
#include "stager/cli/push.h"
#include "stager/cli/status.h"
#include "stager/cli/ticket.h"
#include "stager/cli/transport_check.h"
#include "stager/control/message.h"
#include "transport/os/installation.h"

#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <span>
#include <string>

namespace stage {
namespace {

struct DoctorOptions {
    std::string config;
    std::string node_list;
    bool is_local = false;
    bool asks_nodes = false;  ///< --multicast
    bool wants_json = false;
};

Result<DoctorOptions> read_doctor_options(std::span<char* const> words) {
    constexpr std::array kOptions{OptionName{"local", 0, false},
                                  OptionName{"multicast", 0, false},
                                  OptionName{"nodes", 'w', true},
                                  OptionName{"json", 0, false},
                                  OptionName{"config", 'c', true}};
    TRY(const auto line, read_command_line(words, kOptions));
    DoctorOptions options;
    for (const auto& [name, value] : line.options) {
        options.is_local = options.is_local || name == "local";
        options.asks_nodes = options.asks_nodes || name == "multicast";
        options.wants_json = options.wants_json || name == "json";
        options.node_list = name == "nodes" ? value : options.node_list;
        options.config = name == "config" ? value : options.config;
    }
    if (!line.operands.empty()) {
        return Error{Blame::user, "takes no operand; it looks at the node that it runs on"};
    }
    if (options.asks_nodes == options.node_list.empty()) {
        return Error{Blame::user, "--multicast and -w NODES go together"};
    }
    if (options.asks_nodes && options.is_local) {
        return Error{Blame::user, "--multicast asks other nodes, and --local none"};
    }
    return options;
}

int doctor(std::span<char* const> words) {
    const auto options = read_doctor_options(words);
    if (!options) {
        static_cast<void>(
            std::fprintf(stderr, "stagecast doctor: %s\n", options.error().sentence().c_str()));
        return EX_USAGE;
    }
    if (options->asks_nodes) {
        return check_transport({.config = options->config,
                                .node_list = options->node_list,
                                .wants_json = options->wants_json});
    }
    const std::vector<Finding> findings =
        examine(options->config.empty() ? config_path() : options->config,
                options->is_local ? DoctorReach::local : DoctorReach::cluster);
    const std::string text =
        options->wants_json ? report_json(findings) + '\n' : report(findings);
    static_cast<void>(std::fputs(text.c_str(), stdout));
    return is_well(findings) ? 0 : 1;
}

int push(std::span<char* const> words) {
    std::string here(PATH_MAX, '\0');
    here = ::getcwd(here.data(), here.size()) == nullptr ? "/" : here.c_str();
    const auto options = parse_push_options(words, here);
    if (!options) {
        static_cast<void>(
            std::fprintf(stderr, "stagecast push: %s\n", options.error().sentence().c_str()));
        return EX_USAGE;
    }
    return run_push(*options);
}

int wrong_command(std::string_view command) {
    constexpr std::array<std::string_view, 7> kCommands{
        "push", "status", "explain", "ticket", "cache", "prolog", "doctor"};
    if (command.empty()) {
        static_cast<void>(std::fputs(usage().c_str(), stderr));
        return EX_USAGE;
    }
    const std::string like{nearest(command, kCommands)};
    static_cast<void>(std::fprintf(
        stderr,
        "stagecast: there is no command %s; %s\n",
        printable(command).c_str(),
        like.empty() ? "stagecast --help lists them" : ("do you mean " + like + '?').c_str()));
    return EX_USAGE;
}

int run(std::span<char* const> words) {
    const std::string_view command = words.empty() ? "" : std::string_view{words[0]};
    const std::string own_usage = usage_of(command);
    if (!own_usage.empty() && asks_for_help(words.subspan(1))) {
        static_cast<void>(std::fputs(own_usage.c_str(), stdout));
        return 0;
    }
    if (command == "doctor") {
        return doctor(words.subspan(1));
    }
    if (command == "status" || command == "explain") {
        return run_status(command == "status" ? StatusKind::running : StatusKind::explain,
                          words.subspan(1));
    }
    if (command == "ticket") {
        return run_ticket(words.subspan(1));
    }
    if (command == "cache") {
        return run_cache(words.subspan(1));
    }
    if (command == "prolog") {
        return run_prolog(words.subspan(1));
    }
    if (command == "push") {
        return push(words.subspan(1));
    }
    if (command == "--version" || command == "-V") {
        static_cast<void>(std::printf("stagecast %s\n", version()));
        return 0;
    }
    if (command == "--help" || command == "-h") {
        static_cast<void>(std::fputs(usage().c_str(), stdout));
        return 0;
    }
    return wrong_command(command);
}

}  // namespace
}  // namespace stage

int main(int argc, char** argv) {
    const int code = stage::run({argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)});
    return stage::finish_output("stagecast") ? code : EX_IOERR;
}
