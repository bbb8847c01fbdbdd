// Which libraries does a program need, and where are they on this machine?
//
// As its loader would look for them (ld.so(8)), without running it: for each name that an
// object needs its RUNPATH, or else the RPATHs of it and of those that brought it in, then
// LD_LIBRARY_PATH, the system's list and the system's directories. What lies in the system's
// directories is taken for granted on every node, with all that it needs, as Slurm's own
// `--send-libs` does.
#pragma once

#include "transport/base/result.h"

#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxLibraries = 512;

struct Library {
    std::string name;  ///< As it is needed: what the file has to be called.
    std::string path;
};

/// Where the system's own libraries are, and its list of libraries.
struct SystemLibraries {
    std::vector<std::string> directories{"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    std::string list = "/etc/ld.so.cache";
};

/// Those to be sent, the nearest first; none for a static program. `ld_library_path`: the job's
/// LD_LIBRARY_PATH. Fails (Blame::user), naming the program, and what misses a library.
[[nodiscard]] Result<std::vector<Library>> library_closure(const std::string& program,
                                                           const std::string& ld_library_path,
                                                           const SystemLibraries& system = {});

}  // namespace stage
