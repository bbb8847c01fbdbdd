#include "stager/files/libraries/library_places.h"

#include "stager/disk/disk_io.h"
#include "stager/disk/open_to_read.h"
#include "transport/os/names_in.h"
#include "transport/os/unique_fd.h"

#include <boost/filesystem.hpp>

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

namespace stage {
namespace {

constexpr std::string_view kHardware = "/glibc-hwcaps";

LinkerCache read_list(const std::string& path) {
    const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uint64_t>(status.st_size) > kMaxLinkerCacheBytes) {
        return {};
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    const std::int64_t count = read_fully(file.get(), bytes, 0);
    bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
    return parse_linker_cache(bytes);
}

bool continues_a_name(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/// The length of the token `name` with its '$' at the beginning of `text`; 0: there is none.
std::size_t token_length(std::string_view text, std::string_view name) {
    const bool is_curly = text.substr(1).starts_with('{');
    const std::size_t begin = is_curly ? 2 : 1;
    if (text.substr(std::min(begin, text.size()), name.size()) != name) {
        return 0;
    }
    const std::string_view rest = text.substr(begin + name.size());
    if (is_curly) {
        return rest.starts_with('}') ? begin + name.size() + 1 : 0;
    }
    return !rest.empty() && continues_a_name(rest.front()) ? 0 : begin + name.size();
}

/// The machine as the kernel names it.
std::string platform() {
    const auto* const text = reinterpret_cast<const char*>(::getauxval(AT_PLATFORM));
    return text != nullptr ? text : "";
}

/// Adds the library in `directory`, then those for certain processors, the most general first,
/// since they must run on each node.
void add_places(const std::string& directory,
                const std::string& name,
                bool is_by_origin,
                std::vector<LibraryPlace>& places) {
    places.push_back({directory + '/' + name, is_by_origin});
    const std::string hardware = directory + std::string{kHardware};
    const UniqueFd kinds{::open(hardware.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    std::vector<std::string> names = kinds ? names_in(kinds.get()) : std::vector<std::string>{};
    std::ranges::sort(names);
    for (const std::string& kind : names) {
        places.push_back({hardware + '/' + kind + '/' + name, is_by_origin});
    }
}

}  // namespace

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string real_path(const std::string& path) {
    boost::system::error_code failed;
    const auto canonical = boost::filesystem::canonical(path, failed);
    return failed ? path : canonical.string();
}

bool is_of_c_library(std::string_view name) {
    constexpr std::array<std::string_view, 14> kNames{"libc.so.",
                                                      "libm.so.",
                                                      "libmvec.so.",
                                                      "libpthread.so.",
                                                      "libdl.so.",
                                                      "librt.so.",
                                                      "libanl.so.",
                                                      "libutil.so.",
                                                      "libresolv.so.",
                                                      "libnss_",
                                                      "libthread_db",
                                                      "ld-linux",
                                                      "ld64.so.",
                                                      "libBrokenLocale.so."};
    return std::ranges::any_of(kNames,
                               [&](std::string_view one) { return name.starts_with(one); });
}

bool have_other_bytes(const std::string& one, const std::string& other) {
    const UniqueFd left = open_to_read(one);
    const UniqueFd right = open_to_read(other);
    struct stat left_status {};
    struct stat right_status {};
    if (!left || !right || ::fstat(left.get(), &left_status) != 0 ||
        ::fstat(right.get(), &right_status) != 0) {
        return false;
    }
    const auto size = static_cast<std::uint64_t>(left_status.st_size);
    const bool is_one =
        left_status.st_dev == right_status.st_dev && left_status.st_ino == right_status.st_ino;
    return !is_one && (left_status.st_size != right_status.st_size ||
                       !has_same_bytes(left.get(), right.get(), size));
}

std::string library_token_of(const std::string& loader) {
    const std::string directory = directory_of(real_path(loader));
    const std::size_t begin = directory.rfind("/lib");
    return begin == std::string::npos ? "lib" : directory.substr(begin + 1);
}

std::string with_tokens(std::string_view text,
                        const std::string& origin,
                        const SearchContext& context,
                        bool& has_origin) {
    const std::array<std::pair<std::string_view, std::string>, 3> tokens{
        {{"ORIGIN", origin}, {"LIB", context.lib_token}, {"PLATFORM", platform()}}};
    std::string out;
    while (!text.empty()) {
        std::size_t length = 0;
        for (const auto& [name, value] : tokens) {
            length = text.front() == '$' && length == 0 ? token_length(text, name) : 0;
            if (length != 0) {
                out += value;
                has_origin = has_origin || name == "ORIGIN";
                break;
            }
        }
        if (length == 0) {
            out += text.front();
            length = 1;
        }
        text.remove_prefix(length);
    }
    return out;
}

std::vector<LibraryPlace> places_in(std::string_view path,
                                    std::string_view separators,
                                    const std::string& name,
                                    const std::string& origin,
                                    const SearchContext& context) {
    std::vector<LibraryPlace> places;
    if (path.empty()) {
        return places;
    }
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find_first_of(separators, begin), path.size());
        bool is_by_origin = false;
        std::string one =
            with_tokens(path.substr(begin, end - begin), origin, context, is_by_origin);
        begin = end + 1;
        if (!one.starts_with('/')) {  // An empty one means the working directory, too.
            one = context.work_dir.empty() ? "" : context.work_dir + '/' + one;
        }
        if (!one.empty()) {
            add_places(one, name, is_by_origin, places);
        }
    }
    return places;
}

LoaderDefaults::LoaderDefaults(const SystemLibraries& system)
    : sources_{{read_list(system.list), system.directories}}, system_{system.directories} {
}

void LoaderDefaults::put_before(const std::string& loader) {
    const std::string beside = directory_of(loader);
    const std::string prefix = beside.substr(0, std::min(beside.rfind("/lib"), beside.size()));
    if (prefix.empty()) {
        return;
    }
    Source own{read_list(prefix + "/etc/ld.so.cache"), {beside}};
    for (const std::string& directory : system_) {
        own.directories.push_back(prefix + directory);
    }
    sources_.insert(sources_.begin(), std::move(own));
}

std::vector<LibraryPlace> LoaderDefaults::places_of(const std::string& name) const {
    std::vector<LibraryPlace> places;
    for (const Source& source : sources_) {
        const auto [begin, end] = source.list.equal_range(name);
        for (const bool is_for_some : {false, true}) {
            std::for_each(begin, end, [&](const auto& entry) {
                if ((entry.second.find(kHardware) != std::string::npos) == is_for_some) {
                    places.push_back({entry.second});
                }
            });
        }
        for (const std::string& directory : source.directories) {
            add_places(directory, name, false, places);
        }
    }
    return places;
}

bool LoaderDefaults::is_systems(const std::string& path) const {
    const auto lies_there = [&](const std::string& one) {
        return std::ranges::any_of(system_, [&](const std::string& directory) {
            return one.starts_with(directory + '/');
        });
    };
    return lies_there(path) || lies_there(real_path(path));
}

}  // namespace stage
