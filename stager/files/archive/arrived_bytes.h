// Lets a thread read a file from its beginning while its blocks arrive in any order.
//
// The blocks are stored in a file without a name, and the reader waits for the next one in
// order. A writer whose reader is far behind waits for it briefly, so that unpacking ends soon
// after the last block has arrived.
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

    // For the writer:

    /// Writes a complete block at `offset`. Returns false, with errno, if the disk refused it.
    [[nodiscard]] bool write(std::uint64_t offset, Bytes bytes);
    /// Reads bytes that were written. Returns false if they are not available.
    [[nodiscard]] bool read_back(std::uint64_t offset, MutableBytes room) const;
    /// Replaces the file by `file`, which has all bytes. Requires that no block was written.
    void adopt(UniqueFd file);
    /// Opens the file for reading only; returns an empty descriptor if that fails.
    [[nodiscard]] UniqueFd reading() const;
    /// Lets the reader catch up; waits a moment at most.
    void wait_for_reader();
    /// No more blocks will arrive: a waiting reader gets an error.
    void stop();

    // For the reader, which has a thread of its own:

    /// Waits for the byte at `offset`, and returns it with the bytes available after it; 0 at
    /// the end, -1 with errno if it will not arrive or cannot be read.
    [[nodiscard]] std::int64_t read(std::uint64_t offset, MutableBytes room);
    /// The reader needs no more bytes.
    void end_reading();

    [[nodiscard]] std::uint64_t size() const { return size_; }

  private:
    [[nodiscard]] bool has(std::uint64_t offset) const;

    UniqueFd file_;  ///< Replaced only while the reader waits for its first byte.
    std::uint64_t size_;
    std::mutex mutex_;  ///< Guards the members below; never held during I/O.
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
