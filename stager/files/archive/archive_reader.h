// Reads an archive's members, one after the other, and verifies that it is whole.
//
// A tar is read from front to back while it arrives; Decompression takes off what it is
// compressed by. A zip is read once its end is here, where its directory is, because only that
// tells names, modes and links. Either is parsed by libarchive.
#pragma once

#include "stager/files/archive/archive_handle.h"
#include "stager/files/archive/decompression.h"
#include "stager/files/archive/zip_directory.h"

#include <string>

namespace stage {

class ArchiveReader {
  public:
    /// Both outlive it.
    ArchiveReader(ArrivedBytes& bytes, ReadTrouble& trouble);

    /// False where a trouble was set and, without one, where this is no archive.
    [[nodiscard]] bool open();

    enum class Next : unsigned char { member, end, failed };
    /// The next member's entry(). `failed`: a trouble was set.
    [[nodiscard]] Next next();
    [[nodiscard]] archive_entry* entry() const { return entry_; }
    /// Its name as bytes; nothing if there is none that can be told.
    [[nodiscard]] std::optional<std::string> name() const;
    /// Its permission bits, 07777.
    [[nodiscard]] std::uint16_t mode() const;
    /// Its next bytes. `end`: there are none. `failed`: a trouble was set.
    [[nodiscard]] Next data(Bytes& bytes, std::uint64_t& offset);

    /// Behind the last member: whether all checksums agree. False where a trouble was set.
    [[nodiscard]] bool finish();
    /// Of a tar, after finish(): whether the mark of its end stands behind its last member.
    [[nodiscard]] bool is_ended() const;

  private:
    [[nodiscard]] bool open_tar();
    [[nodiscard]] bool open_zip();
    la_ssize_t read_tar(const void** out);
    la_ssize_t read_zip(const void** out);
    la_int64_t skip_zip(la_int64_t wanted);
    la_int64_t seek_zip(la_int64_t offset, int whence);

    ArrivedBytes& bytes_;
    ReadTrouble& trouble_;
    std::vector<std::byte> room_;
    Decompression decompression_;
    std::uint64_t at_ = 0;         ///< In the tar, without compression, or in the zip.
    std::size_t held_ = 0;         ///< Of `room_`, which end at `at_`.
    std::vector<std::byte> last_;  ///< The block before them.
    std::optional<ZipDirectory> zip_;
    std::size_t members_ = 0;
    ArchiveHandle archive_;  ///< Reads by this.
    archive_entry* entry_ = nullptr;
};

}  // namespace stage
