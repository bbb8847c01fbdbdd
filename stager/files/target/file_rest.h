// Closes a file that waits, so that many files need few descriptors, and opens it again.
//
// The file and its directory are opened again by their names, which others may have changed in
// the meantime: only the same file will do.
#pragma once

#include "stager/files/source/source_item.h"
#include "stager/files/target/target_directory.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <optional>
#include <string>

namespace stage {

class FileRest {
  public:
    [[nodiscard]] bool is_resting() const { return rested_.has_value(); }
    /// Closes both; leaves them open if the file could not be opened again later. `file` may be
    /// none.
    void begin(UniqueFd& directory, UniqueFd& file);
    /// Opens the directory of `place` again and the file there, by `name`, if it was open.
    /// Fails if another one has the name, or if closing the file has failed.
    [[nodiscard]] Status end(const TargetPlace& place,
                             const std::string& name,
                             UniqueFd& directory,
                             UniqueFd& file);

  private:
    struct Rested {
        FileIdentity directory{};
        std::optional<FileIdentity> file{};
        int how = 0;    ///< O_RDONLY or O_RDWR.
        int cause = 0;  ///< The errno if closing it failed.
    };

    std::optional<Rested> rested_;
};

}  // namespace stage
