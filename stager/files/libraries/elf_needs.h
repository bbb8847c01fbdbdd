// Which libraries does a program or library name, and where does it say to look for them?
//
// Its dynamic section, read as it lies in the file: nothing of it is run, and nothing of it is
// believed. Little-endian 64-bit ELF, as all machines that Slurm runs on today have it.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxElfSegments = 4096;
inline constexpr std::size_t kMaxElfEntries = 65536;  ///< Of a dynamic section.
inline constexpr std::size_t kMaxElfNeeds = 1024;
inline constexpr std::size_t kMaxElfTextBytes = 16384;  ///< Of one string.

struct ElfNeeds {
    std::uint16_t machine = 0;
    std::string interpreter;          ///< Of a program: its loader.
    std::string name;                 ///< Of a library: what it calls itself (DT_SONAME).
    std::vector<std::string> needed;  ///< DT_NEEDED, in order.
    std::string rpath;                ///< DT_RPATH, with its colons.
    std::string runpath;              ///< DT_RUNPATH.
};

/// Fills `room` from `offset`; false if that is not all there.
using ReadAt = std::function<bool(std::uint64_t offset, MutableBytes room)>;

/// A static program needs nothing. Fails (Blame::user), without the file's name, on what is
/// none of ours: a script, a 32-bit program, no program at all, a damaged one.
[[nodiscard]] Result<ElfNeeds> read_elf(const ReadAt& read);

}  // namespace stage
