// Computes the paths where a program's loader looks for a library.
//
// A search path of RUNPATH, RPATH or LD_LIBRARY_PATH is turned into directories as ld.so(8)
// does: separators, the tokens $ORIGIN, $LIB and $PLATFORM, relative directories. The loader's
// defaults are its list of libraries (linker_cache.h) and its directories.
#pragma once

#include "stager/files/libraries/linker_cache.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The directories of the system's own libraries, and its list of libraries.
struct SystemLibraries {
    std::vector<std::string> directories{"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    std::string list = "/etc/ld.so.cache";
};

/// A path at which the library may be.
struct LibraryPlace {
    std::string path;
    bool is_by_origin = false;  ///< It depends on the directory of the object that needs it.
};

/// Values for the tokens and relative names of a search path.
struct SearchContext {
    std::string lib_token;  ///< $LIB: "lib64", "lib/x86_64-linux-gnu".
    std::string work_dir;   ///< The directory where the program starts; empty: unknown.
};

/// The value of $LIB for the loader at `loader`, whose symbolic links have been followed.
[[nodiscard]] std::string library_token_of(const std::string& loader);

/// Returns `text` with its tokens replaced; sets `has_origin` if $ORIGIN was one of them.
[[nodiscard]] std::string with_tokens(std::string_view text,
                                      const std::string& origin,
                                      const SearchContext& context,
                                      bool& has_origin);

/// The paths of the library `name` in the directories of `path`, which `separators` divide. For
/// each directory its own path comes first, then those below its glibc-hwcaps.
[[nodiscard]] std::vector<LibraryPlace> places_in(std::string_view path,
                                                  std::string_view separators,
                                                  const std::string& name,
                                                  const std::string& origin,
                                                  const SearchContext& context);

/// The default search path of one loader.
class LoaderDefaults {
  public:
    explicit LoaderDefaults(const SystemLibraries& system);
    /// Adds the places of a loader that is not the system's: the directory beside it and its
    /// own prefix are searched first.
    void put_before(const std::string& loader);

    [[nodiscard]] std::vector<LibraryPlace> places_of(const std::string& name) const;
    /// True if `path` lies in one of the system's directories, as written or after following
    /// links.
    [[nodiscard]] bool is_systems(const std::string& path) const;

  private:
    struct Source {
        LinkerCache list;
        std::vector<std::string> directories;
    };
    std::vector<Source> sources_;  ///< The system's is the last one.
    std::vector<std::string> system_;
};

/// Returns "/a/b" for "/a/b/c".
[[nodiscard]] std::string directory_of(const std::string& path);
/// Resolves symbolic links; returns `path` itself if that fails.
[[nodiscard]] std::string real_path(const std::string& path);
/// True if both files can be read and their bytes differ.
[[nodiscard]] bool have_other_bytes(const std::string& one, const std::string& other);
/// True for a name of the GNU C library: only the loader of the same build can load such a
/// file.
[[nodiscard]] bool is_of_c_library(std::string_view name);

}  // namespace stage
