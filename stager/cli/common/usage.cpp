#include "stager/cli/common/usage.h"

#include <array>

namespace stage {
namespace {

constexpr std::string_view kFirst = "usage: ";
constexpr std::string_view kOther = "       ";

struct CommandUsage {
    std::string_view name;
    std::string_view text;
};

constexpr std::array kCommands{
    CommandUsage{
        "push",
        "stagecast push -w NODES [OPTION...] SRC DST  copies files or a tree\n"
        "         -w NODES      n[0-7,9], or @FILE with a name or list a line; --nodes=\n"
        "         -n --dry-run  only check whether it would work\n"
        "         --verify      only list the nodes with the same content\n"
        "         --resume      continue an earlier, interrupted push\n"
        "         --rate=RATE   at most, as 1gbit       --timeout=SECONDS\n"
        "         --json        the result as JSON      -c FILE  another stagecast.conf\n"
        "         --launcher=srun|ssh|clush  where no stagecastd runs; needs no root\n"
        "         --interface=NAME  with a launcher: instead of the site's Interface=\n"},
    CommandUsage{"status",
                 "stagecast status [JOB[.STEP]] [--json] [-c FILE]  what is running?\n"},
    CommandUsage{"explain",
                 "stagecast explain JOB[.STEP] [--json] [-c FILE]  where did the time go?\n"
                 "         JOB may be a task of an array, as 27_1\n"},
    CommandUsage{"ticket",
                 "stagecast ticket --cluster=CLUSTER PATH...  for jobs on another cluster\n"
                 "         --uid=UID         yours there, if it is another one\n"
                 "         --lifetime=TIME   as 12h; the site's limit without it\n"},
    CommandUsage{"cache",
                 "stagecast cache ls [--json] | verify [-c FILE]  this node's cache (root)\n"
                 "       stagecast cache rm KEY...|--all [-c FILE]  KEY: 8 digits or "
                 "more\n"},
    CommandUsage{"prolog",
                 "stagecast prolog [-c FILE]     in Slurm's Prolog script (StageFrom)\n"},
    CommandUsage{"doctor",
                 "stagecast doctor [--local] [--json] [-c FILE]  checks this node's setup\n"
                 "         --local       ask only this node, not slurmctld\n"
                 "         --multicast -w NODES [--json]  which transport would they use? "
                 "(root)\n"},
    CommandUsage{"--version", "stagecast --version | --help\n"},
};

}  // namespace

std::string usage() {
    std::string text;
    for (const CommandUsage& command : kCommands) {
        text += text.empty() ? kFirst : kOther;
        text += command.text;
    }
    return text;
}

std::string usage_of(std::string_view name) {
    for (const CommandUsage& command : kCommands) {
        if (command.name == name) {
            return std::string{kFirst}.append(command.text);
        }
    }
    return {};
}

bool asks_for_help(std::span<char* const> words) {
    for (const std::string_view word : words) {
        if (word == "--") {
            return false;
        }
        if (word == "--help" || word == "-h") {
            return true;
        }
    }
    return false;
}

}  // namespace stage
