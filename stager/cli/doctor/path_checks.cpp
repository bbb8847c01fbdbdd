#include "stager/cli/doctor/path_checks.h"

#include "transport/os/root_directory.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

namespace stage {
namespace {

bool is_directory(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// The file system of `path`, or of its nearest existing parent.
std::optional<dev_t> device_of(std::filesystem::path path) {
    struct stat status {};
    while (::stat(path.c_str(), &status) != 0) {
        if (errno != ENOENT || path == path.parent_path()) {
            return std::nullopt;
        }
        path = path.parent_path();
    }
    return status.st_dev;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
    }
}

}  // namespace

Finding check_libexec(const Config& config) {
    for (const char* const program : {"/stagecast-worker", "/stagecast-pmix-host"}) {
        const std::string path = config.libexec_dir + program;
        if (::access(path.c_str(), X_OK) != 0) {
            return wrong("LibexecDir",
                         Error::from_errno(Blame::node, path).sentence() +
                             "; install it, or correct LibexecDir in stagecast.conf");
        }
    }
    return fine("LibexecDir", config.libexec_dir);
}

std::vector<Finding> check_dest_roots(const Config& config) {
    std::vector<Finding> findings;
    for (const std::string& root : config.dest_roots) {
        if (!is_directory(root)) {
            findings.push_back(
                wrong("DestRoots",
                      root + " is no directory here; make it, or correct DestRoots in "
                             "stagecast.conf"));
        }
    }
    return findings;
}

std::vector<Finding> check_push_roots(const Config& config) {
    std::vector<Finding> findings;
    for (const std::string& root : config.push_roots) {
        if (const auto fit = open_root_directory("PushRoots", root, false); !fit) {
            findings.push_back(wrong("PushRoots", fit.error().sentence()));
        }
    }
    if (!config.push_roots.empty() && config.push_from.empty()) {
        findings.push_back(doubtful("PushFrom",
                                    "is empty, so no other node may push here; name the nodes "
                                    "that may, or empty PushRoots, too"));
    }
    return findings;
}

std::optional<Finding> check_metrics_file(const Config& config) {
    if (config.metrics_file.empty()) {
        return std::nullopt;
    }
    const std::string above = std::filesystem::path{config.metrics_file}.parent_path();
    return is_directory(above)
               ? fine("MetricsFile", config.metrics_file)
               : wrong("MetricsFile",
                       above + " is no directory here, so nothing is written; make it");
}

std::vector<Finding> check_noexec(const Config& config) {
    std::vector<Finding> findings;
    const auto look = [&](const std::string& key, const std::string& path) {
        struct statvfs about {};
        if (::statvfs(path.c_str(), &about) == 0 && (about.f_flag & ST_NOEXEC) != 0) {
            findings.push_back(doubtful(
                key,
                path +
                    " is mounted noexec: programs that jobs stage there can't be started, and "
                    "libs is refused; mount it without noexec if jobs shall stage programs"));
        }
    };
    look("StageRoot", config.stage_root);
    for (const std::string& root : config.dest_roots) {
        look("DestRoots", root);
    }
    return findings;
}

std::optional<Finding> check_spool(const Config& config, const std::string& spool) {
    const auto stages = device_of(config.stage_root);
    const auto slurmd = device_of(spool);
    if (spool.empty() || !stages || stages != slurmd) {
        return std::nullopt;
    }
    return doubtful("StageRoot",
                    config.stage_root + " shares a file system with slurmd's SlurmdSpoolDir " +
                        spool +
                        ": a job that fills it has the node drained; give StageRoot a file "
                        "system of its own, or bound jobs by MaxBytes");
}

std::string spool_of(std::string pattern, const std::string& host, const std::string& node) {
    replace_all(pattern, "%h", host);
    replace_all(pattern, "%n", node);
    return pattern;
}

}  // namespace stage
