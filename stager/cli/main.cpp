// What is stagecast, the command?
//
// So far: `stagecast doctor`, which tells an admin why staging does not work on this node. Exit
// codes: 0 all is well, 1 something is wrong, 64 wrong use.
#include "stager/cli/doctor.h"
#include "stager/config/config.h"
#include "stager/control/message.h"

#include <sysexits.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>

namespace stage {
namespace {

constexpr const char* kUsage =
    "usage: stagecast doctor [-c FILE]   why does staging not work on this node?\n"
    "       stagecast --version\n";

int doctor(std::span<char* const> words) {
    std::string path{kConfigPath};
    if (words.size() == 2 && std::string_view{words[0]} == "-c") {
        path = words[1];
    } else if (!words.empty()) {
        static_cast<void>(std::fputs(kUsage, stderr));
        return EX_USAGE;
    }
    const std::vector<Finding> findings = examine(path);
    static_cast<void>(std::fputs(report(findings).c_str(), stdout));
    const bool is_well = std::ranges::none_of(
        findings, [](const Finding& one) { return one.health == Health::wrong; });
    return is_well ? 0 : 1;
}

int run(std::span<char* const> words) {
    const std::string_view command = words.empty() ? "" : std::string_view{words[0]};
    if (command == "doctor") {
        return doctor(words.subspan(1));
    }
    if (command == "--version") {
        static_cast<void>(std::printf("stagecast %s\n", kStagecastVersion));
        return 0;
    }
    const bool is_help = command == "--help" || command == "-h";
    static_cast<void>(std::fputs(kUsage, is_help ? stdout : stderr));
    return is_help ? 0 : EX_USAGE;
}

}  // namespace
}  // namespace stage

int main(int argc, char** argv) {
    return stage::run({argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)});
}
