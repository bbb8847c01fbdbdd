#include "spank/host/slurm_host.h"

#include "transport/os/unique_fd.h"

#include <slurm/slurm.h>

#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>

// Slurm's functions are resolved in the host process; the plugin links none of them. This one
// is part of libslurm's public interface, and weak because a process may lack it.
extern "C" {
// NOLINTNEXTLINE(readability-redundant-declaration)
extern int slurm_load_ctl_conf(time_t update_time, slurm_conf_t** conf) __attribute__((weak));
// NOLINTNEXTLINE(readability-redundant-declaration)
extern void slurm_free_ctl_conf(slurm_conf_t* conf) __attribute__((weak));
}

// In Slurm since 24.05; its number is part of the protocol of all later releases.
#ifndef PROLOG_FLAG_RUN_IN_JOB
#define PROLOG_FLAG_RUN_IN_JOB 0x0080
#endif

namespace stage {
namespace {

constexpr std::size_t kMaxCommandLineBytes = 1U << 20U;

template <class Number>
std::optional<std::uint32_t> read_item(spank_t slurm, spank_item_t item) {
    Number number{};
    if (::spank_get_item(slurm, item, &number) != ESPANK_SUCCESS) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(number);
}

bool is_same_place(const char* one, const char* other) {
    struct stat first {};
    struct stat second {};
    return ::stat(one, &first) == 0 && ::stat(other, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

Context SlurmHost::context() const {
    switch (::spank_context()) {
        case S_CTX_LOCAL:
            return Context::local;
        case S_CTX_ALLOCATOR:
            return Context::allocator;
        case S_CTX_REMOTE:
            return Context::remote;
        case S_CTX_JOB_SCRIPT:
            return Context::job_script;
        default:
            return Context::other;
    }
}

std::optional<std::uint32_t> SlurmHost::item(Item item) const {
    switch (item) {
        case Item::job_id:
            return read_item<std::uint32_t>(slurm_, S_JOB_ID);
        case Item::step_id:
            return read_item<std::uint32_t>(slurm_, S_JOB_STEPID);
        case Item::uid:
            return read_item<uid_t>(slurm_, S_JOB_UID);
        case Item::gid:
            return read_item<gid_t>(slurm_, S_JOB_GID);
        case Item::node_id:
            return read_item<std::uint32_t>(slurm_, S_JOB_NODEID);
        case Item::node_count:
            return read_item<std::uint32_t>(slurm_, S_JOB_NNODES);
        case Item::restart:
            return read_item<std::uint32_t>(slurm_, S_SLURM_RESTART_COUNT);
        case Item::task:
            return read_item<int>(slurm_, S_TASK_ID);
    }
    return std::nullopt;
}

std::optional<std::string> SlurmHost::job_variable(const char* name) const {
    // Not spank_getenv, which needs a buffer for the longest possible value.
    char** environment = nullptr;
    if (::spank_get_item(slurm_, S_JOB_ENV, &environment) != ESPANK_SUCCESS ||
        environment == nullptr) {
        return std::nullopt;
    }
    const std::string_view wanted{name};
    for (char** entry = environment; *entry != nullptr; ++entry) {
        const std::string_view text{*entry};
        if (text.size() > wanted.size() && text.starts_with(wanted) &&
            text[wanted.size()] == '=') {
            return std::string{text.substr(wanted.size() + 1)};
        }
    }
    return std::nullopt;
}

void SlurmHost::set_job_variable(const char* name, const std::string& value) {
    static_cast<void>(::spank_setenv(slurm_, name, value.c_str(), 1));
}

void SlurmHost::unset_job_variable(const char* name) {
    static_cast<void>(::spank_unsetenv(slurm_, name));
}

std::optional<std::string> SlurmHost::variable(const char* name) const {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no threads
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

void SlurmHost::set_variable(const char* name, const std::string& value) {
    static_cast<void>(::setenv(name, value.c_str(), 1));  // NOLINT(concurrency-mt-unsafe)
}

void SlurmHost::unset_variable(const char* name) {
    static_cast<void>(::unsetenv(name));  // NOLINT(concurrency-mt-unsafe)
}

bool SlurmHost::hand_to_prolog(const char* name, const std::string& value) {
    return ::spank_job_control_setenv(slurm_, name, value.c_str(), 1) == ESPANK_SUCCESS;
}

std::string SlurmHost::client() const {
    return ::program_invocation_short_name;
}

std::vector<std::string> SlurmHost::command_line() const {
    const UniqueFd fd{::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)};
    std::string text;
    std::array<char, 4096> buffer{};
    while (fd && text.size() < kMaxCommandLineBytes) {
        const auto count = ::read(fd.get(), buffer.data(), buffer.size());
        if (count <= 0) {
            break;
        }
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    if (!words.empty()) {
        words.erase(words.begin());
    }
    return words;
}

std::size_t SlurmHost::options_end() const {
    return ::optind > 0 ? static_cast<std::size_t>(::optind) : 0;
}

std::string SlurmHost::working_directory() const {
    // The logical path, as pwd prints it: the physical path of an automounter or of a symbolic
    // link on this host may not exist on the nodes.
    if (const auto logical = variable("PWD");
        logical && logical->starts_with('/') && is_same_place(logical->c_str(), ".")) {
        return *logical;
    }
    std::array<char, PATH_MAX> buffer{};
    const char* const physical = ::getcwd(buffer.data(), buffer.size());
    return physical != nullptr && *physical == '/' ? std::string{physical} : std::string{};
}

namespace {

/// Named differently since 25.11.
std::string container_plugin_of(const slurm_conf_t& conf) {
#if SLURM_VERSION_NUMBER >= 0x190b00
    const char* const name = conf.namespace_plugin;
#else
    const char* const name = conf.job_container_plugin;
#endif
    return name == nullptr ? "" : name;
}

}  // namespace

std::optional<ClusterFacts> SlurmHost::cluster_facts() const {
    slurm_conf_t* conf = nullptr;
    if (slurm_load_ctl_conf == nullptr || slurm_free_ctl_conf == nullptr ||
        slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS || conf == nullptr) {
        return std::nullopt;
    }
    ClusterFacts facts;
    facts.name = conf->cluster_name == nullptr ? "" : conf->cluster_name;
    facts.prolog_at_allocation =
        (conf->prolog_flags & (PROLOG_FLAG_ALLOC | PROLOG_FLAG_CONTAIN)) != 0;
    facts.prolog_serial = (conf->prolog_flags & PROLOG_FLAG_SERIAL) != 0;
    facts.prolog_in_job = (conf->prolog_flags & PROLOG_FLAG_RUN_IN_JOB) != 0;
    const std::string container = container_plugin_of(*conf);
    facts.private_tmp = container.ends_with("/tmpfs") || container == "namespace/linux";
    slurm_free_ctl_conf(conf);
    return facts;
}

void SlurmHost::say_error(const std::string& sentence) {
    ::slurm_error("%s", sentence.c_str());
}

void SlurmHost::say_in_task(const std::string& sentence) {
    const std::string line = sentence + '\n';
    static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) < 0);
}

void SlurmHost::say(const std::string& sentence) {
    ::slurm_info("%s", sentence.c_str());
}

}  // namespace stage
