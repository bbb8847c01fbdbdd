// The main program of stagecastd.
//
// One daemon runs on each node, as root and in the foreground: `stagecastd [-c FILE]`, logging
// to stderr. `-C` checks the configuration and ends, `-p` prints it, `-m` prints its manual
// page. Before anything else the daemon forks its spawner, whose children so inherit nothing.
#include "stager/cache/copier.h"
#include "stager/config/config.h"
#include "stager/daemon/base/closing_process.h"
#include "stager/daemon/daemon.h"
#include "stager/link/munge_client.h"
#include "stager/slurm/slurm_query.h"
#include "stager/spawn/service_user.h"
#include "stager/spawn/spawner.h"
#include "transport/base/log.h"
#include "transport/os/installation.h"

#include <getopt.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>

namespace stage {
namespace {

struct Options {
    std::string config = config_path();
    bool config_given = false;
    bool check_only = false;
    bool print = false;
    bool print_manual = false;
    std::optional<std::string> text;  ///< To print, and then end: the usage, the version.
};

constexpr const char* kUsage =
    "usage: stagecastd [-c FILE] [-C] [-p] [-m] [-h] [-V]\n"
    "  -c FILE  the configuration, else /etc/stagecast/stagecast.conf;\n"
    "           '' for none: every key has its default\n"
    "  -C       check it and end\n"
    "  -p       print it with its help and end\n"
    "  -m       print the manual page stagecast.conf(5) and end\n"
    "  -h       or --help: print this and end\n"
    "  -V       or --version: print the version and end\n";

bool read_options(int argc, char** argv, Options& options) {
    const std::array long_names{option{"help", no_argument, nullptr, 'h'},
                                option{"version", no_argument, nullptr, 'V'},
                                option{}};
    for (;;) {
        const int letter =  // NOLINTNEXTLINE(concurrency-mt-unsafe)
            ::getopt_long(argc, argv, "c:CpmhV", long_names.data(), nullptr);
        if (letter == -1) {
            return ::optind == argc;
        }
        switch (letter) {
            case 'c':
                options.config = ::optarg;
                options.config_given = true;
                break;
            case 'C':
                options.check_only = true;
                break;
            case 'p':
                options.print = true;
                break;
            case 'm':
                options.print_manual = true;
                break;
            case 'h':
                options.text = kUsage;
                break;
            case 'V':
                options.text = std::string{"stagecastd "} + version() + '\n';
                break;
            default:
                return false;
        }
    }
}

/// A missing default file means the defaults; a missing file that -c names is an error.
Result<Config> read_config(const Options& options) {
    if (options.config.empty()) {
        return default_config();
    }
    auto config = load_config(options.config);
    if (!config && config.error().cause() == ENOENT && !options.config_given) {
        return default_config();
    }
    return config;
}

/// Reports a failed write: a file that a full disk has cut would pass for a configuration.
int print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) {
        return EX_OK;
    }
    const std::string why = Error::from_errno(Blame::user, "standard output").sentence();
    static_cast<void>(std::fprintf(stderr, "stagecastd: %s\n", why.c_str()));
    return EX_IOERR;
}

int serve(const Config& config, const Options& options) {
    Logger log = Logger::to_stderr("stagecastd", config.log_level);
    if (::geteuid() != 0) {
        log.error("stagecastd must be root");
        return EX_NOPERM;
    }
    auto spawner = Spawner::fork({.roles = {[socket = config.munge_socket](int fd) {
                                                return run_munge_helper(fd, socket);
                                            },
                                            [](int fd) { return run_slurm_query(fd); },
                                            [user = service_user()](int fd) {
                                                return run_cache_copier(fd, user.uid, user.gid);
                                            },
                                            run_closing_process},
                                  .cgroup = own_cgroup()});
    if (!spawner) {
        log.error(spawner.error().sentence());
        return EX_OSERR;
    }
    auto daemon = Daemon::make(
        config, log, std::move(*spawner), [&options] { return read_config(options); });
    if (!daemon) {
        log.error(daemon.error().sentence());
        return EX_UNAVAILABLE;  // A port in use or an absent disk may become available: retry.
    }
    return (*daemon)->run();
}

}  // namespace
}  // namespace stage

int main(int argc, char** argv) {
    using namespace stage;
    // The parent process may have left open descriptors; no child of the daemon may get them.
    static_cast<void>(::close_range(STDERR_FILENO + 1, ~0U, 0));
    // A stricter umask would close the socket's directory and StageRoot to users.
    ::umask(S_IWGRP | S_IWOTH);
    Options options;
    if (!read_options(argc, argv, options)) {
        static_cast<void>(std::fputs(kUsage, stderr));
        return EX_USAGE;
    }
    if (options.text || options.print_manual) {
        return print(options.text ? *options.text : print_manual());
    }
    const auto config = read_config(options);
    if (!config) {
        Logger::to_stderr("stagecastd", LogLevel::info).error(config.error().sentence());
        return EX_CONFIG;
    }
    if (options.print) {
        return print(print_config(*config));
    }
    return options.check_only ? EX_OK : serve(*config, options);
}
