#include "stager/files/library_closure.h"

#include "stager/files/disk_error.h"
#include "stager/files/disk_io.h"
#include "stager/files/elf_needs.h"
#include "stager/files/linker_cache.h"
#include "transport/base/unique_fd.h"

#include <boost/filesystem.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>

namespace stage {
namespace {

/// An object of the closure, and by whom it came in.
struct Object {
    std::string path;
    ElfNeeds needs;
    const Object* by = nullptr;
};

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size())) {
        text.replace(at, what.size(), by);
    }
}

/// The directories of a path with colons. One with a token other than $ORIGIN is left out:
/// what it means is the loader's secret.
std::vector<std::string> directories_in(std::string_view path, const std::string& origin) {
    std::vector<std::string> directories;
    while (!path.empty()) {
        const std::size_t end = path.find(':');
        std::string one{path.substr(0, end)};
        path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
        replace_all(one, "${ORIGIN}", origin);
        replace_all(one, "$ORIGIN", origin);
        // (A relative one would depend on where the program is started.)
        if (one.starts_with('/') && one.find('$') == std::string::npos) {
            directories.push_back(std::move(one));
        }
    }
    return directories;
}

Result<ElfNeeds> needs_of(const std::string& path) {
    struct stat status {};
    const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return source_error(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return Error{Blame::user, path + ": is no program"}.remedy("leave out libs");
    }
    const ReadAt read = [&](std::uint64_t offset, MutableBytes room) {
        constexpr auto kFarthest = static_cast<std::uint64_t>(INT64_MAX) / 2;
        return offset < kFarthest &&
               read_fully(file.get(), room, offset) == static_cast<std::int64_t>(room.size());
    };
    Result<ElfNeeds> needs = read_elf(read);
    return needs ? std::move(needs) : Result<ElfNeeds>{std::move(needs).error().within(path)};
}

LinkerCache read_list(const std::string& path) {
    const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 ||
        static_cast<std::uint64_t>(status.st_size) > kMaxLinkerCacheBytes) {
        return {};
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    const std::int64_t count = read_fully(file.get(), bytes, 0);
    bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
    return parse_linker_cache(bytes);
}

class Closure {
  public:
    Closure(std::string ld_library_path, const SystemLibraries& system)
        : library_path_{std::move(ld_library_path)},
          system_{system},
          list_{read_list(system.list)} {}

    Result<std::vector<Library>> of(const std::string& program) {
        Result<ElfNeeds> needs = needs_of(program);
        if (!needs) {
            return std::move(needs).error();
        }
        objects_.push_back({.path = real(program), .needs = *std::move(needs)});
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            // (A deque: each stays where it is.)
            if (Status found = find_needs_of(objects_[i]); !found) {
                return std::move(found).error();
            }
        }
        return std::move(libraries_);
    }

  private:
    static std::string real(const std::string& path) {
        boost::system::error_code failed;
        const auto canonical = boost::filesystem::canonical(path, failed);
        return failed ? path : canonical.string();
    }

    static std::string below(const std::string& directory, const std::string& name) {
        return directory + '/' + name;
    }

    /// As it was found, or where it really is.
    [[nodiscard]] bool is_systems(const std::string& path) const {
        const auto lies_there = [&](const std::string& one) {
            return std::ranges::any_of(system_.directories, [&](const std::string& directory) {
                return one.starts_with(directory + '/');
            });
        };
        return lies_there(path) || lies_there(real(path));
    }

    /// Where the loader would look for what `object` needs, in its order.
    [[nodiscard]] std::vector<std::string> places_for(const std::string& name,
                                                      const Object& object) const {
        std::vector<std::string> places;
        const auto add = [&](std::string_view path, const Object& from) {
            for (const std::string& one : directories_in(path, directory_of(from.path))) {
                places.push_back(below(one, name));
            }
        };
        for (const Object* up = &object; up != nullptr && object.needs.runpath.empty();
             up = up->by) {
            if (up->needs.runpath.empty()) {
                add(up->needs.rpath, *up);
            }
        }
        add(library_path_, object);
        add(object.needs.runpath, object);
        const auto [begin, end] = list_.equal_range(name);
        std::for_each(begin, end, [&](const auto& entry) { places.push_back(entry.second); });
        for (const std::string& directory : system_.directories) {
            places.push_back(below(directory, name));
        }
        return places;
    }

    Status find_needs_of(const Object& object) {
        for (const std::string& name : object.needs.needed) {
            Status found = known_.insert(name).second ? find(name, object) : Status{};
            if (!found) {
                return found;
            }
        }
        return {};
    }

    Status find(const std::string& name, const Object& object) {
        const std::vector<std::string> places =
            name.starts_with('/') ? std::vector{name} : places_for(name, object);
        for (const std::string& path : places) {
            Result<ElfNeeds> needs = needs_of(path);
            if (needs && needs->machine == objects_.front().needs.machine) {
                return keep(name, path, *std::move(needs), object);
            }
        }
        return Error{Blame::user,
                     objects_.front().path + ": the library " + name + ", which " +
                         (&object == &objects_.front() ? "it" : object.path) +
                         " needs, is not found"}
            .remedy(
                "check it with ldd(1), set LD_LIBRARY_PATH at submission, or leave out libs");
    }

    Status keep(const std::string& name,
                const std::string& path,
                ElfNeeds needs,
                const Object& by) {
        known_.insert(needs.name);
        // One with a path in its name is looked for nowhere else.
        if (is_systems(path) || name.find('/') != std::string::npos) {
            return {};
        }
        if (libraries_.size() == kMaxLibraries) {
            return Error{Blame::user, objects_.front().path + ": needs too many libraries"};
        }
        libraries_.push_back({.name = name, .path = path});
        objects_.push_back({.path = path, .needs = std::move(needs), .by = &by});
        return {};
    }

    std::string library_path_;
    SystemLibraries system_;
    LinkerCache list_;
    std::deque<Object> objects_;  ///< The program first.
    std::vector<Library> libraries_;
    std::set<std::string> known_;  ///< Names that are found.
};

}  // namespace

Result<std::vector<Library>> library_closure(const std::string& program,
                                             const std::string& ld_library_path,
                                             const SystemLibraries& system) {
    return Closure{ld_library_path, system}.of(program);
}

}  // namespace stage
