// Says where a program's loader looks for the libraries that its objects name.
//
// A search path of RUNPATH, RPATH or LD_LIBRARY_PATH becomes directories as ld.so(8) reads it:
// separators, the tokens $ORIGIN, $LIB and $PLATFORM, relative directories. The loader's
// defaults are its list of libraries (linker_cache.h) and directories.
#pragma once

#include "stager/files/libraries/linker_cache.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// Where the system's own libraries are, and its list of libraries.
struct SystemLibraries {
    std::vector<std::string> directories{"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    std::string list = "/etc/ld.so.cache";
};

/// A file that may be the library.
struct LibraryPlace {
    std::string path;
    bool is_by_origin = false;  ///< It depends on where the object lies that needs it.
};

/// What the tokens and relative names of a search path stand for.
struct SearchContext {
    std::string library_directory;  ///< $LIB: "lib64", "lib/x86_64-linux-gnu".
    std::string work_dir;           ///< Where the program starts; empty: not known.
};

/// $LIB of the loader that lies at `loader`, with its symbolic links followed.
[[nodiscard]] std::string library_token_of(const std::string& loader);

/// The text with its tokens replaced; true in `has_origin` if $ORIGIN was one of them.
[[nodiscard]] std::string with_tokens(std::string_view text,
                                      const std::string& origin,
                                      const SearchContext& context,
                                      bool& has_origin);

/// Where the library `name` may be in the directories of `path`, which any of `separators`
/// divides. Of a directory first its own, then those below its glibc-hwcaps.
[[nodiscard]] std::vector<LibraryPlace> places_in(std::string_view path,
                                                  std::string_view separators,
                                                  const std::string& name,
                                                  const std::string& origin,
                                                  const SearchContext& context);

/// The defaults of one loader.
class LoaderDefaults {
  public:
    explicit LoaderDefaults(const SystemLibraries& system);
    /// Of a loader that is none of the system's: what is beside it, and below its own prefix,
    /// comes first.
    void put_before(const std::string& loader);

    [[nodiscard]] std::vector<LibraryPlace> places_of(const std::string& name) const;
    /// `path` lies in one of the system's directories, as it is named or as it really is.
    [[nodiscard]] bool is_systems(const std::string& path) const;

  private:
    struct Source {
        LinkerCache list;
        std::vector<std::string> directories;
    };
    std::vector<Source> sources_;  ///< The system's last.
    std::vector<std::string> system_;
};

/// "/a/b" of "/a/b/c".
[[nodiscard]] std::string directory_of(const std::string& path);
/// Without symbolic links; `path` itself where it can't be followed.
[[nodiscard]] std::string real_path(const std::string& path);
/// Both can be read, and do not hold the same bytes.
[[nodiscard]] bool have_other_bytes(const std::string& one, const std::string& other);
/// Belongs to the GNU C library, by its name: only the loader of the same build can load it.
[[nodiscard]] bool is_of_c_library(std::string_view name);

}  // namespace stage
