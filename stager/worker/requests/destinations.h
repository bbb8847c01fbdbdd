// Finds two files of a stage that have one destination, or of which one lies in the other's.
#pragma once

#include "stager/spec/stage_spec.h"

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace stage {

/// "LIST, line 7", for people.
[[nodiscard]] std::string line_of(const std::string& list, std::size_t number);

class Destinations {
  public:
    /// `path` is where `spec` goes; `where`: which line of which list asks for it, or empty.
    /// False if an equal spec has been taken. Fails (Blame::user) if another one has this
    /// destination.
    [[nodiscard]] Result<bool> take(const std::string& path,
                                    const StageSpec& spec,
                                    const std::string& where);

    /// After the last: none lies below another.
    [[nodiscard]] Status check_nesting() const;

  private:
    struct Claim {
        StageSpec spec;
        std::string where;
    };

    std::unordered_map<std::string, Claim> claims_;  ///< By path.
};

}  // namespace stage
