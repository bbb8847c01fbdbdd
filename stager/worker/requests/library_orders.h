// How a manifest asks for a program with its libraries, and which programs can stand together.
//
// The entries of a spec with `libs` have one spec; their lines (ManifestEntry::line) tell them
// apart. The program's is empty, or names the paths that each node must have for it. A
// library's names the library.
#pragma once

#include "stager/files/libraries/library_closure.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

struct LibraryLine {
    std::string name;         ///< What the file is called, a plain name.
    bool is_for_all = false;  ///< Not one program loads it, but any that loads the spec's file.
};

[[nodiscard]] std::string library_line(const LibraryLine& library);
/// Nothing for another line.
[[nodiscard]] std::optional<LibraryLine> parse_library_line(std::string_view line);

/// Fails (Blame::user) if a line has no room for them.
[[nodiscard]] Result<std::string> program_line(const std::vector<std::string>& paths);
/// No absolute path is left out, nothing else is given.
[[nodiscard]] std::vector<std::string> parse_program_line(std::string_view line);

/// A program as it will stand on each node.
struct PlacedProgram {
    std::string source;     ///< Where it is read, for people.
    std::string directory;  ///< The one that it is placed in, absolute.
    LibraryClosure closure;
};

/// Programs in one directory search each other's libraries: each must find what it finds where
/// it is installed. Fails (Blame::user), naming both programs and the library.
[[nodiscard]] Status check_libraries_agree(std::span<const PlacedProgram> programs);

}  // namespace stage
