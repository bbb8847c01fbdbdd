// How does one file arrive so that it is whole or absent?
//
// Under a temporary name beside its final one, and by a rename when every byte is there. What
// already has the final name decides first: nothing, or what may be replaced -> a temporary
// file; the same size and no word about replacing -> every block is compared with it, and the
// first that differs is an error; what is to be kept -> the bytes are not wanted.
//
// The temporary name, ".NAME.stagecast.JOB.RANK", tells who is at work. A member of the same
// job seen at work in "its own" directory means that the directory is shared.
#pragma once

#include "stager/control/stage_spec.h"
#include "stager/files/source_file.h"
#include "stager/files/target_directory.h"
#include "transport/run/sink.h"

#include <optional>

namespace stage {

/// Who writes: the temporary names are made of it.
struct Writer {
    std::string job;  ///< "42", "42.3"; of what may stand in a file's name.
    std::uint32_t rank = 0;
    std::uint32_t group_size = 1;
};

/// What is wanted of one file.
struct TargetOrder {
    TargetPlace place;
    Existing existing = Existing::overwrite;
    bool is_durable = false;
    std::optional<FileIdentity> source;  ///< On the source's own node: the file itself.
};

/// ".NAME.stagecast.JOB.RANK", NAME cut where it would be too long for a file system.
[[nodiscard]] std::string temporary_name(const std::string& name,
                                         const Writer& writer,
                                         std::uint32_t rank);

/// `directory` has a file of that temporary name whose writer lives: it holds the lock.
[[nodiscard]] bool is_at_work(int directory, const std::string& temporary);
/// `path` lies where other members of the group write, too.
[[nodiscard]] Error shared_error(const std::string& path);

class TargetFile {
  public:
    /// Looks at the destination and decides; nothing is made yet but missing directories.
    [[nodiscard]] static Result<TargetFile> decide(TargetOrder order,
                                                   const ManifestEntry& entry,
                                                   Writer writer);

    TargetFile(TargetFile&& other) noexcept;
    TargetFile& operator=(TargetFile&& other) = delete;
    TargetFile(const TargetFile&) = delete;
    TargetFile& operator=(const TargetFile&) = delete;
    /// Removes the temporary file, if it did not get its final name.
    ~TargetFile();

    /// Bytes that begin() will need on device(); 0 where nothing is written.
    [[nodiscard]] std::uint64_t bytes_needed() const;
    [[nodiscard]] std::uint64_t device() const { return directory_.device; }
    [[nodiscard]] std::uint64_t free_bytes() const { return directory_.free_bytes; }
    [[nodiscard]] std::string path() const { return order_.place.path(); }
    /// Where the temporary file is while there is one.
    [[nodiscard]] std::string temporary_path() const;

    /// Makes the temporary file and takes its whole room on the disk.
    [[nodiscard]] Status begin();

    [[nodiscard]] Result<Placing> write(std::uint64_t offset, Bytes bytes);
    [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes room) const;

    /// Every byte is there: owner, mode, times; `durable`: on the disk.
    [[nodiscard]] Status settle();
    /// The final name. Requires settle().
    [[nodiscard]] Status appear();

  private:
    enum class Way : unsigned char {
        write,    ///< To a temporary file.
        compare,  ///< With the file that is there.
        leave,    ///< What is there stays; the bytes are not wanted.
    };

    TargetFile(TargetOrder order,
               const ManifestEntry& entry,
               Writer writer,
               TargetDirectory at);

    [[nodiscard]] Status look();
    [[nodiscard]] Status open_existing();
    [[nodiscard]] Status make_temporary();
    [[nodiscard]] Status take_room();
    [[nodiscard]] Status check_alone() const;
    [[nodiscard]] Status compare(std::uint64_t offset, Bytes bytes) const;
    [[nodiscard]] Status rename_if_free();
    [[nodiscard]] Status meet_newcomer();
    [[nodiscard]] Error differs() const;
    [[nodiscard]] Error failed(int cause) const;
    void keep_owner_and_mode() const;

    TargetOrder order_;
    Writer writer_;
    TargetDirectory directory_;
    std::string name_;
    std::string temporary_;  ///< Its name; meaningful while has_temporary_.
    bool has_temporary_ = false;
    bool may_replace_ = false;  ///< Whatever has the final name when we are done.
    Way way_ = Way::write;
    UniqueFd fd_;  ///< The temporary file, later the final one; or the one compared with.
    std::uint64_t size_;
    std::uint16_t mode_;
    std::uint32_t uid_;
    std::uint32_t gid_;
    FileTime mtime_;
};

}  // namespace stage
