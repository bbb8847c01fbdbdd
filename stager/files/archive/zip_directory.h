// Lists the members of a zip by the directory at its end, with their names as bytes.
//
// libarchive unpacks a zip, but in a process without a locale it can't tell a name that is
// marked as UTF-8, in another it composes such a name anew, and of two names that differ it
// takes the one that no other program takes. It also looks for the directory in the last 16 KiB
// only, and does not find that of an empty zip.
#pragma once

#include "stager/files/archive/arrived_bytes.h"
#include "stager/files/archive/read_trouble.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

struct ZipMember {
    std::uint64_t offset = 0;  ///< Of its own header, from `begin` on.
    std::string name;          ///< Any bytes; not empty.
    /// Where libarchive does not see it: permission bits beside DOS' attributes.
    std::optional<std::uint16_t> mode{};
};

struct ZipDirectory {
    std::vector<ZipMember> members;  ///< By offset, each offset once: as libarchive goes.
    /// Where the zip is: without the program that it stands behind, and without its comment.
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Waits for the archive's last byte. Nothing without a trouble: there is no directory.
[[nodiscard]] std::optional<ZipDirectory> read_zip_directory(ArrivedBytes& bytes,
                                                             ReadTrouble& trouble);

}  // namespace stage
