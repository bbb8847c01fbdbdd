#include "stager/config/config.h"

#include "stager/config/key.h"
#include "stager/config/value.h"
#include "transport/base/text.h"
#include "transport/os/descriptors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace stage {
namespace {

constexpr std::size_t kFileMax = 1U << 20U;

/// The number of addresses in the range that are followed by `rails` - 1 more.
std::uint64_t starts_in(const ConfigRange<GroupAddress>& range, std::size_t rails) {
    const std::uint64_t size = std::uint64_t{range.last - range.first} + 1;
    if (range.first == kBroadcastGroup) {
        return 1;
    }
    return size < rails ? 0 : size - rails + 1;
}

/// Requires paths as read_path() returns them.
bool lies_in(const std::string& path, const std::string& directory) {
    return path == directory ||
           path.starts_with(directory == "/" ? directory : directory + "/");
}

/// Parses one file line by line.
class ConfigParser {
  public:
    explicit ConfigParser(std::string_view file) : file_{file}, seen_(config_keys().size()) {}

    Status on_line(std::string_view line) {
        ++line_;
        line = without_comment(line);
        if (line.empty()) {
            return {};
        }
        if (line.find('\0') != std::string_view::npos) {
            return wrong("it contains a NUL byte: this is no text file");
        }
        const auto entry = read_key_value(line);
        if (!entry) {
            return wrong(std::string{line.substr(0, 64)} + ": a line is Key=Value");
        }
        return on_value(entry->key, entry->value);
    }

    /// Checks constraints between several keys.
    [[nodiscard]] Result<Config> take() {
        const auto& ports = config_.data_port_range;
        const std::size_t rails = config_.most_rails();
        const std::size_t flows = config_.policies.flows;
        if (std::max(flows, rails) > 1U + ports.last - ports.first) {
            const std::string key = flows >= rails ? "Flows=" + std::to_string(flows) + " needs"
                                                   : "Interface= joins by +";
            return Error{Blame::node,
                         file_ + ": DataPortRange has fewer ports than " + key +
                             ", one for each; widen it"};
        }
        if (config_.group_count(rails) == 0) {
            return Error{Blame::node,
                         file_ + ": MulticastGroups has no range of " + std::to_string(rails) +
                             " addresses, one for each that Interface= joins by +; widen one"};
        }
        const std::string& cache = config_.cache_dir;
        const std::string& root = config_.stage_root;
        if (config_.cache_size > 0 && (lies_in(cache, root) || lies_in(root, cache))) {
            line_ = std::max(line_of("CacheDir"), line_of("StageRoot"));
            return wrong("CacheDir=" + cache + " and StageRoot=" + root +
                         " contain one another; name separate directories");
        }
        return std::move(config_);
    }

  private:
    /// The key's line; 0: none.
    [[nodiscard]] std::size_t line_of(std::string_view name) const {
        return seen_[static_cast<std::size_t>(find_key(name) - config_keys().data())];
    }

    Status on_value(std::string_view name, std::string_view value) {
        const ConfigKey* key = find_key(name);
        if (key == nullptr) {
            return wrong(unknown_key(name));
        }
        std::size_t& seen = seen_[static_cast<std::size_t>(key - config_keys().data())];
        if (seen != 0) {
            return wrong(std::string{key->name} + " is already set in line " +
                         std::to_string(seen) + "; keep one of the two");
        }
        seen = line_;
        if (!read_into(key->kind, config_, value)) {
            return wrong(std::string{key->name} + "=" + std::string{value.substr(0, 128)} +
                         ": allowed: " + allowed(key->kind));
        }
        return {};
    }

    [[nodiscard]] Error wrong(const std::string& what) const {
        return Error{Blame::node, file_ + ", line " + std::to_string(line_) + ": " + what};
    }

    std::string file_;
    std::size_t line_ = 0;
    std::vector<std::size_t> seen_;  ///< Line of each key of the table, 0: not yet.
    Config config_ = default_config();
};

Status check_owner(int fd, const std::string& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        return Error::from_errno(Blame::node, path);
    }
    if (!S_ISREG(status.st_mode)) {
        return Error{Blame::node, path + " is not a file"};
    }
    const bool ours = status.st_uid == 0 || status.st_uid == ::geteuid();
    if (!ours || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return Error{Blame::node,
                     path +
                         " can be written by others than root; "
                         "chown root:root and chmod 644 it"};
    }
    return {};
}

/// Wraps `text` to comment lines of at most 96 columns.
std::string comment(std::string_view text) {
    constexpr std::size_t kColumns = 94;
    std::string lines;
    while (!text.empty()) {
        std::size_t length = text.size();
        if (length > kColumns) {
            length = text.rfind(' ', kColumns);
        }
        lines += "# " + std::string{text.substr(0, length)} + "\n";
        text = trimmed(text.substr(length));
    }
    return lines;
}

}  // namespace

std::size_t Config::most_rails() const {
    std::size_t most = 1;
    for (const RailNames& entry : interfaces) {
        most = std::max(most, entry.size());
    }
    return most;
}

std::uint64_t Config::group_count(std::size_t rails) const {
    std::uint64_t count = 0;
    for (const auto& range : multicast_groups) {
        count += starts_in(range, rails);
    }
    return count;
}

GroupAddress Config::group_at(std::uint64_t index, std::size_t rails) const {
    for (const auto& range : multicast_groups) {
        const std::uint64_t size = starts_in(range, rails);
        if (index < size) {
            return range.first + static_cast<GroupAddress>(index);
        }
        index -= size;
    }
    invariant_failed("a group is drawn from those that there are", CallSite::here());
}

Config default_config() {
    Config config;
    for (const ConfigKey& key : config_keys()) {
        invariant(read_into(key.kind, config, key.fallback), "a default is an allowed value");
    }
    return config;
}

Result<Config> parse_config(std::string_view text, std::string_view file) {
    ConfigParser parser{file};
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        TRY(parser.on_line(text.substr(0, end)));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return parser.take();
}

Result<Config> load_config(const std::string& path) {
    const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!file) {
        return Error::from_errno(Blame::node, path);
    }
    TRY(check_owner(file.get(), path));
    const Result<std::vector<std::byte>> text = read_first(file.get(), kFileMax + 1);
    if (!text) {
        return Error::from_errno(Blame::node, path, text.error().cause());
    }
    if (text->size() > kFileMax) {
        return Error{Blame::node, path + " is larger than 1 MiB"};
    }
    return parse_config(as_text(*text), path);
}

std::string print_config(const Config& config) {
    std::string text =
        "# stagecast.conf: the site's configuration. Key=Value, as in slurm.conf; a key that "
        "is\n"
        "# commented out has the value shown. stagecastd -C checks the file; SIGHUP has it "
        "read again.\n";
    const Config standard = default_config();
    for (const ConfigKey& key : config_keys()) {
        const std::string value = text_of(key.kind, config);
        text += "\n" + comment(key.help) + comment("Allowed: " + allowed(key.kind) + ".");
        text += key.reread == Reread::at_restart ? comment(kAtRestart) : "";
        text += value == text_of(key.kind, standard) ? "#" : "";
        text += std::string{key.name} + "=" + value + "\n";
    }
    return text;
}

}  // namespace stage
