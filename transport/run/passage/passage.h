// Hands an object from the session that brings it to a gateway to those that carry it on.
//
// A passage is a file without a name: its state, a table with an entry for each block, and the
// blocks in the order of their arrival. The process that receives has it as a sink
// (passage_ends.h), each process that sends on has it as a source, and their daemon says in it
// how the sending on ended. A block goes on as soon as it is verified ("cut-through", Kota
// 2006, 2.2), so a gateway adds no more than a block's time, and a slow cluster behind it
// delays no other. The room of the whole object is taken before the first byte.
//
// All that share the file are of one gateway's system user, on one host and of one release:
// numbers are in the host's order. An entry's length is written after the rest, and says that
// the block is here.
#pragma once

#include "transport/base/checksum.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stage {

class Passage {
  public:
    /// How one side ended.
    enum class End : std::uint32_t { open = 0, good = 1, failed = 2 };
    /// The session that comes in, and those that go on.
    enum class Side : std::uint32_t { inward = 0, onward = 1 };

    /// Makes a file for `blocks` blocks of together `bytes` bytes on the disk of `directory`.
    /// The error (Blame::node) names the directory, and says what lacks; or (Blame::internal)
    /// there is no such object.
    [[nodiscard]] static Result<UniqueFd> make(const std::string& directory,
                                               std::uint32_t blocks,
                                               std::uint64_t bytes);
    /// The size of such a file.
    [[nodiscard]] static std::uint64_t file_bytes(std::uint32_t blocks, std::uint64_t bytes);
    /// Fails (Blame::internal) unless `file` was made so by this release.
    [[nodiscard]] static Result<Passage> open(UniqueFd file);

    [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

    /// Lists the blocks that are here, one run after the other, and the sum of their bytes.
    /// What an earlier process took stays; keep() goes on behind it.
    struct Taken {
        std::vector<std::pair<BlockIndex, std::uint32_t>> runs;  ///< First block, and how many.
        std::uint32_t blocks = 0;
        std::uint64_t bytes = 0;
    };
    [[nodiscard]] Taken take_up();

    /// Takes a block that is not here yet. Only one process at a time does so. An error
    /// (Blame::internal) says that the object is not the one that was announced, or
    /// (Blame::node) names the disk.
    [[nodiscard]] Status keep(BlockIndex block, Bytes bytes, const Digest128& leaf);
    struct Entry {
        Digest128 leaf{};
        std::uint64_t place = 0;   ///< The block's in the file.
        std::uint32_t length = 0;  ///< 0: the block is not here.
        std::uint32_t unused = 0;
    };
    /// The block's entry, if the block is here. Requires block < blocks().
    [[nodiscard]] std::optional<Entry> find(BlockIndex block) const;
    /// Reads room.size() bytes of the block from `offset` on.
    [[nodiscard]] Status read(const Entry& entry,
                              std::uint32_t offset,
                              MutableBytes room) const;

    /// Says how a side ended, once; `why`: the sentence of a failure, at most kWhyMax bytes of
    /// it, and the party to blame.
    void end(Side side, End how, const std::string& why = {}, Blame blame = Blame::node) const;
    struct Ended {
        End how = End::open;
        std::string why;
        Blame blame = Blame::node;
    };
    [[nodiscard]] Ended ended(Side side) const;

    static constexpr std::size_t kWhyMax = 1000;

  private:
    void note_taken(Taken& taken, BlockIndex block, const Entry& entry);

    Passage(UniqueFd file, std::uint32_t blocks, std::uint64_t bytes)
        : file_{std::move(file)}, blocks_{blocks}, bytes_{bytes} {}

    UniqueFd file_;
    std::uint32_t blocks_;
    std::uint64_t bytes_;
    std::uint64_t kept_ = 0;  ///< Bytes of the file that blocks have taken.
};

}  // namespace stage
