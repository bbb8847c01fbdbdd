// Encodes a program with its libraries in a manifest, and checks that several programs agree.
//
// All entries of a spec with `libs` have that spec; their lines (ManifestEntry::line)
// distinguish them. The program's line is empty, or lists the paths that each node must have
// for it. A library's line names the library, and the one that is the same file.
#pragma once

#include "stager/files/libraries/library_closure.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

struct LibraryLine {
    std::string name;         ///< The library's file name.
    bool is_for_all = false;  ///< Any program that loads the spec's file loads it.
    std::string same_as{};    ///< The value of Library::same_as.
};

[[nodiscard]] std::string library_line(const LibraryLine& library);
/// Returns nothing for a line that describes no library.
[[nodiscard]] std::optional<LibraryLine> parse_library_line(std::string_view line);

/// Fails (Blame::user) if a line has no room for the paths.
[[nodiscard]] Result<std::string> program_line(const std::vector<std::string>& paths);
/// Returns every absolute path in `line`.
[[nodiscard]] std::vector<std::string> parse_program_line(std::string_view line);

/// A program as it will be placed on each node.
struct PlacedProgram {
    std::string source;     ///< Its path at the source, for messages.
    std::string directory;  ///< Its directory on the nodes, absolute.
    LibraryClosure closure;
};

/// Programs in one directory search each other's libraries, so each must find the libraries
/// that it finds where it is installed. Fails (Blame::user), naming both programs and the
/// library.
[[nodiscard]] Status check_libraries_agree(std::span<const PlacedProgram> programs);

}  // namespace stage
