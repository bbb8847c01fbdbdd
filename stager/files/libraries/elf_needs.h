// Reads from an ELF file which libraries it needs, and where it says to look for them.
//
// It reads the dynamic section as it lies in the file, executes nothing, and trusts nothing. It
// supports little-endian 64-bit ELF, which all machines have that Slurm runs on today.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxElfSegments = 4096;
inline constexpr std::size_t kMaxElfEntries = 65536;  ///< Entries of a dynamic section.
inline constexpr std::size_t kMaxElfNeeds = 1024;
inline constexpr std::size_t kMaxElfTextBytes = 16384;  ///< Bytes of one string.

struct ElfNeeds {
    std::uint16_t machine = 0;
    std::string interpreter;          ///< For a program: its loader.
    std::string name;                 ///< For a library: its own name (DT_SONAME).
    std::vector<std::string> needed;  ///< DT_NEEDED and DT_FILTER, in order.
    /// What the loader loads, too, if it is found: DT_AUXILIARY, and a program's DT_AUDIT and
    /// DT_DEPAUDIT.
    std::vector<std::string> wanted;
    std::string rpath;    ///< DT_RPATH, with its colons.
    std::string runpath;  ///< DT_RUNPATH.
};

/// Fills `room` from `offset`; returns false if the file ends before.
using ReadAt = std::function<bool(std::uint64_t offset, MutableBytes room)>;

/// Reads the needs of a program or library; a static program has none. Fails (Blame::user),
/// without the file's name, on any other file: a script, a 32-bit program, a damaged one.
[[nodiscard]] Result<ElfNeeds> read_elf(const ReadAt& read);

}  // namespace stage
