// Owns a libarchive reader.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <memory>

namespace stage {

struct CloseArchive {
    void operator()(archive* one) const { static_cast<void>(archive_read_free(one)); }
};
using ArchiveHandle = std::unique_ptr<archive, CloseArchive>;

}  // namespace stage
