// Finds the libraries that a program needs on this machine.
//
// It searches as the program's loader would (ld.so(8)), without running it. For each name that
// an object needs (what a filter stands for, too) it searches the RPATHs of the object and of
// those that loaded it, unless the object has a RUNPATH, then LD_LIBRARY_PATH, the object's
// RUNPATH, and the loader's defaults (library_places.h). As with Slurm's own `--send-libs`,
// libraries in the system's directories are assumed to be on every node.
#pragma once

#include "stager/files/libraries/library_places.h"
#include "transport/base/result.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxLibraries = 512;
inline constexpr std::size_t kMaxClosureObjects = 4096;  ///< Including the system's.

struct Library {
    std::string name;  ///< The needed name, which the file must have.
    std::string path;
    /// The name of an earlier one that is the same file (by a link): the loader, which goes by
    /// the file, loads it once. Empty: none.
    std::string same_as{};
};

struct LibraryClosure {
    std::vector<Library> sent;  ///< To be sent, the nearest first; none for a static program.
    std::vector<Library> present;  ///< Assumed to be on each node.
    /// Paths that must exist on each node: a loader that is not the system's, its C library,
    /// and libraries that are needed by an absolute path.
    std::vector<std::string> paths;
    bool is_program = false;  ///< It can be started; otherwise another program loads it.
};

/// `ld_library_path` is the job's LD_LIBRARY_PATH. `work_dir` is the directory in which the
/// program starts; empty: relative directories are skipped. Fails (Blame::user) if a library is
/// missing, naming the program and the object that needs it.
[[nodiscard]] Result<LibraryClosure> library_closure(const std::string& program,
                                                     const std::string& ld_library_path,
                                                     const std::string& work_dir = "",
                                                     const SystemLibraries& system = {});

}  // namespace stage
