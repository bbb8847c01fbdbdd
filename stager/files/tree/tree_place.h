// How does a directory come under its name by one rename, and what of the one that has it?
//
// It is made beside its final name under a temporary one, filled there by whoever has members
// for it, and renamed when all of it is there. What has the final name already is left, or
// replaced by an exchange and then removed, or an error: trees are not compared. What another
// user may have placed there is always an error (foreign_entry.h).
#pragma once

#include "stager/files/target/target.h"

#include <memory>

namespace stage {

class TreePlace {
  public:
    /// Looks at the destination and decides; nothing is made yet but missing directories.
    /// `mtime`: what comes is as new as this.
    [[nodiscard]] static Result<std::unique_ptr<TreePlace>> decide(TargetOrder order,
                                                                   const FileTime& mtime,
                                                                   Writer writer);

    /// For decide().
    TreePlace(TargetOrder order, const FileTime& mtime, Writer writer, TargetDirectory at);
    TreePlace(const TreePlace&) = delete;
    TreePlace& operator=(const TreePlace&) = delete;
    /// Removes the temporary directory, if it did not get its final name.
    ~TreePlace();

    [[nodiscard]] const TargetDirectory& directory() const { return directory_; }
    [[nodiscard]] std::string path() const { return order_.place.path(); }
    [[nodiscard]] std::string temporary_path() const;
    [[nodiscard]] bool is_left() const { return is_left_; }

    /// Makes the temporary directory, of mode 0700, if one is wanted.
    [[nodiscard]] Status begin();
    /// It, open and locked; after begin().
    [[nodiscard]] int top() const { return top_.get(); }
    /// `durable`: all that is in it is on the disk, by one call.
    [[nodiscard]] Status sync() const;
    /// Gives it its final name. What took that meanwhile may make it left.
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
    std::string temporary_;  ///< Its name; meaningful while has_temporary_.
    bool has_temporary_ = false;
    bool is_left_ = false;
    UniqueFd top_;  ///< Holds the lock.
};

}  // namespace stage
