// Turns a job's specs into the files to read and the places to write on this node.
//
// The source reads the specs, and opens their lists as the user. Every member turns the entries
// of the manifest back into places: a relative destination lies below the stage directory, an
// absolute one below one of the site's DestRoots. The user can forge the specs, and a list's
// lines in the manifest come from the source's worker, so each node checks both itself.
#pragma once

#include "stager/files/sink/file_sink.h"
#include "stager/files/source/file_source.h"
#include "stager/messages/stage_traits.h"
#include "stager/messages/worker_setup.h"
#include "stager/removal/made_directories.h"
#include "stager/spec/destination.h"
#include "stager/spec/list_lines.h"
#include "stager/spec/name_pattern.h"
#include "stager/spec/spec_list.h"
#include "stager/worker/requests/destinations.h"
#include "stager/worker/requests/library_orders.h"

#include <memory>
#include <string>
#include <vector>

namespace stage {

/// The directories to which this node allows files to go.
struct OrderPlaces {
    std::string stage_dir;                    ///< Absolute.
    std::string dest_subdir;                  ///< Below it; "" or "step.N".
    std::vector<std::string> dest_roots;      ///< Absolute, without a final slash ("/" is one).
    std::string work_dir;                     ///< Relative sources of a list lie below it.
    bool has_cache = false;                   ///< The cache keeps partial files.
    NameValues names{};                       ///< For the patterns in names.
    std::shared_ptr<MadeDirectories> made{};  ///< The directories above absolute destinations.
    StageTraits traits{};
    bool keeps_owners = true;  ///< See target.h.
};

/// The places that a SETUP names. `made` is the caller's.
[[nodiscard]] OrderPlaces places_of(const WorkerSetup& setup);

class Orders {
  public:
    /// Checks all that can be checked without a disk, also that absolute destinations lie below
    /// a root.
    [[nodiscard]] static Result<Orders> parse(std::string_view specs, OrderPlaces places);

    /// The files that the source reads: each spec's file and each line of each list, without
    /// duplicates. Fails (Blame::user) if two different ones have the same destination, or one
    /// lies inside the other's; every error about a list names the list and the line.
    [[nodiscard]] Result<std::vector<SourceOrder>> sources() const;

    /// The destination of a manifest's entry.
    [[nodiscard]] Result<SinkOrder> target_of(const ManifestEntry& entry) const;

    /// The places outside the stage directory that are known without the manifest.
    [[nodiscard]] std::vector<TargetPlace> places_outside() const;

    /// The directory that contains ".stagecast": the stage directory, or the step's below it.
    [[nodiscard]] std::string base() const;

    /// A directory on the disk of a destination, for FileSink; empty if there is none.
    [[nodiscard]] std::string spill_directory() const;

    /// True if a file may continue where an earlier stage was interrupted.
    [[nodiscard]] bool is_any_resumable() const;

    /// The path of each spec's file: the base for a list, "" for a file that is not here.
    [[nodiscard]] std::vector<std::string> paths(const FileSink& sink) const;
    /// The directories that contain all staged files: see WorkerOutcome.
    [[nodiscard]] std::vector<std::string> directories(const FileSink& sink) const;

  private:
    Orders(std::vector<StageSpec> specs, StageOptions options, OrderPlaces places)
        : specs_{std::move(specs)}, options_{std::move(options)}, places_{std::move(places)} {}

    [[nodiscard]] Result<TargetPlace> place_of(const StageSpec& spec) const;
    [[nodiscard]] Result<StageSpec> meant_by(const StageSpec& spec) const;
    /// What the manifest's entry stands for.
    struct Asked {
        StageSpec spec;
        std::string where;  ///< The list and its line, if a list asks for it.
    };
    [[nodiscard]] Result<Asked> asked_by(const ManifestEntry& entry) const;
    [[nodiscard]] Status add_lines(std::uint16_t index,
                                   Destinations& taken,
                                   std::vector<SourceOrder>& orders) const;
    [[nodiscard]] std::string note_of(const StageSpec& written) const;
    [[nodiscard]] std::string as_written(const std::string& name) const;
    [[nodiscard]] bool is_there(const std::string& name) const;
    [[nodiscard]] std::optional<StageSpec> file_named_by(const ListLine& line) const;
    [[nodiscard]] Result<StageSpec> spec_of(const StageSpec& list, const ListLine& line) const;
    [[nodiscard]] TreeChoice choice_of(const StageSpec& spec) const;
    [[nodiscard]] Result<bool> take(const StageSpec& spec, Destinations& taken) const;
    [[nodiscard]] Status add_file(std::uint16_t index,
                                  Destinations& taken,
                                  std::vector<SourceOrder>& orders) const;
    [[nodiscard]] Status add_program(std::uint16_t index,
                                     Destinations& taken,
                                     std::vector<SourceOrder>& orders,
                                     std::vector<PlacedProgram>& programs) const;
    void add_neighbours(std::vector<PlacedProgram>& programs) const;
    [[nodiscard]] std::string directory_for(const StageSpec& spec) const;
    [[nodiscard]] Result<TargetPlace> place_of_library(const StageSpec& program,
                                                       const std::string& name) const;

    std::vector<StageSpec> specs_;
    std::vector<std::string> notes_;  ///< By spec: how its source was written, for messages.
    StageOptions options_;
    OrderPlaces places_;
};

}  // namespace stage
