// Holds the targets of a stage's files, one for each entry of the manifest that comes to this
// node, and gives them up.
//
// A failure of one target ends the whole stage on this node, except that an optional one only
// ends itself, with a warning. A program and its libraries end together. Of very many targets
// only the one at work has descriptors.
#pragma once

#include "stager/files/target/target.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stage {

/// What is wanted of one entry of the manifest on this node.
struct SinkOrder {
    TargetOrder target;
    bool is_optional = false;
    bool is_temporary = false;  ///< Outside the stage directory, but to be removed with it.
    bool is_library = false;    ///< In a directory that is made for a program's libraries.
    /// The entries of its spec are a program and its libraries: all of them come, or none.
    bool is_of_program = false;
    bool is_for_all = false;  ///< A library, loaded by any program that loads the spec's file.
    std::string same_as{};    ///< The library of the spec that is the same file at the source.
    std::vector<std::string> needed_paths{};  ///< Must be on this node, or come to it.
    std::string where{};  ///< Which line of which list asks for it; empty: no list.
};

/// One entry of the manifest.
struct SinkTarget {
    std::unique_ptr<Target> target{};  ///< Nothing for an entry that does not come here.
    std::uint16_t spec = 0;
    bool is_optional = false;
    bool is_temporary = false;
    bool is_library = false;
    bool is_of_program = false;
    bool is_for_all = false;
    std::string same_as{};
    bool is_outside = false;  ///< Of the stage's own directory.
    bool is_named = false;    ///< It has its final name.
    std::vector<std::string> needed_paths{};
    std::string where{};  ///< As SinkOrder's.
};

class SinkTargets {
  public:
    /// One for each entry of the manifest; none has a target.
    void resize(std::size_t count) { entries_.resize(count); }
    /// How the entry, which is of `spec`, is to be treated. `list_directory`: the stage's own.
    void set_order(std::size_t index,
                   const SinkOrder& order,
                   std::uint16_t spec,
                   const std::string& list_directory);
    /// False if another entry has that path already.
    [[nodiscard]] bool claim(const std::string& path) { return paths_.insert(path).second; }
    void put(std::size_t index, std::unique_ptr<Target> target);

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] const SinkTarget& operator[](std::size_t index) const {
        return entries_[index];
    }
    /// The paths of all claims.
    [[nodiscard]] const std::set<std::string>& paths() const { return paths_; }
    /// Where the entry is, absolute; "" for one without a target.
    [[nodiscard]] std::string path(std::size_t index) const;
    /// Counts all that is here, files in trees, too. After settle().
    [[nodiscard]] std::size_t file_count() const;

    /// The entry's target, to work with; null if it has none. A target that was used before
    /// may close its descriptors.
    [[nodiscard]] Target* use(std::size_t index) const;
    /// Does `step` with every target; one that fails is given up.
    [[nodiscard]] Status each(Status (Target::*step)());
    /// Gives all targets their final names; one that fails is given up. Libraries come first:
    /// where a program has its name, its libraries are whole.
    [[nodiscard]] Status give_names();

    /// This node's reason: a message that names the line of the list that asks for the entry.
    /// Gives the error back if it ends the stage.
    [[nodiscard]] Status give_up(std::size_t index, Error why);
    /// The source's reason, which names that line already.
    [[nodiscard]] Status end_entry(std::size_t index, Error why);
    /// A program that was given up with its libraries.
    [[nodiscard]] bool is_given_up(std::uint16_t spec) const {
        return given_up_.contains(spec);
    }

    /// Ends the stage here.
    void fail(Error why) { failure_ = std::move(why); }
    /// What ended it: targets may not have begun then.
    [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
    /// Why optional files are not here.
    [[nodiscard]] const std::vector<Error>& warnings() const { return warnings_; }

  private:
    void give_up_program(std::uint16_t spec);

    /// By spec: directories of libraries that the targets made. (Emptied before they go.)
    std::map<std::uint16_t, std::shared_ptr<MadeDirectory>> made_;
    std::vector<SinkTarget> entries_;   ///< By manifest entry.
    mutable std::size_t used_ = 0;      ///< The one used last.
    std::set<std::uint16_t> given_up_;  ///< Specs of programs.
    std::set<std::string> paths_;       ///< No two targets have one.
    std::vector<Error> warnings_;
    std::optional<Error> failure_;
};

}  // namespace stage
