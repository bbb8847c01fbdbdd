// Links the programs of a stage to their libraries (library_links.h), once both are in place.
#pragma once

#include "stager/files/libraries/library_links.h"
#include "stager/files/targets/sink_targets.h"

#include <cstddef>
#include <string>
#include <vector>

namespace stage {

class ProgramLinks {
  public:
    /// `list_directory`: the stage's own, below which the links are; empty: none are made.
    explicit ProgramLinks(std::string list_directory) : base_{std::move(list_directory)} {}

    /// An error if a program of the job has another library of a name in the same directory.
    [[nodiscard]] Status link(const SinkTargets& targets);

    /// What finds the libraries, for LD_LIBRARY_PATH, each with a slash at its end; the last is
    /// to be searched first.
    [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

  private:
    [[nodiscard]] Status link_one(const SinkTargets& targets,
                                  std::size_t program,
                                  std::size_t library);
    [[nodiscard]] Status link_same(const SinkTargets& targets,
                                   const LibraryLink& link,
                                   std::size_t library);
    [[nodiscard]] Status check_jobs(const SinkTargets& targets,
                                    int directory,
                                    std::size_t library) const;

    std::string base_;
    std::vector<std::string> paths_;
    std::vector<std::string> same_;  ///< To be searched before all of them.
};

}  // namespace stage
