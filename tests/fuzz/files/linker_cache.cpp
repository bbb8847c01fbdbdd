// Fuzzes the reader of ld.so.cache, which ends and returns names and absolute paths only.
#include "stager/files/libraries/linker_cache.h"

#include "tests/fuzz/fuzz.h"

#include <cstring>

namespace stage {

bool fuzz_one(Bytes input) {
    const LinkerCache cache = parse_linker_cache(input);
    for (const auto& [name, path] : cache) {
        invariant(path.starts_with('/') && path.find('\0') == std::string::npos,
                  "a path is absolute");
    }
    return !cache.empty();
}

std::vector<FuzzSeed> fuzz_seeds() {
    const std::string strings("libx.so.1\0/opt/lib/libx.so.1\0", 29);
    std::string list = "glibc-ld.so.cache1.1" + std::string(28 + 24, '\0') + strings;
    const auto put = [&](std::size_t at, std::uint32_t value) {
        std::memcpy(list.data() + at, &value, sizeof value);
    };
    put(20, 1);
    put(24, static_cast<std::uint32_t>(strings.size()));
    put(48, 0x0303);
    put(52, 72);
    put(56, 82);
    std::string both = "ld.so-1.7.0" + std::string(5, '\0') + list;
    return {{"new", owned(list)}, {"behind_the_old", owned(both)}};
}

}  // namespace stage
