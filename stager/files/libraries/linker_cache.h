// Where does the system's list of libraries say that one is?
//
// ld.so.cache as glibc 2.2 and later write it ("glibc-ld.so.cache1.1", alone or behind the old
// list): a table of names and paths, both places in one run of strings.
#pragma once

#include "transport/base/codec.h"

#include <map>
#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kMaxLinkerCacheBytes = 64U << 20U;
inline constexpr std::size_t kMaxLinkerCacheEntries = 1U << 20U;

/// By name, the paths that the list has for it, in its order: of any machine and kind.
using LinkerCache = std::multimap<std::string, std::string, std::less<>>;

/// Nothing where it is no such list, or a damaged one.
[[nodiscard]] LinkerCache parse_linker_cache(Bytes bytes);

}  // namespace stage
