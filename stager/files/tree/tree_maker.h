// Makes one file of a tree whose bytes are all available.
//
// It is made, written, settled and closed at once, by descriptors below the top, and has its
// final mode from the beginning if possible (Maker::makes). Each thread has its own TreeMaker.
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

    /// `index` must outlive this object; `top` is the tree's top, a descriptor of any kind.
    TreeMaker(const TreeIndex& index, UniqueFd top) : directories_{index, std::move(top)} {}

    /// Makes a file of its full length, without data. `is_whole`: it is settled before it is
    /// opened again.
    [[nodiscard]] Made begin(const TreeNode& file, bool is_whole);
    /// `bytes` are all of its data, in one run. Returns false, with errno, on failure.
    [[nodiscard]] bool make(const TreeNode& file, Bytes bytes);

    [[nodiscard]] TreeDirectories& directories() { return directories_; }
    [[nodiscard]] const Maker& maker() const { return maker_; }

  private:
    TreeDirectories directories_;
    Maker maker_ = Maker::self();
};

}  // namespace stage
