// Detects two files of a stage with the same destination, or with one destination inside the
// other.
#pragma once

#include "stager/spec/stage_spec.h"

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace stage {

/// Formats "LIST, line 7" for messages.
[[nodiscard]] std::string line_of(const std::string& list, std::size_t number);

class Destinations {
  public:
    /// `path` is the destination of `spec`; `where` is the line of the list that contains it,
    /// or empty. Returns false if an equal spec has been taken. Fails (Blame::user) if a
    /// different spec has this destination.
    [[nodiscard]] Result<bool> take(const std::string& path,
                                    const StageSpec& spec,
                                    const std::string& where);

    /// After the last one: fails (Blame::user) if one destination lies below another.
    [[nodiscard]] Status check_nesting() const;

  private:
    struct Claim {
        StageSpec spec;
        std::string where;
    };

    std::unordered_map<std::string, Claim> claims_;  ///< By path.
};

}  // namespace stage
