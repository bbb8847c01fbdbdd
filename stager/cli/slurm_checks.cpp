#include "stager/cli/slurm_checks.h"

#include "stager/cli/plugstack.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

namespace stage {
namespace {

using Settings = std::map<std::string, std::string>;

/// "PrologFlags             = Alloc,DeferBatch"
Settings settings_of(const std::string& printed) {
    Settings settings;
    std::istringstream lines{printed};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos) {
            continue;
        }
        const std::string name = line.substr(0, line.find_first_of(" ="));
        const std::size_t value = line.find_first_not_of(' ', equals + 1);
        settings[name] = value == std::string::npos ? "" : line.substr(value);
    }
    return settings;
}

bool has_flag(std::string flags, const std::string& flag) {
    flags = "," + flags + ",";
    return flags.find("," + flag + ",") != std::string::npos;
}

Finding judge_flags(const Settings& settings) {
    const auto found = settings.find("PrologFlags");
    const std::string flags = found == settings.end() ? "" : found->second;
    if (has_flag(flags, "Serial")) {
        return wrong("PrologFlags",
                     "has Serial, and staging needs all nodes' prologs at once; take it out");
    }
    if (!has_flag(flags, "Alloc") && !has_flag(flags, "Contain")) {
        return wrong("PrologFlags",
                     "lacks Alloc, so nothing is staged before a job runs; set "
                     "PrologFlags=Alloc,DeferBatch in slurm.conf");
    }
    return fine("PrologFlags", flags);
}

/// "600 sec", "Unlimited", "65534"
std::optional<long> seconds_of(const std::string& text) {
    long seconds = 0;
    const auto [rest, problem] =
        std::from_chars(text.data(), text.data() + text.size(), seconds);
    return problem == std::errc{} ? std::optional{seconds} : std::nullopt;
}

Finding judge_timeout(const Config& config, const Settings& settings) {
    constexpr long kUnlimited = 65533;
    const auto found = settings.find("PrologEpilogTimeout");
    const auto limit = found == settings.end() ? std::nullopt : seconds_of(found->second);
    const auto own =
        std::chrono::duration_cast<std::chrono::seconds>(config.stage_timeout).count();
    if (!limit || *limit >= kUnlimited) {
        return fine("time limits",
                    "StageTimeout is " + std::to_string(own) + " s, prologs have none");
    }
    // A daemon that hangs is given up some seconds after StageTimeout.
    constexpr long kMore = 30;
    if (*limit < own + kMore) {
        return wrong("time limits",
                     "PrologEpilogTimeout=" + std::to_string(*limit) + " is not " +
                         std::to_string(kMore) +
                         " s longer than StageTimeout=" + std::to_string(own) +
                         ": Slurm would kill the prolog and drain the node; lower "
                         "StageTimeout");
    }
    return fine("time limits",
                "StageTimeout is " + std::to_string(own) + " s, prologs have " +
                    std::to_string(*limit) + " s");
}

Finding judge_plugstack(const Settings& settings) {
    const auto found = settings.find("PlugStackConfig");
    if (found == settings.end() || !found->second.starts_with('/')) {
        return unknown("plugstack", "scontrol does not tell where it is");
    }
    const auto line = find_in_plugstack(found->second);
    if (!line) {
        return wrong("plugstack", line.error().sentence());
    }
    if (!*line) {
        return wrong("plugstack",
                     found->second +
                         " loads no stagecast.so; add: optional /usr/lib/slurm/stagecast.so");
    }
    const std::string& plugin = (*line)->plugin;
    if (plugin.starts_with('/') && ::access(plugin.c_str(), R_OK) != 0) {
        return wrong("plugstack",
                     (*line)->file + " loads " + plugin +
                         ", which can't be read here; install it on this node");
    }
    return fine(
        "plugstack",
        (*line)->file + " loads " + plugin + ((*line)->is_required ? ", required" : ""));
}

struct StreamClose {
    void operator()(std::FILE* stream) const { ::pclose(stream); }
};

}  // namespace

std::vector<Finding> judge_slurm(const Config& config, const std::string& printed) {
    const Settings settings = settings_of(printed);
    if (settings.find("ClusterName") == settings.end()) {
        return {unknown("slurm", "slurmctld does not answer (scontrol show config)")};
    }
    return {judge_flags(settings), judge_timeout(config, settings), judge_plugstack(settings)};
}

std::vector<Finding> check_slurm(const Config& config) {
    const std::unique_ptr<std::FILE, StreamClose> stream{
        ::popen("exec scontrol show config 2>/dev/null", "re")};  // NOLINT(cert-env33-c)
    std::string printed;
    std::array<char, 4096> chunk{};
    while (stream) {
        const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), stream.get());
        if (got == 0) {
            break;
        }
        printed.append(chunk.data(), got);
    }
    return judge_slurm(config, printed);
}

}  // namespace stage
