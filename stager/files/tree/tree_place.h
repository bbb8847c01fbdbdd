// Makes a directory that appears under its final name by one rename.
//
// It is made beside its final name under a temporary one, filled by its user, and renamed when
// it is complete. An existing file or directory of that name is kept, or replaced by an
// exchange and then removed, or is an error: trees are not compared. One that another user may
// have placed there is always an error (foreign_entry.h).
#pragma once

#include "stager/files/target/target.h"

#include <memory>

namespace stage {

class TreePlace {
  public:
    /// Examines the destination and decides. It makes only missing directories. `mtime` is the
    /// time of the new tree.
    [[nodiscard]] static Result<std::unique_ptr<TreePlace>> decide(TargetOrder order,
                                                                   const FileTime& mtime,
                                                                   Writer writer);

    /// For decide().
    TreePlace(TargetOrder order, const FileTime& mtime, Writer writer, TargetDirectory at);
    TreePlace(const TreePlace&) = delete;
    TreePlace& operator=(const TreePlace&) = delete;
    /// Removes the temporary directory, unless it got its final name.
    ~TreePlace();

    [[nodiscard]] const TargetDirectory& directory() const { return directory_; }
    [[nodiscard]] std::string path() const { return order_.place.path(); }
    [[nodiscard]] std::string temporary_path() const;
    [[nodiscard]] bool is_left() const { return is_left_; }

    /// Makes the temporary directory with mode 0700, if one is needed.
    [[nodiscard]] Status begin();
    /// The temporary directory, open and locked. Requires begin().
    [[nodiscard]] int top() const { return top_.get(); }
    /// With `durable`: syncs everything in it to the disk by one call.
    [[nodiscard]] Status sync() const;
    /// Gives it its final name. If another stage took that name meanwhile, the existing tree
    /// may be kept.
    [[nodiscard]] Status appear();

    [[nodiscard]] Error failed(int cause) const;

  private:
    [[nodiscard]] Status look();
    [[nodiscard]] Status look_at(const struct stat& there);
    [[nodiscard]] Status check_counts(const struct stat& there) const;
    [[nodiscard]] Status still_there() const;
    [[nodiscard]] Result<FileTime> newest_of(const struct stat& there) const;
    [[nodiscard]] Status make_temporary();
    [[nodiscard]] bool remove_leftover() const;
    [[nodiscard]] Status replace();
    [[nodiscard]] Error exists() const;

    TargetOrder order_;
    FileTime mtime_;
    Writer writer_;
    TargetDirectory directory_;
    std::string name_;
    std::string temporary_;  ///< The temporary name; valid while has_temporary_.
    bool has_temporary_ = false;
    bool is_left_ = false;
    UniqueFd top_;  ///< Holds the lock.
};

}  // namespace stage
