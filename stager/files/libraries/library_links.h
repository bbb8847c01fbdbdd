// Makes links through which one particular program finds its libraries by LD_LIBRARY_PATH.
//
// The loader replaces $ORIGIN by the directory of the program that it starts (ld.so(8)). So the
// search path BASE/.stagecast/libs/0/$ORIGIN leads a program in /tmp/d to
// BASE/.stagecast/libs/0/tmp/d, a symbolic link to its libraries, and programs in other
// directories to nothing. The search path contains no name of the user's, so these may contain
// colons and semicolons. (decisions/0040.)
#pragma once

#include "transport/base/result.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace stage {

struct LibraryLink {
    std::size_t number = 0;  ///< The program's number within its stage.
    std::string directory;   ///< The libraries' directory, absolute.
    int origin = -1;         ///< The program's directory, open; -1: any program may load them.
};

/// Makes the link below `base`, the stage's directory, and replaces an earlier one. Returns the
/// entry for LD_LIBRARY_PATH.
[[nodiscard]] Result<std::string> link_to_libraries(const std::string& base,
                                                    const LibraryLink& link);

/// Makes links there, too, by which the loader finds one file under several names: it loads two
/// files of the same content as two libraries, each with a state of its own. `names`: what each
/// name is called in `link.directory`. The entry must precede those of link_to_libraries().
[[nodiscard]] Result<std::string> link_to_same(const std::string& base,
                                               const LibraryLink& link,
                                               const std::map<std::string, std::string>& names);

/// The directories of libraries that a program in the open directory `origin` searches through
/// the links below `base`, also those of another stage. -1: the directories that any program
/// searches.
[[nodiscard]] std::vector<std::string> linked_from(const std::string& base, int origin);

}  // namespace stage
