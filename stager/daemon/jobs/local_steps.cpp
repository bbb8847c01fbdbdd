#include "stager/daemon/jobs/local_steps.h"

#include "transport/os/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

namespace stage {
namespace {

constexpr std::string_view kTitle = "slurmstepd: [";

struct DirectoryClose {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

std::string beginning_of(DIR* directory, const std::string& name) {
    const UniqueFd fd{::openat(::dirfd(directory), name.c_str(), O_RDONLY | O_CLOEXEC)};
    std::array<char, 1024> text{};
    const ssize_t got = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace

bool is_roots_stepd(std::string_view status) {
    return status.starts_with("Name:\tslurmstepd\n") &&
           status.find("\nUid:\t0\t0\t0\t0\n") != std::string_view::npos;
}

std::optional<std::uint32_t> job_of_stepd(std::string_view command_line) {
    if (!command_line.starts_with(kTitle)) {
        return std::nullopt;
    }
    const std::string_view rest = command_line.substr(kTitle.size());
    std::uint32_t job_id = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), job_id);
    const bool is_number = error == std::errc{} && end != rest.data() + rest.size();
    return is_number && *end == '.' ? std::optional{job_id} : std::nullopt;
}

std::set<std::uint32_t> jobs_with_steps(const std::string& proc) {
    std::set<std::uint32_t> jobs;
    const std::unique_ptr<DIR, DirectoryClose> directory{::opendir(proc.c_str())};
    while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {  // NOLINT
        const std::string name = entry->d_name;
        if (name.find_first_not_of("0123456789") != std::string::npos) {
            continue;
        }
        if (!is_roots_stepd(beginning_of(directory.get(), name + "/status"))) {
            continue;
        }
        if (const auto job_id =
                job_of_stepd(beginning_of(directory.get(), name + "/cmdline"))) {
            jobs.insert(*job_id);
        }
    }
    return jobs;
}

}  // namespace stage
