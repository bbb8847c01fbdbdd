#include "stager/cli/doctor.h"

#include "stager/cli/cache_check.h"
#include "stager/cli/interface_checks.h"
#include "stager/cli/node_checks.h"
#include "stager/cli/slurm_checks.h"

#include <unistd.h>

namespace stage {
namespace {

void append(std::vector<Finding>& all, std::vector<Finding> more) {
    all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::vector<Finding> examine(const std::string& path) {
    auto loaded = load_config(path);
    const bool is_absent = !loaded && loaded.error().cause() == ENOENT;
    const Config config = loaded ? *loaded : default_config();
    std::vector<Finding> findings;
    if (is_absent) {
        findings.push_back(
            unknown("configuration", path + " is not there: every key has its default"));
    } else {
        findings.push_back(loaded ? fine("configuration", path)
                                  : wrong("configuration", loaded.error().sentence()));
    }
    if (!config.enabled) {
        findings.push_back(wrong("Enabled", "is no: jobs that ask for staging fail"));
    }
    append(findings, check_slurm(config));
    findings.push_back(check_munge(config));
    if (::geteuid() == 0) {
        findings.push_back(check_stage_root(config));
        findings.push_back(check_cache_dir(config));
    } else {
        findings.push_back(
            unknown("StageRoot, CacheDir", "only root can tell; run this as root"));
    }
    append(findings, check_interfaces(config));
    findings.push_back(check_daemon(config));
    findings.push_back(check_port(config));
    return findings;
}

std::string report(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        const char* const word = finding.health == Health::fine    ? "ok     "
                                 : finding.health == Health::wrong ? "WRONG  "
                                                                   : "?      ";
        text += word + finding.subject + ": " + finding.sentence + '\n';
    }
    return text;
}

}  // namespace stage
