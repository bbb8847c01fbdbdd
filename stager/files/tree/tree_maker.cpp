#include "stager/files/tree/tree_maker.h"

#include "stager/disk/disk_io.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace stage {

TreeMaker::Made TreeMaker::begin(const TreeNode& file, bool is_whole) {
    Made made{.fd = {}, .has_mode = is_whole && maker_.makes(file)};
    // A file that is opened again for its next block must be accessible until then.
    const mode_t mode = made.has_mode ? file.mode : 0600;
    constexpr int kMake = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int directory = directories_.at(file.parent);
    made.fd.reset(directory < 0 ? -1 : ::openat(directory, file.name.c_str(), kMake, mode));
    const auto size = static_cast<off_t>(file.size);
    if (made.fd && file.kind == TreeKind::sparse && ::ftruncate(made.fd.get(), size) != 0) {
        const int cause = errno;
        made.fd.reset();
        errno = cause;
    }
    return made;
}

bool TreeMaker::make(const TreeNode& file, Bytes bytes) {
    Made made = begin(file, true);
    return made.fd && write_fully(made.fd.get(), bytes, 0) &&
           keep_attributes(made.fd.get(), file, made.has_mode) && close_written(made.fd);
}

}  // namespace stage
