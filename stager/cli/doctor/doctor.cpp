#include "stager/cli/doctor/doctor.h"

#include "stager/cli/doctor/cache_check.h"
#include "stager/cli/doctor/host_checks.h"
#include "stager/cli/doctor/interface_checks.h"
#include "stager/cli/doctor/network_checks.h"
#include "stager/cli/doctor/node_checks.h"
#include "stager/cli/doctor/path_checks.h"
#include "stager/cli/doctor/rdma_checks.h"
#include "stager/cli/doctor/slurm/plugin_release.h"
#include "stager/cli/doctor/slurm/slurm_checks.h"
#include "stager/cli/doctor/write_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

void append(std::vector<Finding>& all, std::vector<Finding> more) {
    all.insert(all.end(), more.begin(), more.end());
}

void append(std::vector<Finding>& all, std::optional<Finding> one) {
    if (one) {
        all.push_back(*std::move(one));
    }
}

/// Checks of what only stagecastd needs.
void examine_node(const Config& config, const std::string& spool, std::vector<Finding>& all) {
    if (::geteuid() == 0) {
        all.push_back(check_stage_root(config));
        all.push_back(check_run_dir(config.run_dir));
        append(all, check_spool(config, spool));
        all.push_back(check_cache_dir(config));
        append(all, check_push_roots(config));
    } else {
        all.push_back(unknown("StageRoot, RunDir, CacheDir, PushRoots",
                              "only root can tell; run this as root"));
    }
    all.push_back(check_libexec(config));
    all.push_back(check_pmix(config));
    append(all, check_dest_roots(config));
    append(all, check_noexec(config));
    append(all, check_metrics_file(config));
    append(all, check_interfaces(config));
    if (!config.interfaces.empty()) {
        append(all, judge_rdma(rdma_seen(config), config.transport));
    }
    all.push_back(check_daemon(config));
    all.push_back(check_port(config));
    append(all, check_data_ports(config));
    append(all, check_local_ports(config));
    all.push_back(check_loopback());
}

bool has_socket(const Config& config) {
    return ::access((config.run_dir + "/stagecastd.sock").c_str(), F_OK) == 0;
}

/// The plugin reads the file as the user who submits, and takes the defaults if it can't.
bool can_users_read(const std::string& path) {
    struct stat file {};
    return ::stat(path.c_str(), &file) != 0 || (file.st_mode & S_IROTH) != 0;
}

Config examine_config(const std::string& path, std::vector<Finding>& findings) {
    auto loaded = load_config(path);
    const bool is_absent = !loaded && loaded.error().cause() == ENOENT;
    const Config config = loaded ? *loaded : default_config();
    if (is_absent) {
        findings.push_back(
            unknown("configuration", path + " is not there: every key has its default"));
    } else {
        findings.push_back(loaded ? fine("configuration", path)
                                  : wrong("configuration", loaded.error().sentence()));
    }
    if (loaded && !can_users_read(path)) {
        findings.push_back(doubtful("configuration",
                                    path +
                                        " can't be read by users, so sbatch, srun and salloc "
                                        "take the defaults; chmod o+r it"));
    }
    if (!config.enabled) {
        findings.push_back(wrong("Enabled", "is no: jobs that ask for staging fail"));
    }
    return config;
}

}  // namespace

std::vector<Finding> examine(const std::string& path, DoctorReach reach) {
    std::vector<Finding> findings;
    const Config config = examine_config(path, findings);
    if (reach == DoctorReach::local) {
        append(findings, check_plugin());
        findings.push_back(check_login(config));
        examine_node(config, {}, findings);
        return findings;
    }
    const SlurmSettings settings = settings_of(scontrol_show("config"));
    const std::vector<HostedNode> nodes = nodes_of(scontrol_show("node"));
    const std::string host = own_host();
    const bool has_no_daemon = is_no_node(nodes, host) && !has_socket(config);
    append(findings, judge_slurm(config, settings, slurm_confs(settings)));
    // Munge is Slurm's, too; the key file is needed where a daemon runs.
    if (!has_no_daemon || config.auth_key_file.empty()) {
        findings.push_back(check_login(config));
    }
    append(findings, judge_node_name(config, nodes, host));
    if (has_no_daemon) {
        findings.push_back(fine(
            "node",
            host + " is none of Slurm's: jobs with --stage-file may be submitted here, and "
                   "stagecastd, StageRoot and Interface are not needed"));
        findings.push_back(judge_submissions(config));
        return findings;
    }
    const std::string pattern = setting(settings, "SlurmdSpoolDir");
    examine_node(config, spool_of(pattern, host, node_on(nodes, host)), findings);
    append(findings, check_node_address(config, address_on(nodes, host)));
    return findings;
}

bool is_well(const std::vector<Finding>& findings) {
    return std::ranges::none_of(findings,
                                [](const Finding& one) { return one.health == Health::wrong; });
}

std::string report(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        const char* const word = finding.health == Health::fine       ? "ok     "
                                 : finding.health == Health::doubtful ? "warn   "
                                 : finding.health == Health::wrong    ? "WRONG  "
                                                                      : "?      ";
        text += word + finding.subject + ": " + finding.sentence + '\n';
    }
    return text;
}

std::string report_json(const std::vector<Finding>& findings) {
    auto list = nlohmann::json::array();
    for (const Finding& finding : findings) {
        const char* const word = finding.health == Health::fine       ? "ok"
                                 : finding.health == Health::doubtful ? "warn"
                                 : finding.health == Health::wrong    ? "wrong"
                                                                      : "unknown";
        list.push_back(
            {{"subject", finding.subject}, {"health", word}, {"sentence", finding.sentence}});
    }
    const nlohmann::json all{{"is_well", is_well(findings)}, {"findings", std::move(list)}};
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stage
