#include "stager/files/archive/read_trouble.h"

#include <archive.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace stage {

/// libarchive has no error codes for these cases, only messages.
ReadTrouble trouble_of(archive* one) {
    constexpr std::array<std::string_view, 7> kWhole{"assphrase",
                                                     "ncrypt",
                                                     "nsupported",
                                                     "ot supported",
                                                     "memory",
                                                     "oversized",
                                                     "Unrecognized GNU sparse"};
    if (one == nullptr) {
        return {.kind = ReadTrouble::Kind::unsupported, .why = "out of memory"};
    }
    const char* said = archive_error_string(one);
    const std::string why = said == nullptr ? "" : said;
    const bool is_whole = archive_errno(one) == ENOMEM ||
                          std::ranges::any_of(kWhole, [&](std::string_view words) {
                              return why.find(words) != std::string::npos;
                          });
    return {.kind = is_whole ? ReadTrouble::Kind::unsupported : ReadTrouble::Kind::damaged,
            .why = why};
}

}  // namespace stage
