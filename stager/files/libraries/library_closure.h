// Finds the libraries that a program needs on this machine.
//
// As its loader would look for them (ld.so(8)), without running it: for each name that an
// object needs the RPATHs of it and of those that brought it in, unless it has a RUNPATH, then
// LD_LIBRARY_PATH, its RUNPATH, and the loader's defaults (library_places.h). What lies in the
// system's directories is taken for granted on every node, as with Slurm's own `--send-libs`.
#pragma once

#include "stager/files/libraries/library_places.h"
#include "transport/base/result.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxLibraries = 512;
inline constexpr std::size_t kMaxClosureObjects = 4096;  ///< With those of the system.

struct Library {
    std::string name;  ///< As it is needed: what the file has to be called.
    std::string path;
};

struct LibraryClosure {
    std::vector<Library> sent;  ///< To be sent, the nearest first; none for a static program.
    std::vector<Library> present;  ///< Taken for granted on each node.
    /// Paths that each node must have, because nothing else serves the program: of a loader
    /// that is none of the system's, of its C library, of libraries that are needed by a path.
    std::vector<std::string> paths;
    bool is_program = false;  ///< It is started; else another program loads it.
};

/// `ld_library_path`: the job's LD_LIBRARY_PATH. `work_dir`: where the program starts; empty:
/// relative directories are left out. Fails (Blame::user), naming the program, and what misses
/// a library.
[[nodiscard]] Result<LibraryClosure> library_closure(const std::string& program,
                                                     const std::string& ld_library_path,
                                                     const std::string& work_dir = "",
                                                     const SystemLibraries& system = {});

}  // namespace stage
