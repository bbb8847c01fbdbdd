#include "stager/cli/doctor/slurm/plugin_release.h"

#include "stager/cli/doctor/slurm/plugstack.h"
#include "stager/cli/doctor/slurm/scontrol.h"
#include "stager/cli/doctor/slurm/slurm_checks.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stage {
namespace {

/// A plugin with its debugging information has some 20 MB.
constexpr std::uintmax_t kPluginMax = 256U << 20U;

/// A shared object in memory. Whatever its headers say, nothing beside it is read.
class SharedObject {
  public:
    explicit SharedObject(std::string bytes) : bytes_{std::move(bytes)} {}

    /// The 32 bits of a variable; empty if it has none.
    [[nodiscard]] std::optional<std::uint32_t> variable(const char* name) const {
        const auto head = at<Elf64_Ehdr>(0);
        if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
            head->e_ident[EI_CLASS] != ELFCLASS64) {
            return std::nullopt;
        }
        for (std::uint64_t i = 0; i < head->e_shnum; ++i) {
            const auto table = at<Elf64_Shdr>(head->e_shoff + i * sizeof(Elf64_Shdr));
            if (!table || table->sh_type != SHT_DYNSYM) {
                continue;
            }
            const auto names =
                at<Elf64_Shdr>(head->e_shoff + table->sh_link * sizeof(Elf64_Shdr));
            if (const auto symbol = names ? find(*table, *names, name) : std::nullopt) {
                return loaded(*head, symbol->st_value);
            }
        }
        return std::nullopt;
    }

  private:
    template <class Record>
    [[nodiscard]] std::optional<Record> at(std::uint64_t offset) const {
        Record record;
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof record) {
            return std::nullopt;
        }
        std::memcpy(&record, bytes_.data() + offset, sizeof record);
        return record;
    }

    [[nodiscard]] bool has_text(std::uint64_t offset, const char* text) const {
        const std::size_t length = std::strlen(text) + 1;  // (With the byte that ends it.)
        return offset <= bytes_.size() && bytes_.size() - offset >= length &&
               std::memcmp(bytes_.data() + offset, text, length) == 0;
    }

    [[nodiscard]] std::optional<Elf64_Sym> find(const Elf64_Shdr& table,
                                                const Elf64_Shdr& names,
                                                const char* name) const {
        for (std::uint64_t offset = 0; offset < table.sh_size; offset += sizeof(Elf64_Sym)) {
            const auto symbol = at<Elf64_Sym>(table.sh_offset + offset);
            if (!symbol || has_text(names.sh_offset + symbol->st_name, name)) {
                return symbol;
            }
        }
        return std::nullopt;
    }

    /// What lies at an address once the object is loaded.
    [[nodiscard]] std::optional<std::uint32_t> loaded(const Elf64_Ehdr& head,
                                                      std::uint64_t address) const {
        for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
            const auto segment = at<Elf64_Phdr>(head.e_phoff + i * sizeof(Elf64_Phdr));
            if (segment && segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
                address - segment->p_vaddr < segment->p_filesz) {
                return at<std::uint32_t>(segment->p_offset + (address - segment->p_vaddr));
            }
        }
        return std::nullopt;
    }

    std::string bytes_;
};

std::string first_line(const std::string& path) {
    std::ifstream file{path};
    std::string line;
    std::getline(file, line);
    return line;
}

/// The moment at which a process began, by /proc/PID/stat (proc(5), field 22).
std::optional<std::time_t> began_at(const std::string& process) {
    const std::string line = first_line(process + "/stat");
    std::istringstream fields{line.substr(std::min(line.rfind(')') + 1, line.size()))};
    std::string field;
    constexpr int kStart = 20;  // From field 3 on.
    for (int i = 0; i < kStart; ++i) {
        fields >> field;
    }
    std::uint64_t ticks = 0;
    std::ifstream boot{"/proc/stat"};
    std::int64_t booted = 0;
    for (std::string word; boot >> word;) {
        if (word == "btime") {
            boot >> booted;
        }
    }
    const auto [rest, problem] =
        std::from_chars(field.data(), field.data() + field.size(), ticks);
    if (problem != std::errc{} || booted == 0) {
        return std::nullopt;
    }
    return booted +
           static_cast<std::time_t>(ticks / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

/// The directory in /proc of the slurmd that began first; empty: none is seen.
std::string slurmd_process() {
    std::string found;
    std::optional<std::time_t> first;
    std::error_code error;
    for (const auto& process : std::filesystem::directory_iterator{"/proc", error}) {
        const std::string path = process.path().string();
        if (first_line(path + "/comm") != "slurmd") {
            continue;
        }
        const auto began = began_at(path);
        if (began && (!first || *began < *first)) {
            first = began;
            found = path;
        }
    }
    return found;
}

/// What the slurmd that runs prints for -V, otherwise those in PATH: a host may have a second
/// Slurm, which must not judge the plugin of the first. None of them asks slurmctld.
std::string version_printed(const std::string& slurmd) {
    const std::string own = slurmd.empty() ? "" : slurmd + "/exe -V 2>/dev/null || ";
    return output_of("PATH=$PATH:/usr/sbin:/usr/local/sbin; " + own +
                     "slurmd -V 2>/dev/null || sinfo -V 2>/dev/null");
}

/// PlugStackConfig= of a slurm.conf; empty if it has none.
std::string plugstack_named_in(const std::vector<std::string>& slurm_confs) {
    for (const std::string& path : slurm_confs) {
        if (std::ifstream file{path}; !path.empty() && file) {
            std::stringstream text;
            text << file.rdbuf();
            return setting(settings_of(text.str()), "PlugStackConfig");
        }
    }
    return {};
}

}  // namespace

std::string text_of(const SlurmRelease& release) {
    return std::to_string(release.year) + (release.month < 10 ? ".0" : ".") +
           std::to_string(release.month);
}

Result<SlurmRelease> release_of_plugin(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    std::ifstream file{path, std::ios::binary};
    if (error || !file || size > kPluginMax) {
        return Error{Blame::node, path + " can't be read"};
    }
    std::string bytes(size, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(size));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    const SharedObject object{std::move(bytes)};
    const auto version = object.variable("plugin_version");
    if (!version) {
        return Error{Blame::node, path + " is no plugin of Slurm for this processor"};
    }
    // SLURM_VERSION_NUM(a, b, c) of slurm/slurm.h.
    return SlurmRelease{.year = *version >> 16U, .month = *version >> 8U & 0xffU};
}

std::optional<SlurmRelease> release_in(const std::string& printed) {
    const std::size_t space = printed.find(' ');
    if (!printed.starts_with("slurm") || space == std::string::npos) {
        return std::nullopt;
    }
    SlurmRelease release;
    const char* const end = printed.data() + printed.size();
    const auto year = std::from_chars(printed.data() + space + 1, end, release.year);
    if (year.ec != std::errc{} || year.ptr == end || *year.ptr != '.' ||
        std::from_chars(year.ptr + 1, end, release.month).ec != std::errc{}) {
        return std::nullopt;
    }
    return release;
}

SlurmHere slurm_here() {
    const std::string slurmd = slurmd_process();
    return {.release = release_in(version_printed(slurmd)),
            .slurmd_began_at = slurmd.empty() ? std::nullopt : began_at(slurmd)};
}

Finding judge_plugin(const std::string& plugin, const SlurmHere& here) {
    const auto made_for = release_of_plugin(plugin);
    if (!made_for) {
        return wrong("plugin",
                     made_for.error().sentence() +
                         ", so Slurm can't load it, and jobs run without their files; install "
                         "the package that is made for this Slurm, then restart slurmd");
    }
    const std::string text = text_of(*made_for);
    if (!here.release) {
        return unknown("plugin",
                       plugin + " is made for Slurm " + text +
                           "; which one is here neither slurmd -V nor sinfo -V tells");
    }
    if (*here.release != *made_for) {
        return wrong("plugin",
                     plugin + " is made for Slurm " + text + ", and Slurm " +
                         text_of(*here.release) +
                         " here can't load it: jobs run without their files; install the "
                         "package that is made for it, then restart slurmd");
    }
    struct stat file {};
    if (here.slurmd_began_at && ::stat(plugin.c_str(), &file) == 0 &&
        file.st_ctim.tv_sec > *here.slurmd_began_at) {
        return doubtful("plugin",
                        plugin +
                            " is newer than the slurmd that runs: if that could not load one "
                            "when it started, srun --stage-file= fails here; restart slurmd");
    }
    return fine("plugin", "is made for Slurm " + text + ", as it is here");
}

std::optional<Finding> check_plugin() {
    const std::vector<std::string> confs = slurm_confs({});
    const std::string path = plugstack_path(plugstack_named_in(confs), confs);
    const auto line = find_in_plugstack(path);
    if (path.empty() || !line || !*line || !(*line)->plugin.starts_with('/')) {
        return std::nullopt;
    }
    return judge_plugin((*line)->plugin, slurm_here());
}

}  // namespace stage
