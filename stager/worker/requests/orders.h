// What do a job's specs ask of this node's disk?
//
// The source reads the specs (and opens their lists, as the user); every member turns the
// entries of the manifest back into places: a relative destination lies below the stage
// directory, an absolute one below one of the site's DestRoots. The specs are the user's to
// forge, a list's lines in the manifest come from the source's worker: both are judged here, on
// each node.
#pragma once

#include "stager/files/sink/file_sink.h"
#include "stager/files/source/file_source.h"
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

/// Where this node lets files go.
struct OrderPlaces {
    std::string stage_dir;                    ///< Absolute.
    std::string dest_subdir;                  ///< Below it; "" or "step.N".
    std::vector<std::string> dest_roots;      ///< Absolute, without a final slash ("/" is one).
    std::string work_dir;                     ///< Relative sources of a list lie below it.
    bool has_cache = false;                   ///< Which keeps what came, if it is broken off.
    NameValues names{};                       ///< For the patterns in names.
    std::shared_ptr<MadeDirectories> made{};  ///< Of directories above absolute destinations.
    bool is_push = false;                     ///< Root's: dest_roots are this node's PushRoots.
    bool keeps_owners = true;                 ///< target.h
};

class Orders {
  public:
    /// Checks the specs against what can be checked without a disk: that absolute destinations
    /// lie below a root, too.
    [[nodiscard]] static Result<Orders> parse(std::string_view specs, OrderPlaces places);

    /// What the source has to read: each spec's file, each line of each list, but of equal ones
    /// the first. Fails (Blame::user) where two others have one destination, or one lies in the
    /// other's; every error of a list names it and the line.
    [[nodiscard]] Result<std::vector<SourceOrder>> sources() const;

    /// Where an entry of the manifest goes.
    [[nodiscard]] Result<SinkOrder> target_of(const ManifestEntry& entry) const;

    /// The places outside of the stage directory that are known without the manifest.
    [[nodiscard]] std::vector<TargetPlace> places_outside() const;

    /// Where ".stagecast" is: the stage directory, or the step's below it.
    [[nodiscard]] std::string base() const;

    /// Some file's stage may go on where an earlier one was broken off.
    [[nodiscard]] bool is_any_resumable() const;

    /// By spec: where its file is; the base for a list; "" for a file that is not here.
    [[nodiscard]] std::vector<std::string> paths(const FileSink& sink) const;
    /// Where all that is staged lies: see WorkerOutcome.
    [[nodiscard]] std::vector<std::string> directories(const FileSink& sink) const;

  private:
    Orders(std::vector<StageSpec> specs, StageOptions wishes, OrderPlaces places)
        : specs_{std::move(specs)}, wishes_{std::move(wishes)}, places_{std::move(places)} {}

    [[nodiscard]] Result<TargetPlace> place_of(const StageSpec& spec) const;
    [[nodiscard]] Result<StageSpec> meant_by(const StageSpec& spec) const;
    [[nodiscard]] Status add_lines(std::uint16_t index,
                                   Destinations& taken,
                                   std::vector<SourceOrder>& orders) const;
    [[nodiscard]] Result<StageSpec> spec_of(const StageSpec& list, const ListLine& line) const;
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
    StageOptions wishes_;
    OrderPlaces places_;
};

}  // namespace stage
