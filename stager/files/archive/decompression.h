// Removes all layers of compression from an archive's bytes, and verifies the checksums of
// each.
#pragma once

#include "stager/files/archive/byte_stream.h"

namespace stage {

class Decompression {
  public:
    /// Both must outlive this object.
    Decompression(ArrivedBytes& bytes, ReadTrouble& trouble);

    /// Detects each compression by its first bytes. Returns false if a trouble was set.
    [[nodiscard]] bool open();
    /// The uncompressed bytes. Requires open().
    [[nodiscard]] ByteStream& plain() { return *streams_.back(); }
    [[nodiscard]] bool has_any() const { return has_any_; }
    /// Reads the rest of each stream, since the last checksums are at the ends. Returns false
    /// if a trouble was set. Without compression nothing is read.
    [[nodiscard]] bool finish();

  private:
    [[nodiscard]] bool fill(std::vector<std::byte>& head);
    [[nodiscard]] bool skip(std::uint64_t count);

    ReadTrouble& trouble_;
    std::vector<std::unique_ptr<ByteStream>> streams_;  ///< Each reads from the one before it.
    bool has_any_ = false;
};

}  // namespace stage
