// How does one file arrive so that it is whole or absent?
//
// Under a temporary name beside its final one, and by a rename when every byte is there. What
// already has the final name decides first: nothing, or what may be replaced -> a temporary
// file; what another user may have placed there (foreign_entry.h) -> an error; the same size
// and no word about replacing -> every block is compared with it, and the first that differs is
// an error; what is to be kept -> the bytes are not wanted.
//
// The temporary name, ".NAME.stagecast.JOB.RANK", tells who is at work. A member of the same
// job seen at work in "its own" directory means that the directory is shared. Where another
// user has that name, this file has another (free_name() in file_names.h).
//
// What is resumable has another, which the next time finds again (partial.h). What is noted has
// a note behind its bytes until they are whole.
#pragma once

#include "stager/disk/drop_behind.h"
#include "stager/files/manifest/tree_node.h"
#include "stager/files/target/partial.h"
#include "stager/files/target/target.h"

namespace stage {

class TargetFile final : public Target {
  public:
    /// Looks at the destination and decides; nothing is made yet but missing directories.
    [[nodiscard]] static Result<TargetFile> decide(TargetOrder order,
                                                   const ManifestEntry& entry,
                                                   Writer writer);

    TargetFile(TargetFile&& other) noexcept;
    TargetFile& operator=(TargetFile&& other) = delete;
    TargetFile(const TargetFile&) = delete;
    TargetFile& operator=(const TargetFile&) = delete;
    /// Removes the temporary file, if it did not get its final name and is not to be resumed.
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

    /// Takes the whole room on the disk, too.
    [[nodiscard]] Status begin() override;
    [[nodiscard]] Result<Placing> write(std::uint64_t offset, Bytes bytes) override;
    [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes room) override;
    [[nodiscard]] Status settle() override;
    [[nodiscard]] Status appear() override;

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

    /// What rest() closed.
    struct Rested {
        FileIdentity directory{};
        std::optional<FileIdentity> file{};
        int how = 0;    ///< O_RDONLY or O_RDWR.
        int cause = 0;  ///< Closing it failed.
    };

    [[nodiscard]] Status look();
    void choose_temporary();
    [[nodiscard]] bool is_source(const struct stat& there) const;
    [[nodiscard]] Status check_counts(const struct stat& there) const;
    [[nodiscard]] Status open_existing();
    [[nodiscard]] Status make_temporary();
    /// It grows where the next time finds it.
    [[nodiscard]] bool is_taken_up() const { return stamp_ && order_.is_resumable; }
    [[nodiscard]] Status begin_note();
    [[nodiscard]] Status write_note();
    [[nodiscard]] bool open_part();
    [[nodiscard]] Status take_up_partial();
    [[nodiscard]] std::uint64_t room_of_part() const;
    [[nodiscard]] Status take_room();
    [[nodiscard]] Status close_for_writing();
    [[nodiscard]] Status compare(std::uint64_t offset, Bytes bytes) const;
    [[nodiscard]] Status compare_holes() const;
    [[nodiscard]] Status rename_if_free();
    [[nodiscard]] Status meet_newcomer();
    [[nodiscard]] Status still_there() const;
    [[nodiscard]] Error differs() const;
    [[nodiscard]] Error failed(int cause) const;

    TargetOrder order_;
    Writer writer_;
    mutable TargetDirectory directory_;
    std::string name_;
    std::string temporary_;  ///< Its name; meaningful while has_temporary_.
    bool has_temporary_ = false;
    bool may_replace_ = false;  ///< Whatever has the final name when we are done.
    Way way_ = Way::write;
    /// The temporary file, from settle() on only for reading; or the file compared with.
    mutable UniqueFd fd_;
    mutable std::optional<Rested> rested_;
    TreeNode node_;
    std::optional<SourceStamp> stamp_;  ///< Of what is resumable or noted.
    std::optional<PartialNote> note_;   ///< From begin() to settle().
    std::uint64_t room_before_ = 0;     ///< That what came before takes.
    DropBehind behind_;
};

}  // namespace stage
