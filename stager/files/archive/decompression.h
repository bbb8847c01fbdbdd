// Takes every compression off an archive's bytes, however many lie over each other, and
// verifies the checksums of each.
#pragma once

#include "stager/files/archive/byte_stream.h"

namespace stage {

class Decompression {
  public:
    /// Both outlive it.
    Decompression(ArrivedBytes& bytes, ReadTrouble& trouble);

    /// Finds the compressions by the first bytes of each. False where a trouble was set.
    [[nodiscard]] bool open();
    /// The bytes without compression. After open().
    [[nodiscard]] ByteStream& plain() { return *streams_.back(); }
    [[nodiscard]] bool has_any() const { return has_any_; }
    /// Reads what is left, for the last checksums stand at the ends. False where a trouble was
    /// set. If there is no compression, nothing is read.
    [[nodiscard]] bool finish();

  private:
    [[nodiscard]] bool fill(std::vector<std::byte>& head);
    [[nodiscard]] bool skip(std::uint64_t count);

    ReadTrouble& trouble_;
    std::vector<std::unique_ptr<ByteStream>> streams_;  ///< Each reads the one before it.
    bool has_any_ = false;
};

}  // namespace stage
