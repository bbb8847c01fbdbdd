// What is stagecast, the command?
//
// One word chooses what it does. Exit codes: 0 all is well or done, 1 something is wrong or
// some nodes failed, 2 nothing was done, 64 to 78 wrong use, as in sysexits.h.
#include "stager/cli/cache.h"
#include "stager/cli/doctor.h"
#include "stager/cli/prolog.h"
#include "stager/cli/push.h"
#include "stager/cli/status.h"
#include "stager/cli/usage.h"
#include "stager/config/config.h"
#include "stager/control/message.h"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <span>
#include <string>

namespace stage {
namespace {

int doctor(std::span<char* const> words) {
    std::string path{kConfigPath};
    DoctorReach reach = DoctorReach::cluster;
    while (!words.empty()) {
        const std::string_view word = words.front();
        if (word == "--local") {
            reach = DoctorReach::local;
        } else if (word == "-c" && words.size() > 1) {
            words = words.subspan(1);
            path = words.front();
        } else {
            static_cast<void>(
                std::fputs("stagecast doctor: takes nothing but --local and -c FILE; it looks "
                           "at the node that it runs on\n",
                           stderr));
            return EX_USAGE;
        }
        words = words.subspan(1);
    }
    const std::vector<Finding> findings = examine(path, reach);
    static_cast<void>(std::fputs(report(findings).c_str(), stdout));
    const bool is_well = std::ranges::none_of(
        findings, [](const Finding& one) { return one.health == Health::wrong; });
    return is_well ? 0 : 1;
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
    if (command == "cache") {
        return run_cache(words.subspan(1));
    }
    if (command == "prolog") {
        return run_prolog(words.subspan(1));
    }
    if (command == "push") {
        return push(words.subspan(1));
    }
    if (command == "--version") {
        static_cast<void>(std::printf("stagecast %s\n", kStagecastVersion));
        return 0;
    }
    const bool is_help = command == "--help" || command == "-h";
    static_cast<void>(std::fputs(usage().c_str(), is_help ? stdout : stderr));
    return is_help ? 0 : EX_USAGE;
}

}  // namespace
}  // namespace stage

int main(int argc, char** argv) {
    return stage::run({argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)});
}
