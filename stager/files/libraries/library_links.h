// Lets one program alone find its libraries by LD_LIBRARY_PATH.
//
// The loader puts the directory of the program that it starts in the place of $ORIGIN
// (ld.so(8)). So the search path BASE/.stagecast/libs/0/$ORIGIN leads a program in /tmp/d to
// BASE/.stagecast/libs/0/tmp/d, a symbolic link to its libraries, and every program elsewhere
// to nothing. No name of the user's is in the search path, so any may hold colons or
// semicolons. (decisions/0040.)
#pragma once

#include "transport/base/result.h"

#include <cstddef>
#include <string>
#include <vector>

namespace stage {

struct LibraryLink {
    std::size_t number = 0;  ///< Of the program, within its stage.
    std::string directory;   ///< Of the libraries, absolute.
    int origin = -1;  ///< The directory that the program is in, open; -1: any program may load.
};

/// Makes the link below `base`, the stage's directory, in the place of an earlier one. Gives
/// the entry for LD_LIBRARY_PATH.
[[nodiscard]] Result<std::string> link_to_libraries(const std::string& base,
                                                    const LibraryLink& link);

/// The directories of libraries that a program in the open directory `origin` searches by the
/// links below `base`; of another stage, say. -1: what any program searches.
[[nodiscard]] std::vector<std::string> linked_from(const std::string& base, int origin);

}  // namespace stage
