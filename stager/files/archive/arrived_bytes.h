// How does somebody read a file from its beginning while its blocks come in any order?
//
// The blocks lie in a file without a name; whoever reads waits for the one that is next. Who
// writes is held up, a little, by a reader that is far behind, so that the end of the one is
// not long after the end of the other.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace stage {

class ArrivedBytes {
  public:
    /// `file` is empty, open for reading and writing, and will have `size` bytes.
    ArrivedBytes(UniqueFd file, std::uint64_t size);

    // For the one who writes:

    /// One whole block at `offset`. False and errno if the disk did not take it.
    [[nodiscard]] bool write(std::uint64_t offset, Bytes bytes);
    /// What was written. False if it can't be had.
    [[nodiscard]] bool read_back(std::uint64_t offset, MutableBytes room) const;
    /// All of them are in this file. Requires that none was written.
    void adopt(UniqueFd file);
    /// What is there, for reading only; nothing if it can't be had.
    [[nodiscard]] UniqueFd reading() const;
    /// Lets the reader catch up, for a moment at most.
    void wait_for_reader();
    /// Nothing will come any more: a reader that waits gets an error.
    void stop();

    // For the one who reads, in a thread of its own:

    /// Waits for the byte at `offset` and gives it with what is there behind it; 0 at the end,
    /// -1 and errno if it will not come or can't be read.
    [[nodiscard]] std::int64_t read(std::uint64_t offset, MutableBytes room);
    /// Will read no more.
    void end_reading();

    [[nodiscard]] std::uint64_t size() const { return size_; }

  private:
    [[nodiscard]] bool has(std::uint64_t offset) const;

    UniqueFd file_;  ///< Another one only while the reader waits for its first byte.
    std::uint64_t size_;
    std::mutex mutex_;  ///< Guards what follows; never held over I/O.
    std::condition_variable came_;
    std::condition_variable was_read_;
    std::vector<bool> held_;  ///< By block.
    std::uint64_t bytes_held_ = 0;
    std::uint64_t read_to_ = 0;
    bool is_stopped_ = false;
    bool is_read_ = false;
    bool is_adopted_ = false;
};

}  // namespace stage
