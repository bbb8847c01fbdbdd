// Reads the entries of an archive one after the other, and verifies that the archive is
// complete.
//
// A tar is read from front to back while it arrives; Decompression removes its compression. A
// zip is read once its end has arrived, because only the directory at its end has names, modes
// and links. libarchive parses both.
#pragma once

#include "stager/files/archive/archive_handle.h"
#include "stager/files/archive/decompression.h"
#include "stager/files/archive/zip_directory.h"

#include <string>

namespace stage {

class ArchiveReader {
  public:
    /// Both must outlive this object.
    ArchiveReader(ArrivedBytes& bytes, ReadTrouble& trouble);

    /// Returns false if it failed with a trouble, or if this is no archive (without a trouble).
    [[nodiscard]] bool open();

    enum class Next : unsigned char { member, end, failed };
    /// Advances to the next entry(). `failed`: a trouble was set.
    [[nodiscard]] Next next();
    [[nodiscard]] archive_entry* entry() const { return entry_; }
    /// The entry's name as bytes; nothing if the archive gives no usable name.
    [[nodiscard]] std::optional<std::string> name() const;
    /// The entry's permission bits, 07777.
    [[nodiscard]] std::uint16_t mode() const;
    /// Returns the entry's next bytes. `end`: there are no more. `failed`: a trouble was set.
    [[nodiscard]] Next data(Bytes& bytes, std::uint64_t& offset);

    /// After the last entry: verifies all checksums. Returns false if a trouble was set.
    [[nodiscard]] bool finish();
    /// For a tar, after finish(): true if the end-of-archive mark follows the last entry.
    [[nodiscard]] bool is_ended() const;

  private:
    [[nodiscard]] bool open_tar();
    [[nodiscard]] bool open_zip();
    la_ssize_t read_tar(const void** out);
    la_ssize_t read_zip(const void** out);
    la_int64_t skip_zip(la_int64_t wanted);
    la_int64_t seek_zip(la_int64_t offset, int whence);
    [[nodiscard]] std::uint64_t memory_wanted();
    [[nodiscard]] bool fits_in_memory();

    ArrivedBytes& bytes_;
    ReadTrouble& trouble_;
    std::vector<std::byte> room_;
    Decompression decompression_;
    std::uint64_t at_ = 0;         ///< The offset in the uncompressed tar, or in the zip.
    std::size_t held_ = 0;         ///< The valid bytes of `room_`, which end at `at_`.
    std::vector<std::byte> last_;  ///< The block before those bytes.
    std::optional<ZipDirectory> zip_;
    std::size_t members_ = 0;
    ArchiveHandle archive_;  ///< Reads through this object.
    archive_entry* entry_ = nullptr;
};

}  // namespace stage
