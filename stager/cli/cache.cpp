#include "stager/cli/cache.h"

#include "stager/cache/store.h"
#include "stager/cli/common/command_line.h"
#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/disk/disk_io.h"
#include "transport/base/hex.h"
#include "transport/os/installation.h"

#include <fcntl.h>
#include <pwd.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stage {
namespace {

constexpr int kSomethingWrong = 1;
constexpr int kNothingDone = 2;
constexpr std::size_t kShownDigits = 16;
constexpr std::size_t kDigitsMin = 8;  ///< A shorter prefix could match too many entries.

int fail(int code, const std::string& sentence) {
    static_cast<void>(std::fprintf(stderr, "stagecast cache: %s\n", sentence.c_str()));
    return code;
}

int wrong_use(const std::string& what) {
    return fail(EX_USAGE, what + "; stagecast cache --help has more");
}

std::string user_of(std::uint32_t uid) {
    const passwd* entry = ::getpwuid(uid);  // NOLINT(concurrency-mt-unsafe)
    return entry != nullptr ? entry->pw_name : std::to_string(uid);
}

std::string key_of(const CacheStore::Stored& stored) {
    return to_hex(stored.key.content.key);
}

/// "2026-01-31 12:00".
std::string time_of(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    std::array<char, 32> text{};
    static_cast<void>(::localtime_r(&time, &parts));
    static_cast<void>(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts));
    return text.data();
}

void print_line(const CacheStore::Stored& stored, const char* after) {
    static_cast<void>(std::printf("%s %14llu  %s  %s%s\n",
                                  key_of(stored).substr(0, kShownDigits).c_str(),
                                  static_cast<unsigned long long>(stored.size.bytes),
                                  time_of(stored.used_at).c_str(),
                                  user_of(stored.key.uid).c_str(),
                                  after));
}

/// The last used one first.
std::vector<CacheStore::Stored> sorted(const CacheStore& store) {
    std::vector<CacheStore::Stored> all = store.list();
    std::ranges::sort(all, [](const CacheStore::Stored& one, const CacheStore::Stored& other) {
        return one.used_at > other.used_at;
    });
    return all;
}

/// docs/schemas/cache.schema.json
int list_json(const CacheStore& store) {
    std::uint64_t sum = 0;
    auto files = nlohmann::json::array();
    for (const CacheStore::Stored& stored : sorted(store)) {
        files.push_back({{"key", key_of(stored)},
                         {"bytes", stored.size.bytes},
                         {"used_at", stored.used_at},
                         {"user", user_of(stored.key.uid)},
                         {"is_part", stored.key.is_part}});
        sum += stored.size.bytes;
    }
    const nlohmann::json all{{"files", std::move(files)}, {"bytes", sum}};
    static_cast<void>(std::printf(
        "%s\n", all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str()));
    return 0;
}

int list(const CacheStore& store) {
    std::uint64_t sum = 0;
    const std::vector<CacheStore::Stored> all = sorted(store);
    for (const CacheStore::Stored& stored : all) {
        print_line(stored, stored.key.is_part ? "  a part" : "");
        sum += stored.size.bytes;
    }
    static_cast<void>(std::printf(
        "%zu files, %llu bytes\n", all.size(), static_cast<unsigned long long>(sum)));
    return 0;
}

int remove(CacheStore& store, bool is_all, const std::vector<std::string>& names) {
    const bool is_sound = std::ranges::all_of(
        names, [](const std::string& name) { return name.size() >= kDigitsMin; });
    if (names.empty() != is_all || !is_sound) {
        return wrong_use("rm takes KEYs of 8 digits or more, or --all");
    }
    std::size_t removed = 0;
    for (const CacheStore::Stored& stored : store.list()) {
        const bool is_meant =
            is_all || std::ranges::any_of(names, [&](const std::string& name) {
                return key_of(stored).starts_with(name);
            });
        if (is_meant) {
            store.remove(stored.key);
            ++removed;
        }
    }
    static_cast<void>(std::printf("%zu removed\n", removed));
    return removed > 0 || is_all ? 0 : kNothingDone;
}

/// Returns nothing if the file can't be read completely.
std::optional<Content> content_in(int file, std::uint64_t bytes) {
    std::vector<std::byte> room(kBlockBytes);
    ContentHasher hasher;
    for (std::uint64_t at = 0; at < bytes;) {
        const MutableBytes block =
            MutableBytes{room}.first(std::min<std::uint64_t>(kBlockBytes, bytes - at));
        if (read_fully(file, block, at) != static_cast<std::int64_t>(block.size())) {
            return std::nullopt;
        }
        hasher.add(block);
        at += block.size();
    }
    return hasher.content();
}

int verify(const CacheStore& store) {
    std::size_t bad = 0;
    std::vector<CacheStore::Stored> all = store.list();
    // Each block of a partial file is verified when it is used.
    std::erase_if(all, [](const CacheStore::Stored& stored) { return stored.key.is_part; });
    for (const CacheStore::Stored& stored : all) {
        const UniqueFd file = store.open(stored.key);
        if (!file || content_in(file.get(), stored.size.bytes) != stored.key.content) {
            print_line(stored, "  SPOILT: remove it");
            ++bad;
        }
    }
    static_cast<void>(std::printf("%zu files are whole, %zu are not\n", all.size() - bad, bad));
    return bad == 0 ? 0 : kSomethingWrong;
}

}  // namespace

int run_cache(std::span<char* const> words) {
    constexpr std::array kOptions{OptionName{"all", 0, false},
                                  OptionName{"json", 0, false},
                                  OptionName{"config", 'c', true}};
    const auto line = read_command_line(words, kOptions);
    if (!line) {
        return fail(EX_USAGE, line.error().sentence());
    }
    std::string path = config_path();
    bool is_all = false;
    bool wants_json = false;
    for (const auto& [name, value] : line->options) {
        is_all = is_all || name == "all";
        wants_json = wants_json || name == "json";
        path = name == "config" ? value : path;
    }
    std::vector<std::string> rest = line->operands;
    const std::string command = rest.empty() ? "" : rest.front();
    if (command != "rm" &&
        ((command != "ls" && command != "verify") || rest.size() != 1 || is_all)) {
        return wrong_use(command.empty() ? "say ls, verify or rm"
                                         : printable(command) + " is not ls, verify or rm");
    }
    if (wants_json && command != "ls") {
        return wrong_use("--json goes with ls only");
    }
    rest.erase(rest.begin());
    const auto config = load_config(path);
    if (!config) {
        return fail(EX_CONFIG, config.error().sentence());
    }
    if (::geteuid() != 0) {
        return fail(EX_NOPERM, "only root may look into " + config->cache_dir);
    }
    UniqueFd directory{
        ::open(config->cache_dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!directory) {
        return fail(kNothingDone, "there is no cache at " + config->cache_dir);
    }
    CacheStore store{std::move(directory)};
    return command == "ls"   ? (wants_json ? list_json(store) : list(store))
           : command == "rm" ? remove(store, is_all, rest)
                             : verify(store);
}

}  // namespace stage
