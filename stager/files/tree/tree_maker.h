// How does a file of a tree come to be whose bytes are all there?
//
// Made, written, settled and closed at once, by descriptors below the top, with its mode from
// the first where nothing speaks against it (Maker::makes). Each thread has a TreeMaker.
#pragma once

#include "stager/files/manifest/attributes.h"
#include "stager/files/manifest/tree_directories.h"

namespace stage {

class TreeMaker {
  public:
    struct Made {
        UniqueFd fd;  ///< Empty if it failed; errno says why.
        bool has_mode = false;
    };

    /// `index` must outlive this; `top` is the tree's top, any descriptor of it.
    TreeMaker(const TreeIndex& index, UniqueFd top) : directories_{index, std::move(top)} {}

    /// Of its size, but without data. `is_whole`: nobody opens it again before it is settled.
    [[nodiscard]] Made begin(const TreeNode& file, bool is_whole);
    /// `bytes`: all of its data, in one run. False and errno if it failed.
    [[nodiscard]] bool make(const TreeNode& file, Bytes bytes);

    [[nodiscard]] TreeDirectories& directories() { return directories_; }
    [[nodiscard]] const Maker& maker() const { return maker_; }

  private:
    TreeDirectories directories_;
    Maker maker_ = Maker::self();
};

}  // namespace stage
