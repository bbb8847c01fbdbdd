// Parses the system's list of libraries, ld.so.cache.
//
// It supports the format of glibc 2.2 and later ("glibc-ld.so.cache1.1", alone or behind the
// old list): a table of names and paths, as offsets into one run of strings.
#pragma once

#include "transport/base/codec.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxLinkerCacheBytes = 64U << 20U;
inline constexpr std::size_t kMaxLinkerCacheEntries = 1U << 20U;

/// Maps each name to the paths in the list, in its order, for all machines and kinds.
using LinkerCache = std::multimap<std::string, std::string, std::less<>>;

/// Returns an empty map for any other file, or a damaged list.
[[nodiscard]] LinkerCache parse_linker_cache(Bytes bytes);

}  // namespace stage
