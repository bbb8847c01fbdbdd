#include "stager/files/libraries/library_closure.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"
#include "stager/disk/open_to_read.h"
#include "stager/files/libraries/elf_needs.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace stage {
namespace {

/// An object of the closure, and the object that loads it.
struct Object {
    std::string path;
    ElfNeeds needs;
    const Object* by = nullptr;
    bool is_systems = false;
};

Result<ElfNeeds> needs_of(const std::string& path) {
    struct stat status {};
    const UniqueFd file = open_to_read(path);
    if (!file || ::fstat(file.get(), &status) != 0) {
        return source_error(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return Error{Blame::user, path + ": is not a program"}.remedy("leave out libs");
    }
    const ReadAt read = [&](std::uint64_t offset, MutableBytes room) {
        constexpr auto kFarthest = static_cast<std::uint64_t>(INT64_MAX) / 2;
        return offset < kFarthest &&
               read_fully(file.get(), room, offset) == static_cast<std::int64_t>(room.size());
    };
    Result<ElfNeeds> needs = read_elf(read);
    return needs ? std::move(needs) : Result<ElfNeeds>{std::move(needs).error().within(path)};
}

class Closure {
  public:
    Closure(const std::string& ld_library_path,
            const std::string& work_dir,
            const SystemLibraries& system)
        : library_path_{ld_library_path}, defaults_{system} {
        context_.work_dir = work_dir;
    }

    Result<LibraryClosure> of(const std::string& program) {
        TRY(auto needs, needs_of(program));
        objects_.push_back({.path = real_path(program), .needs = std::move(needs)});
        TRY(take_loader());
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            // (A deque keeps its elements in place.)
            TRY(find_needs_of(objects_[i]));
        }
        return std::move(closure_);
    }

  private:
    [[nodiscard]] const Object& program() const { return objects_.front(); }

    Status take_loader() {
        const std::string loader = program().needs.interpreter;
        closure_.is_program = !loader.empty();
        if (!closure_.is_program) {
            const Result<ElfNeeds> own = needs_of("/proc/self/exe");
            context_.lib_token = own ? library_token_of(own->interpreter) : "lib";
            return {};
        }
        context_.lib_token = library_token_of(loader);
        if (loader.substr(loader.rfind('/') + 1).starts_with("ld-musl")) {
            return Error{Blame::user,
                         program().path +
                             ": is linked with musl, but libs supports only the loader of the "
                             "GNU C library"}
                .remedy("link it statically, or leave out libs");
        }
        if (!defaults_.is_systems(loader)) {
            has_own_loader_ = true;
            closure_.paths.push_back(loader);
            defaults_.put_before(loader);
        }
        return {};
    }

    /// The places in which the loader would search for what `object` needs, in order.
    [[nodiscard]] std::vector<LibraryPlace> places_for(const std::string& name,
                                                       const Object& object) const {
        std::vector<LibraryPlace> places;
        const auto add =
            [&](std::string_view path, const Object& from, const char* separators) {
                const std::string origin = directory_of(from.path);
                for (LibraryPlace& one : places_in(path, separators, name, origin, context_)) {
                    places.push_back(std::move(one));
                }
            };
        for (const Object* up = &object; up != nullptr && object.needs.runpath.empty();
             up = up->by) {
            if (up->needs.runpath.empty()) {
                add(up->needs.rpath, *up, ":");
            }
        }
        add(library_path_, program(), ":;");
        add(object.needs.runpath, object, ":");
        std::ranges::move(defaults_.places_of(name), std::back_inserter(places));
        return places;
    }

    Status find_needs_of(const Object& object) {
        for (const std::string& name : object.needs.needed) {
            Status found = find_need(name, object);
            // (Needs of the system's libraries are ignored.)
            if (!found && !object.is_systems) {
                return found;
            }
        }
        for (const std::string& name : object.needs.wanted) {
            // The loader, too, goes on without it. (One that is named by its path would have to
            // be at that path on each node.)
            if (name.find('/') == std::string::npos) {
                static_cast<void>(find_need(name, object));
            }
            if (Status few = check_count(); !few) {
                return few;
            }
        }
        return {};
    }

    Status find_need(const std::string& name, const Object& object) {
        if (!known_.insert(name).second) {
            return {};
        }
        Status found = name.find('/') == std::string::npos ? find(name, object)
                                                           : find_by_path(name, object);
        if (!found) {
            known_.erase(name);  // Another object may find it.
        }
        return found;
    }

    Status find(const std::string& name, const Object& object) {
        for (const LibraryPlace& place : places_for(name, object)) {
            Result<ElfNeeds> needs = needs_of(place.path);
            if (needs && needs->machine == program().needs.machine) {
                return keep(name, place, *std::move(needs), object);
            }
        }
        return missing(name, object);
    }

    Error missing(const std::string& name, const Object& object) const {
        return Error{Blame::user,
                     program().path + ": the library " + name + ", which " +
                         (&object == &program() ? "it" : object.path) + " needs, is not found"}
            .remedy(
                "check it with ldd(1), set LD_LIBRARY_PATH at submission, or leave out libs");
    }

    /// The loader looks for the library at this path and nowhere else.
    Status find_by_path(const std::string& name, const Object& object) {
        bool has_origin = false;
        std::string path = with_tokens(name, directory_of(object.path), context_, has_origin);
        if (has_origin) {
            return Error{
                Blame::user,
                program().path + ": the library " + name +
                    " is needed at a path relative to its own directory, and libs can't place "
                    "it there"}
                .remedy("stage the directory that the program is installed in");
        }
        if (!path.starts_with('/') && !context_.work_dir.empty()) {
            path = context_.work_dir + '/' + path;
        }
        Result<ElfNeeds> needs = needs_of(path);
        if (!needs || needs->machine != program().needs.machine) {
            return missing(name, object);
        }
        known_.insert(needs->name);
        closure_.paths.push_back(path);
        return add_object({.path = path, .needs = *std::move(needs), .by = &object});
    }

    Status keep(const std::string& name,
                const LibraryPlace& place,
                ElfNeeds needs,
                const Object& by) {
        known_.insert(needs.name);
        if (is_of_c_library(name)) {
            return keep_of_c_library(name, place);
        }
        const bool is_systems = defaults_.is_systems(place.path);
        Library library{.name = name, .path = place.path};
        if (is_systems) {
            closure_.present.push_back(std::move(library));
        } else {
            library.same_as = name_of_same_file(library);
            closure_.sent.push_back(std::move(library));
        }
        if (!is_systems && !closure_.sent.back().same_as.empty()) {
            return check_count();  // Its needs are known.
        }
        return add_object({.path = place.path,
                           .needs = std::move(needs),
                           .by = &by,
                           .is_systems = is_systems});
    }

    /// Only a loader of the same build can load it: the system's loader uses the system's
    /// library. Another loader finds its own where it is installed, unless $ORIGIN was used.
    Status keep_of_c_library(const std::string& name, const LibraryPlace& place) {
        if (has_own_loader_ && place.is_by_origin && !name.starts_with("ld")) {
            closure_.sent.push_back({.name = name, .path = place.path});
            return {};
        }
        if (has_own_loader_ && !defaults_.is_systems(place.path)) {
            closure_.paths.push_back(place.path);
        }
        closure_.present.push_back({.name = name, .path = place.path});
        return {};
    }

    /// The name by which the library's file is sent already; else empty.
    std::string name_of_same_file(const Library& library) {
        struct stat status {};
        if (::stat(library.path.c_str(), &status) != 0) {
            return {};
        }
        const auto [file, is_new] =
            files_.try_emplace({status.st_dev, status.st_ino}, library.name);
        return is_new ? std::string{} : file->second;
    }

    [[nodiscard]] Status check_count() const {
        if (closure_.sent.size() > kMaxLibraries || objects_.size() == kMaxClosureObjects) {
            return Error{Blame::user, program().path + ": needs too many libraries"};
        }
        return {};
    }

    Status add_object(Object object) {
        Status room = check_count();
        if (room) {
            objects_.push_back(std::move(object));
        }
        return room;
    }

    std::string library_path_;
    SearchContext context_;
    LoaderDefaults defaults_;
    bool has_own_loader_ = false;
    std::deque<Object> objects_;  ///< The program first.
    LibraryClosure closure_;
    std::set<std::string> known_;                           ///< The names found so far.
    std::map<std::pair<dev_t, ino_t>, std::string> files_;  ///< The names of those sent.
};

}  // namespace

Result<LibraryClosure> library_closure(const std::string& program,
                                       const std::string& ld_library_path,
                                       const std::string& work_dir,
                                       const SystemLibraries& system) {
    return Closure{ld_library_path, work_dir, system}.of(program);
}

}  // namespace stage
