#include "stager/files/targets/new_target.h"

#include "stager/files/archive/target_archive.h"
#include "stager/files/target/target_file.h"
#include "stager/files/tree/target_tree.h"

#include <utility>

namespace stage {

Result<std::unique_ptr<Target>> new_target(TargetOrder order,
                                           const ManifestEntry& entry,
                                           const Writer& writer,
                                           std::uint64_t bytes_max) {
    if (!order.archive.empty()) {
        TRY(auto archive, TargetArchive::decide(std::move(order), entry, writer, bytes_max));
        return std::unique_ptr<Target>{std::move(archive)};
    }
    if (entry.is_tree()) {
        TRY(auto tree, TargetTree::decide(std::move(order), entry, writer));
        return std::unique_ptr<Target>{std::move(tree)};
    }
    TRY(auto file, TargetFile::decide(std::move(order), entry, writer));
    return std::unique_ptr<Target>{std::make_unique<TargetFile>(std::move(file))};
}

}  // namespace stage
