// Receives an archive and unpacks it, so that its content appears completely or not at all.
//
// The blocks are kept in a file without a name, for repairs and for the node cache. A separate
// thread unpacks from the first block on, as far as the blocks have arrived without a gap, into
// a directory that gets its name at the end (tree_place.h). An archive from the cache is
// unpacked from there.
#pragma once

#include "stager/files/archive/arrived_bytes.h"
#include "stager/files/archive/unpack_tree.h"
#include "stager/files/tree/placed_target.h"

#include <atomic>
#include <memory>
#include <thread>

namespace stage {

class TargetArchive final : public PlacedTarget {
  public:
    /// Examines the destination and decides. `bytes_max`: the limit of the unpacked size; 0:
    /// none.
    [[nodiscard]] static Result<std::unique_ptr<TargetArchive>> decide(
        TargetOrder order, const ManifestEntry& entry, Writer writer, std::uint64_t bytes_max);

    TargetArchive(std::unique_ptr<TreePlace> place,
                  std::string archive,
                  const ManifestEntry& entry,
                  const UnpackLimits& limits);
    TargetArchive(const TargetArchive&) = delete;
    TargetArchive& operator=(const TargetArchive&) = delete;
    ~TargetArchive() override;

    [[nodiscard]] TargetNeeds needs() const override;

    /// The archive, for the lifetime of this object.
    [[nodiscard]] UniqueFd reading() const override;
    [[nodiscard]] bool is_adopting() const override { return bytes_ != nullptr; }
    void adopt(UniqueFd file) override { bytes_->adopt(std::move(file)); }

    [[nodiscard]] Status begin() override;
    [[nodiscard]] Result<Placing> write(std::uint64_t offset, Bytes bytes) override;
    [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes room) override;
    [[nodiscard]] Status settle() override;

  private:
    [[nodiscard]] Result<UniqueFd> make_nameless() const;
    void unpack_all();

    std::string archive_;  ///< Its path at the source, for messages.
    std::uint64_t size_;
    FileTime mtime_;
    UnpackLimits limits_;  ///< Without those of the disk.
    std::unique_ptr<ArrivedBytes> bytes_;
    std::unique_ptr<UnpackTree> tree_;
    std::atomic<bool> has_failed_{false};
    Status unpacked_;     ///< Belongs to the thread until it has ended or has_failed_.
    std::thread thread_;  ///< Uses all members above.
};

}  // namespace stage
