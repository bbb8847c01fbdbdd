// Lists the entries of a zip from the directory at its end, with their names as bytes.
//
// libarchive unpacks a zip, but its names are not reliable: in a process without a locale it
// cannot return a name marked as UTF-8, in another it normalises such a name, and of two
// different names for an entry it takes the one that no other program takes. It also looks for
// the directory in the last 16 KiB only, and does not find that of an empty zip.
#pragma once

#include "stager/files/archive/arrived_bytes.h"
#include "stager/files/archive/read_trouble.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct ZipMember {
    std::uint64_t offset = 0;  ///< The offset of its own header, from `begin` on.
    std::string name;          ///< Any bytes; not empty.
    /// Permission bits of an entry that no Unix made: libarchive knows only DOS attributes, and
    /// not all of these.
    std::optional<std::uint16_t> mode{};
};

struct ZipDirectory {
    std::vector<ZipMember> members;  ///< By offset, each offset once, in libarchive's order.
    /// The range of the zip, without a program before it and without its comment.
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Waits for the archive's last byte. Returns nothing, without a trouble, if there is no
/// directory.
[[nodiscard]] std::optional<ZipDirectory> read_zip_directory(ArrivedBytes& bytes,
                                                             ReadTrouble& trouble);

}  // namespace stage
