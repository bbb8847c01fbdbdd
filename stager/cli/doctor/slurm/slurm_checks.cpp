#include "stager/cli/doctor/slurm/slurm_checks.h"

#include "stager/cli/doctor/slurm/plugin_release.h"
#include "stager/cli/doctor/slurm/plugstack.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace stage {
namespace {

bool has_flag(std::string flags, const std::string& flag) {
    flags = "," + flags + ",";
    return flags.find("," + flag + ",") != std::string::npos;
}

Finding judge_flags(const SlurmSettings& settings) {
    const std::string flags = setting(settings, "PrologFlags");
    if (has_flag(flags, "Serial")) {
        return wrong("PrologFlags",
                     "has Serial, and staging needs all nodes' prologs at once; take it out");
    }
    if (has_flag(flags, "RunInJob")) {
        return wrong("PrologFlags",
                     "has RunInJob, and Slurm then calls no plugin in prolog and epilog, so "
                     "nothing is staged and nothing removed; take it out");
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

Finding judge_timeout(const Config& config, const SlurmSettings& settings) {
    constexpr long kUnlimited = 65533;
    // Since 25.05 prologs and epilogs have separate limits; where the two differ, the old key
    // is not printed.
    const bool is_own_key = !setting(settings, "PrologTimeout").empty();
    const std::string key = is_own_key ? "PrologTimeout" : "PrologEpilogTimeout";
    const auto limit = seconds_of(setting(settings, key));
    const auto own =
        std::chrono::duration_cast<std::chrono::seconds>(config.stage_timeout).count();
    if (!limit || *limit >= kUnlimited) {
        return fine("time limits",
                    "StageTimeout is " + std::to_string(own) + " s, prologs have none");
    }
    // The prolog gives up on a stuck daemon some seconds after StageTimeout.
    constexpr long kMore = 30;
    if (*limit < own + kMore) {
        return wrong("time limits",
                     key + "=" + std::to_string(*limit) + " is not " + std::to_string(kMore) +
                         " s longer than StageTimeout=" + std::to_string(own) +
                         ": Slurm would kill the prolog and drain the node; lower "
                         "StageTimeout");
    }
    return fine("time limits",
                "StageTimeout is " + std::to_string(own) + " s, prologs have " +
                    std::to_string(*limit) + " s");
}

/// Whether a Slurm of this release warns users of slow prologs. In 22.05 and the first of 23.02
/// the timer exists, but never fires.
bool tells_of_long_prologs(const std::string& release) {
    constexpr std::array kFirst{23L, 2L, 7L};
    std::array<long, 3> numbers{};
    const char* at = release.data();
    const char* const end = at + release.size();
    for (long& number : numbers) {
        const auto [rest, problem] = std::from_chars(at, end, number);
        if (problem != std::errc{}) {
            return numbers.front() == 0 || numbers >= kFirst;  // A word: neither of those two.
        }
        at = rest == end ? end : rest + 1;
    }
    return numbers >= kFirst;
}

/// Slurm reports "Prolog hung on node ..." to the user of each prolog that takes longer than
/// its MessageTimeout, less two seconds: harmless, but one line per node.
std::optional<Finding> judge_message_timeout(const Config& config,
                                             const SlurmSettings& settings) {
    constexpr long kLess = 2;
    // Slurm itself warns of more than 100 s; most stagings take less than 60 s.
    constexpr long kEnough = 60;
    const auto limit = seconds_of(setting(settings, "MessageTimeout"));
    const auto longest =
        std::chrono::duration_cast<std::chrono::seconds>(config.stage_timeout).count();
    if (!limit || !tells_of_long_prologs(setting(settings, "SLURM_VERSION"))) {
        return std::nullopt;
    }
    const std::string said = "MessageTimeout=" + std::to_string(*limit);
    if (*limit >= kEnough || *limit - kLess >= longest) {
        return fine("notices", said);
    }
    return doubtful("notices",
                    said + ": for each staging longer than " + std::to_string(*limit - kLess) +
                        " s Slurm tells the user \"Prolog hung on node\" once per node, though "
                        "nothing hangs; set MessageTimeout=" +
                        std::to_string(kEnough) + " in slurm.conf");
}

Finding judge_plugstack(const SlurmSettings& settings,
                        const std::vector<std::string>& slurm_confs) {
    const std::string path = plugstack_path(setting(settings, "PlugStackConfig"), slurm_confs);
    if (path.empty()) {
        return unknown("plugstack",
                       "slurm.conf names none, and where Slurm looks for slurm.conf there is "
                       "none to look beside");
    }
    const auto line = find_in_plugstack(path);
    if (!line) {
        return wrong("plugstack", line.error().sentence());
    }
    if (!*line) {
        return wrong(
            "plugstack",
            path + " loads no stagecast.so; add: optional /usr/lib/slurm/stagecast.so");
    }
    const std::string& plugin = (*line)->plugin;
    if (!(*line)->again.empty()) {
        return wrong("plugstack",
                     (*line)->file + " loads " + plugin + ", and " + (*line)->again +
                         " loads a stagecast.so once more: jobs may run without their files; "
                         "remove one of the lines");
    }
    if (plugin.starts_with('/') && ::access(plugin.c_str(), R_OK) != 0) {
        return wrong("plugstack",
                     (*line)->file + " loads " + plugin +
                         ", which can't be read here; install it on this node");
    }
    return fine(
        "plugstack",
        (*line)->file + " loads " + plugin + ((*line)->is_required ? ", required" : ""));
}

/// Only what judge_plugstack() finds fine: of a file that is not there it has spoken.
std::optional<Finding> judge_plugin_named(const SlurmSettings& settings,
                                          const std::vector<std::string>& slurm_confs) {
    const auto line =
        find_in_plugstack(plugstack_path(setting(settings, "PlugStackConfig"), slurm_confs));
    const bool is_there = line && *line && (*line)->plugin.starts_with('/') &&
                          ::access((*line)->plugin.c_str(), R_OK) == 0;
    return is_there ? std::optional{judge_plugin((*line)->plugin, slurm_here())} : std::nullopt;
}

/// Slurm's first Prolog; newer releases number them.
std::string prolog_of(const SlurmSettings& settings) {
    const std::string only = setting(settings, "Prolog");
    return only.empty() ? setting(settings, "Prolog[0]") : only;
}

Finding judge_stage_from(const SlurmSettings& settings) {
    const std::string prolog = prolog_of(settings);
    return prolog.empty()
               ? wrong("StageFrom",
                       "is prolog-script, and slurm.conf has no Prolog=, so nothing is staged; "
                       "name a script there that calls `stagecast prolog`, or set "
                       "StageFrom=spank")
               : fine("StageFrom",
                      "prolog-script: " + prolog + " must call `stagecast prolog`");
}

}  // namespace

std::vector<std::string> slurm_confs(const SlurmSettings& settings) {
    const char* const own = std::getenv("SLURM_CONF");  // NOLINT(concurrency-mt-unsafe)
    return {own == nullptr ? "" : own,
            setting(settings, "SLURM_CONF"),
            "/etc/slurm/slurm.conf",
            "/run/slurm/conf/slurm.conf"};
}

std::vector<Finding> judge_slurm(const Config& config,
                                 const SlurmSettings& settings,
                                 const std::vector<std::string>& slurm_confs) {
    if (settings.find("ClusterName") == settings.end()) {
        return {unknown("slurm", "slurmctld does not answer (scontrol show config)")};
    }
    std::vector<Finding> findings{judge_flags(settings),
                                  judge_timeout(config, settings),
                                  judge_plugstack(settings, slurm_confs)};
    if (auto plugin = judge_plugin_named(settings, slurm_confs)) {
        findings.push_back(*std::move(plugin));
    }
    if (auto notices = judge_message_timeout(config, settings)) {
        findings.push_back(*std::move(notices));
    }
    if (config.stage_from == StageFrom::prolog_script) {
        findings.push_back(judge_stage_from(settings));
    }
    return findings;
}

}  // namespace stage
