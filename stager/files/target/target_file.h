// Receives one file so that it appears completely or not at all.
//
// It is written under a temporary name beside its final one, and renamed when every byte is
// there. An existing file with the final name decides first:
//   none, or one that may be replaced: a temporary file is written;
//   one that another user may have placed there (foreign_entry.h): an error;
// one of the same size, without a flag about replacing: every block is compared with it, and
// the first difference is an error;
//   one that is to be kept: the bytes are not needed.
//
// The temporary name (target.h) identifies the writer. If another member of
// the same job is at work in "its own" directory, the directory is shared. If another user has
// that name, the file gets a different one (free_name() in file_names.h).
//
// A resumable file has the name of a partial file, which the next attempt finds (partial.h). A
// file that is noted has a note behind its bytes until they are complete.
#pragma once

#include "stager/disk/drop_behind.h"
#include "stager/files/manifest/tree_node.h"
#include "stager/files/target/file_rest.h"
#include "stager/files/target/partial.h"
#include "stager/files/target/target.h"

namespace stage {

class TargetFile final : public Target {
  public:
    /// Examines the destination and decides. It makes only missing directories.
    [[nodiscard]] static Result<TargetFile> decide(TargetOrder order,
                                                   const ManifestEntry& entry,
                                                   Writer writer);

    TargetFile(TargetFile&& other) noexcept;
    TargetFile& operator=(TargetFile&& other) = delete;
    TargetFile(const TargetFile&) = delete;
    TargetFile& operator=(const TargetFile&) = delete;
    /// Removes the temporary file, unless it got its final name or may be resumed.
    ~TargetFile() override;

    [[nodiscard]] TargetNeeds needs() const override;
    [[nodiscard]] const TargetDirectory& directory() const override { return directory_; }
    [[nodiscard]] std::string path() const override { return order_.place.path(); }
    [[nodiscard]] std::string temporary_path() const override;
    [[nodiscard]] bool is_left() const override { return way_ != Way::write; }
    [[nodiscard]] int descriptor() const override { return fd_.get(); }

    [[nodiscard]] UniqueFd reading() const override;
    [[nodiscard]] bool is_compared() const override { return way_ == Way::compare; }
    [[nodiscard]] bool clone(int file) override;

    void rest() override;
    [[nodiscard]] Status wake() const override;

    [[nodiscard]] bool is_kept() const override { return is_taken_up() && way_ == Way::write; }
    [[nodiscard]] bool is_noted() const override { return note_ && !is_taken_up(); }
    [[nodiscard]] std::vector<Digest128> noted() const override;
    void note(std::uint64_t offset, const Digest128& leaf) override;

    /// Allocates all disk space, too.
    [[nodiscard]] Status begin() override;
    [[nodiscard]] Result<Placing> write(std::uint64_t offset, Bytes bytes) override;
    [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes room) override;
    [[nodiscard]] Status settle() override;
    [[nodiscard]] Status appear() override;

  private:
    enum class Way : unsigned char {
        write,    ///< To a temporary file.
        compare,  ///< With the existing file.
        leave,    ///< The existing file stays; the bytes are not needed.
    };

    TargetFile(TargetOrder order,
               const ManifestEntry& entry,
               Writer writer,
               TargetDirectory at);

    [[nodiscard]] Status look();
    void choose_temporary();
    [[nodiscard]] bool is_source(const struct stat& there) const;
    [[nodiscard]] Status check_counts(const struct stat& there) const;
    [[nodiscard]] Status open_existing();
    [[nodiscard]] Status make_temporary();
    /// True if it is written to a partial file that the next attempt finds.
    [[nodiscard]] bool is_taken_up() const { return stamp_ && order_.is_resumable; }
    [[nodiscard]] Status begin_note();
    [[nodiscard]] Status write_note();
    [[nodiscard]] bool open_part();
    [[nodiscard]] Status resume_partial();
    [[nodiscard]] std::uint64_t room_of_part() const;
    [[nodiscard]] Status take_room();
    [[nodiscard]] Status close_for_writing();
    [[nodiscard]] Status compared(std::optional<bool> is_same) const;
    [[nodiscard]] Status rename_if_free();
    [[nodiscard]] Status meet_newcomer();
    [[nodiscard]] Status still_there() const;
    [[nodiscard]] Error differs() const;
    [[nodiscard]] Status check_replaceable() const;
    [[nodiscard]] Error failed(int cause) const;

    TargetOrder order_;
    Writer writer_;
    mutable TargetDirectory directory_;
    std::string name_;
    std::string temporary_;  ///< The temporary name; valid while has_temporary_.
    bool has_temporary_ = false;
    bool may_replace_ = false;  ///< Replace any file that has the final name at the end.
    Way way_ = Way::write;
    /// The temporary file, read-only from settle() on; or the file to compare with.
    mutable UniqueFd fd_;
    mutable FileRest rest_;
    TreeNode node_;
    std::optional<SourceStamp> stamp_;  ///< For a resumable or noted file.
    std::optional<PartialNote> note_;   ///< From begin() to settle().
    std::uint64_t room_before_ = 0;     ///< The disk space of the partial file.
    DropBehind behind_;
};

}  // namespace stage
