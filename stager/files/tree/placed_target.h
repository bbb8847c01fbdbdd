// The common part of all targets that fill a directory.
//
// The directory is made under a temporary name and gets its own at the end (tree_place.h). The
// derived target fills it (target_tree.h, target_archive.h).
#pragma once

#include "stager/files/tree/tree_place.h"

#include <memory>

namespace stage {

class PlacedTarget : public Target {
  public:
    [[nodiscard]] const TargetDirectory& directory() const final { return place_->directory(); }
    [[nodiscard]] std::string path() const final { return place_->path(); }
    [[nodiscard]] std::string temporary_path() const final { return place_->temporary_path(); }
    [[nodiscard]] bool is_left() const final { return place_->is_left(); }
    [[nodiscard]] int descriptor() const final { return place_->top(); }
    [[nodiscard]] bool is_directory() const final { return true; }

    [[nodiscard]] Status begin() override { return place_->begin(); }
    [[nodiscard]] Status appear() final { return place_->appear(); }

  protected:
    explicit PlacedTarget(std::unique_ptr<TreePlace> place) : place_{std::move(place)} {}

    [[nodiscard]] TreePlace& place() { return *place_; }
    [[nodiscard]] const TreePlace& place() const { return *place_; }

  private:
    std::unique_ptr<TreePlace> place_;
};

}  // namespace stage
