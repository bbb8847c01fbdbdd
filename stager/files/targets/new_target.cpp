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
        Result<std::unique_ptr<TargetArchive>> archive =
            TargetArchive::decide(std::move(order), entry, writer, bytes_max);
        if (!archive) {
            return std::move(archive).error();
        }
        return std::unique_ptr<Target>{*std::move(archive)};
    }
    if (entry.is_tree()) {
        Result<std::unique_ptr<TargetTree>> tree =
            TargetTree::decide(std::move(order), entry, writer);
        if (!tree) {
            return std::move(tree).error();
        }
        return std::unique_ptr<Target>{*std::move(tree)};
    }
    Result<TargetFile> file = TargetFile::decide(std::move(order), entry, writer);
    if (!file) {
        return std::move(file).error();
    }
    return std::unique_ptr<Target>{std::make_unique<TargetFile>(*std::move(file))};
}

}  // namespace stage
