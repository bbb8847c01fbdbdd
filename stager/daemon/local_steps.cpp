#include "stager/daemon/local_steps.h"

#include "transport/base/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>

namespace stage {
namespace {

constexpr std::string_view kTitle = "slurmstepd: [";

struct DirectoryClose {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

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
        const UniqueFd fd{::openat(
            ::dirfd(directory.get()), (name + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC)};
        struct stat status {};
        std::array<char, 64> text{};
        if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_uid != 0) {
            continue;
        }
        const ssize_t got = ::read(fd.get(), text.data(), text.size());
        const auto size = static_cast<std::size_t>(got > 0 ? got : 0);
        if (const auto job_id = job_of_stepd({text.data(), size})) {
            jobs.insert(*job_id);
        }
    }
    return jobs;
}

}  // namespace stage
