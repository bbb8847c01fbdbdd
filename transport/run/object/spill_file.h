// Keeps blocks that lack chunks in a file without a name, mapped into memory.
//
// The file is made when the first buffer is taken, and grows with their number. The kernel
// writes its pages to the disk when memory is short, and drops them with the file. The room of
// every page is reserved before it is used, so that a full disk means that there are no more
// buffers, and ends nothing. (A disk that fails to read a page back ends the process by SIGBUS:
// it would have failed to keep the object, too.)
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/run/object/spare_buffers.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stage {

class SpillFile final : public SpareBuffers {
  public:
    /// At most `blocks_max` buffers, on the disk of `directory`. It has none where the file
    /// system has no files without a name, is in memory itself, or writes each time to another
    /// place (btrfs, ZFS), so that room cannot be reserved.
    SpillFile(std::string directory, std::uint32_t blocks_max)
        : directory_{std::move(directory)}, blocks_max_{blocks_max} {}
    ~SpillFile() override;
    SpillFile(const SpillFile&) = delete;
    SpillFile& operator=(const SpillFile&) = delete;

    [[nodiscard]] std::byte* take() override;
    /// The file's size.
    [[nodiscard]] std::uint64_t bytes() const;

  private:
    [[nodiscard]] bool open();
    [[nodiscard]] bool grow();

    std::string directory_;
    UniqueFd file_;
    std::uint32_t blocks_max_;
    std::uint32_t taken_ = 0;
    std::vector<std::byte*> mappings_;  ///< Each has as many buffers as the file grows by.
};

}  // namespace stage
