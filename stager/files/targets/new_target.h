// Makes the kind of target that an entry of the manifest needs: a file, a directory tree, or an
// archive that is extracted.
#pragma once

#include "stager/files/manifest/manifest.h"
#include "stager/files/target/target.h"

#include <cstdint>
#include <memory>

namespace stage {

/// `bytes_max`: what an archive may become; 0: no limit.
[[nodiscard]] Result<std::unique_ptr<Target>> new_target(TargetOrder order,
                                                         const ManifestEntry& entry,
                                                         const Writer& writer,
                                                         std::uint64_t bytes_max);

}  // namespace stage
